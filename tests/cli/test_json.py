"""`--json`: one document on stdout, of a closed shape, that says what the text says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from stacks.problems import Problem, to_text
from tests.cli.command import run
from tests.cli.golden import MISTAKES
from tests.cli.schemas import CHECK, DIFF, PLAN, PRESET, PRESETS, PROBLEMS, RENDER, SIZE

CASES: dict[str, tuple[list[str], dict[str, Any], int]] = {
    "presets": (["presets"], PRESETS, 0),
    "one preset": (["presets", "g4-llmd-nvfp4"], PRESET, 0),
    "an unknown preset": (["presets", "g4"], PROBLEMS, 1),
    "a plan": (["plan", "g4"], PLAN, 0),
    "a plan of a preset": (["plan", "small-l4"], PLAN, 0),
    "a plan of metal": (["plan", "a4x-max"], PLAN, 0),
    "a plan with mistakes": (["plan", MISTAKES], PLAN, 1),
    "a plan of nothing": (["plan", "g4-lmd"], PLAN, 1),
    "a difference": (["plan", "--diff", "g4-llmd", "g4-llmd-multi"], DIFF, 0),
    "a difference of metal": (["plan", "--diff", "a4x-max-dynamo", "a4x-max-dynamo-bf16"], DIFF, 0),
    "a difference from nothing": (["plan", "--diff", "g4-lmd", "g4"], DIFF, 1),
    "a size": (["size", "g4"], SIZE, 0),
    "a size of metal, prefill and decode apart": (["size", "a4x-max"], SIZE, 0),
    "a size of what needs acceptance": (["size", "g4-llmd-nvfp4", "--session-tokens", "714000"], SIZE, 0),
    "a size with mistakes": (["size", MISTAKES], PROBLEMS, 1),
    "a check": (["check"], CHECK, 0),
    "a check with mistakes": (["check", "g4", MISTAKES, "g4-lmd"], CHECK, 1),
    "a render of nothing": (["render", "g4-lmd", "--out", "/nowhere"], PROBLEMS, 1),
}


@pytest.mark.parametrize("name", CASES)
def test_document_has_its_shape_and_the_text_version_ends_alike(name: str) -> None:
    arguments, schema, code = CASES[name]
    ran = run(*arguments, "--json")
    assert (ran.code, ran.stderr, run(*arguments).code) == (code, "", code)
    assert [error.message for error in Draft202012Validator(schema).iter_errors(ran.json())] == []


def test_a_render_says_what_it_wrote(tmp_path: Path) -> None:
    ran = run("render", "small-l4", "--out", str(tmp_path / "out"), "--json")
    assert ran.code == 0
    assert [error.message for error in Draft202012Validator(RENDER).iter_errors(ran.json())] == []
    assert ran.json()["changed"] == sorted(path.name for path in (tmp_path / "out").glob("*.yaml"))


def test_json_and_text_tell_the_same_problems() -> None:
    told = [Problem(**problem) for problem in run("plan", MISTAKES, "--json").json()["problems"]]
    assert run("plan", MISTAKES).stdout == f"mistakes: 5 errors, 1 note\n\n{to_text(told)}\n"


def test_plan_has_exactly_the_keys_it_promises() -> None:
    document = run("plan", "g4", "--json").json()
    assert list(document) == ["stack", "preset", "problems", "changes", "resources", "derived", "evidence"]
    assert {tuple(resource) for resource in document["resources"]} == {("urn", "type", "name", "parent", "inputs")}
    assert (document["stack"], document["preset"]) == ("g4", "g4-llmd")


def test_every_parent_in_a_plan_is_in_the_plan() -> None:
    resources = run("plan", "g4", "--json").json()["resources"]
    urns = {resource["urn"] for resource in resources}
    assert {resource["parent"] for resource in resources} - urns == {""}


def test_secrets_are_masked() -> None:
    """The kubeconfig is an input of the provider and an output of the stack; neither format shows any of it."""
    document = run("plan", "g4", "--json").json()
    providers = [r for r in document["resources"] if r["type"] == "pulumi:providers:kubernetes"]
    assert [provider["inputs"]["kubeconfig"] for provider in providers] == [{"$secret": True}]
    assert "gke-gcloud-auth-plugin" not in run("plan", "g4", "--json").stdout + run("plan", "g4").stdout
