"""A real endpoint picker has loaded every configuration that the kit renders: what changed since has no verdict."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from .epp_judge import VERDICTS, Rendered, every_config

SAID: dict[str, Any] = yaml.safe_load(VERDICTS.read_text(encoding="utf-8"))
BY_KEY: dict[tuple[str, str], Any] = {(each["sha256"], each["router"]): each for each in SAID["verdicts"]}
CONFIGS = every_config()


@pytest.mark.parametrize("name", CONFIGS)
def test_the_picker_has_loaded_it(name: str) -> None:
    verdict = BY_KEY.get(CONFIGS[name].key)
    assert verdict, f"{name} was not judged as it is now: see CONTRIBUTING.md, verdicts of the endpoint picker"
    assert (verdict["result"], verdict["unknown_flags"]) == ("loaded", [])
    assert CONFIGS[name].flags <= set(SAID["judges"][verdict["judge"]]["has"]), "a flag that it was not asked about"


@pytest.mark.parametrize("key", BY_KEY, ids=lambda key: f"{key[0][:12]}-{key[1]}")
def test_a_verdict_says_who_judged_and_what_was_left_open(key: tuple[str, str]) -> None:
    verdict = BY_KEY[key]
    assert verdict["judge"] in SAID["judges"]
    assert ("unverified" in verdict) == (verdict["judge"] != verdict["router"])


@pytest.mark.parametrize("key", BY_KEY, ids=lambda key: f"{key[0][:12]}-{key[1]}")
def test_the_same_picker_refuses_mistakes(key: tuple[str, str]) -> None:
    """Else that it loads something would mean nothing."""
    refused = BY_KEY[key]["refused"]
    assert {"misspelt field", "unknown plugin"} <= refused.keys()
    assert "not refused" not in refused.values()


def test_no_verdict_is_left_of_what_is_no_longer_rendered() -> None:
    assert BY_KEY.keys() == {rendered.key for rendered in CONFIGS.values()}


def test_any_change_asks_for_another_verdict() -> None:
    one = next(iter(CONFIGS.values()))
    changed = Rendered(one.text.replace("weight: 3", "weight: 4"), one.router, one.arguments)
    assert changed.key not in BY_KEY
