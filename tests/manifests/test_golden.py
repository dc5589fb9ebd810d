"""What is rendered is what was last looked at, byte for byte.

After a wanted change: ``python -m tests.manifests.regenerate``, then read the diff.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from manifests import render
from manifests.rendering import write

from .cases import CASES, PRESETS, spec_of
from .golden import GOLDEN, rendered

_PRINT = (
    "from tests.manifests.golden import rendered\n"
    "for name, text in rendered('g4-llmd-multi').items(): print(name); print(text)"
)


@pytest.mark.parametrize("preset", PRESETS)
def test_every_preset_renders_as_recorded(preset: str) -> None:
    recorded = {path.name: path.read_text(encoding="utf-8") for path in sorted((GOLDEN / preset).iterdir())}
    assert rendered(preset) == recorded


def test_no_golden_folder_is_left_over() -> None:
    assert sorted(path.name for path in GOLDEN.iterdir()) == sorted(PRESETS)


def test_bytes_depend_on_neither_process_nor_hash_seed() -> None:
    def run(seed: str) -> bytes:
        return subprocess.run(
            [sys.executable, "-c", _PRINT],
            cwd=Path(__file__).parents[2],
            env={"PYTHONHASHSEED": seed, "PATH": ""},
            check=True,
            capture_output=True,
        ).stdout

    assert run("1") == run("2")


@pytest.mark.parametrize("case", CASES)
def test_yaml_reads_back_as_the_object_and_files_sort_in_order(case: str) -> None:
    objects = render(spec_of(case))
    files = write(objects)
    assert sorted(files) == list(files)
    assert [yaml.safe_load(text) for text in files.values()] == [dict(item.body) for item in objects]


def test_yaml_has_nothing_of_pulumi_and_no_anchors() -> None:
    for case in CASES:
        for name, text in write(render(spec_of(case))).items():
            assert "pulumi" not in text, name
            assert "&id" not in text, name
