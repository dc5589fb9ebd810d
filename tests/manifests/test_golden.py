"""What is rendered is what was last looked at, byte for byte.

After a wanted change: ``python -m tests.manifests.regenerate``, then read the diff.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from manifests import releases, render
from manifests.rendering import document, write

from .cases import EVERY, GOLDENS, spec_of
from .golden import GOLDEN, rendered

_PRINT = (
    "from tests.manifests.golden import rendered\n"
    "for name, text in rendered('g4-llmd-multi').items(): print(name); print(text)"
)


@pytest.mark.parametrize("preset", GOLDENS)
def test_every_preset_renders_as_recorded(preset: str) -> None:
    recorded = {path.name: path.read_text(encoding="utf-8") for path in sorted((GOLDEN / preset).iterdir())}
    assert rendered(preset) == recorded


def test_no_golden_folder_is_left_over() -> None:
    assert sorted(path.name for path in GOLDEN.iterdir()) == sorted(GOLDENS)


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


@pytest.mark.parametrize("case", EVERY)
def test_yaml_reads_back_as_the_object_and_files_sort_in_order(case: str) -> None:
    objects = render(spec_of(case))
    files = write(objects, releases(spec_of(case)))
    assert sorted(files) == list(files)
    read = [yaml.safe_load(text) for name, text in files.items() if not name.endswith(".helm.yaml")]
    assert read == [dict(item.body) for item in objects]


def test_yaml_has_nothing_of_pulumi_and_no_anchors() -> None:
    for case in EVERY:
        for name, text in write(render(spec_of(case)), releases(spec_of(case))).items():
            assert "pulumi" not in text, name
            assert "&id" not in text, name


@pytest.mark.parametrize("text", ["y", "N", "1e3", "-1.5E+10", "0o17", "n", "yes", "1.5", "017", "null", "1_000", "~"])
def test_a_text_that_some_reader_takes_for_something_else_is_quoted(text: str) -> None:
    """Kubectl and Helm read ``y`` as true and ``1e3`` as a number; PyYAML does not, and would write both bare."""
    assert document({"value": text}) == f"value: '{text}'\n"


@pytest.mark.parametrize("text", ["yn", "e3", "1e3x", "32Mi", "0.5.0", "v1.35", "8e", "node"])
def test_any_other_text_is_not(text: str) -> None:
    assert document({"value": text}) == f"value: {text}\n"
