"""``size`` sizes what is asked for; what a figure is made of is tested in tests/stacks/test_sizing.py."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.cli.command import run


def tiers(*arguments: str) -> list[dict[str, Any]]:
    ran = run("size", *arguments, "--json")
    assert (ran.code, ran.stderr) == (0, "")
    found: list[dict[str, Any]] = ran.json()["tiers"]
    return found


def test_sessions_are_as_long_as_asked_for() -> None:
    (hbm, *_) = tiers("g4", "--session-tokens", "1000000")
    assert hbm["sessions_per_replica"] == hbm["tokens_per_replica"] // 1_000_000
    assert run("size", "g4", "--session-tokens", "714000").stdout.count("session     714,000 tokens: as asked for") == 1


def test_set_changes_what_is_sized() -> None:
    smaller = tiers("g4", "--set", "serving.kv_cache.offload.kind=none")
    assert [tier["bytes_per_replica"] > 0 for tier in smaller] == [True, False, False]


@pytest.mark.parametrize("words", [["size"], ["size", "g4", "--session-tokens", "0"], ["size", "g4", "g4"]])
def test_wrong_usage(words: list[str]) -> None:
    assert run(*words).code == 2


def test_a_preset_without_evidence_is_sized_and_a_stack_on_it_is_asked_to_accept(tmp_path: Path) -> None:
    """A preset is arithmetic; a stack is something to apply."""
    assert run("size", "g4-llmd-nvfp4").code == 0
    file = tmp_path / "Pulumi.mine.yaml"
    settings = {"preset": "g4-llmd-nvfp4", "project": "acme-inference", "region": "us-east5", "zone": "us-east5-a"}
    file.write_text(yaml.safe_dump({"config": {f"beamline:{key}": value for key, value in settings.items()}}))
    ran = run("size", str(file))
    assert ran.code == 1
    assert "error[unverified-feature]" in ran.stdout


def test_the_text_has_every_figure_of_the_document() -> None:
    text = run("size", "a4x-max").stdout
    for section in run("size", "a4x-max", "--json").json()["sections"]:
        assert f"\n{section['title']}\n" in text
        for figure in section["figures"]:
            assert any(
                line.startswith(figure["name"]) and line.endswith(figure["formula"]) for line in text.splitlines()
            )
