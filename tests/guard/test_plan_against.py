"""`beamline plan --against`: what an applied stack would lose, and files that are no state of it."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from tests.cli.command import Ran, run
from tests.cli.schemas import PLAN
from tests.guard.applied import exported

LARGER = "accelerator_pools.main.machine_type=g2-standard-24"
"""A machine with two local SSDs in place of one."""
SSD = "small-l4-main-pool.nodeConfig.ephemeralStorageLocalSsdConfig.localSsdCount"
GUARDED = {
    "small-l4-main-pool",
    "small-l4-cluster-gke",
    "small-l4-network-nodes",
    "small-l4-network-proxy-only",
    "small-l4-network-vpc",
    "small-l4-system-pool",
}


@cache
def _state() -> str:
    return json.dumps(exported("small-l4"))


@pytest.fixture
def against(tmp_path: Path) -> Callable[..., Ran]:
    """Plan a preset against a state file of this text; by default that of the stack itself."""

    def planned(*arguments: str, text: str | None = None) -> Ran:
        file = tmp_path / "state.json"
        file.write_text(_state() if text is None else text)
        return run("plan", "small-l4", "--against", str(file), *arguments)

    return planned


def _errors(ran: Ran) -> list[tuple[str, str]]:
    document = ran.json()
    jsonschema.validate(document, PLAN)
    return [(p["rule"], p["path"]) for p in document["problems"] if p["severity"] == "error"]


def _operations(ran: Ran) -> dict[str, str]:
    return {resource["name"]: resource["operation"] for resource in ran.json()["changes"]["resources"]}


def test_the_same_stack_changes_nothing(against: Callable[..., Ran]) -> None:
    """Every value that the first plan could not know is known from the state."""
    ran = against("--json")
    assert (ran.code, _errors(ran)) == (0, [])
    assert _operations(ran) == dict.fromkeys(sorted(GUARDED), "same")
    assert ran.json()["changes"]["others"] == {"new": 0, "gone": 0}


def test_another_ssd_count_is_stopped(against: Callable[..., Ran]) -> None:
    """With property, old and new value, what to do instead, and how to mean it."""
    ran = against("--set", LARGER, "--json")
    (problem,) = [p for p in ran.json()["problems"] if p["path"] == SSD]
    assert ran.code == 1
    assert (problem["rule"], problem["value"], problem["allowed"]) == ("would-replace", 2, "1")
    assert "1 is recorded" in problem["why"]
    assert "--allow-replace small-l4-main-pool" in problem["remedy"]
    assert {path.partition(".")[0] for _, path in _errors(ran)} == {"small-l4-main-pool"}
    assert _operations(ran)["small-l4-main-pool"] == "replace"


def test_it_can_be_meant_for_one_run(against: Callable[..., Ran]) -> None:
    ran = against("--set", LARGER, "--allow-replace", "small-l4-main-pool", "--json")
    assert (ran.code, _errors(ran)) == (0, [])


def test_the_text_shows_every_guarded_resource(against: Callable[..., Ran]) -> None:
    said = against("--set", LARGER).stdout
    lines = said.partition("\nchanges")[2].partition("\nproblems")[0].splitlines()[2:]
    assert {line.split()[0] for line in lines if line} == GUARDED
    assert "localSsdCount: 1 -> 2" in said


def test_a_cluster_that_goes_takes_its_pools_along(against: Callable[..., Ran]) -> None:
    """What is in something that goes is named, each by itself."""
    state = exported("small-l4")
    for resource in state["deployment"]["resources"]:
        if resource["urn"].endswith("::small-l4-cluster-gke"):
            resource["outputs"]["datapathProvider"] = "LEGACY_DATAPATH"
    ran = against("--json", text=json.dumps(state))
    assert _errors(ran) == [
        ("would-replace", "small-l4-cluster-gke.datapathProvider"),
        ("would-replace", "small-l4-main-pool"),
        ("would-replace", "small-l4-system-pool"),
    ]


def test_what_the_plan_has_no_more_is_deleted(against: Callable[..., Ran]) -> None:
    state = exported("small-l4")
    bucket = {
        "urn": "urn:pulumi:small-l4::beamline::gcp:storage/bucket:Bucket::weights",
        "type": "gcp:storage/bucket:Bucket",
        "custom": True,
        "outputs": {"name": "weights"},
    }
    read = {**bucket, "urn": f"{bucket['urn']}-read", "external": True}
    going = {**bucket, "urn": f"{bucket['urn']}-going", "delete": True}
    state["deployment"]["resources"] += [bucket, read, going]
    ran = against("--json", text=json.dumps(state))
    assert _errors(ran) == [("would-delete", "weights")]
    assert against("--json", "--allow-replace", "weights", text=json.dumps(state)).code == 0


def test_an_unused_name_is_a_problem(against: Callable[..., Ran]) -> None:
    """A name of nothing is an error; one to which nothing happens is a warning."""
    assert _errors(against("--allow-replace", "small-l4-acelerator-pool", "--json")) == [
        ("allow-replace-unused", "allow_replace")
    ]
    ran = against("--allow-replace", "small-l4-main-pool", "--json")
    assert [p["severity"] for p in ran.json()["problems"] if p["rule"] == "allow-replace-unused"] == ["warning"]
    assert ran.code == 0


def test_a_simulated_state_is_planned_in_the_simulated_project(against: Callable[..., Ran]) -> None:
    text = _state().replace("your-project-id", "beamline-sandbox-simulated-google")
    ran = against("--json", text=text)
    assert (ran.code, _errors(ran)) == (0, [])
    assert ran.json()["changes"]["simulated"] is True


def _edited(**deployment: Any) -> str:
    return json.dumps(exported("small-l4", **deployment))


def _broken(**properties: Any) -> dict[str, Any]:
    urn = "urn:pulumi:small-l4::beamline::gcp:container/cluster:Cluster::c"
    return {"urn": urn, "type": "gcp:container/cluster:Cluster", "custom": True, **properties}


WRONG: dict[str, tuple[Callable[[], str], str, str]] = {
    "an empty file": (str, "state-file", "the file is empty"),
    "no JSON": (lambda: "config: {}", "state-file", "this is not JSON"),
    "deep JSON": (lambda: "[" * 100_000, "state-file", "this is not JSON"),
    "other JSON": (lambda: "[1]", "state-file", "no deployment"),
    "another version": (lambda: _state().replace('"version": 3', '"version": 1'), "state-file", "not known here"),
    "no list": (lambda: _edited(resources={"a": 1}), "state-file", "not a list"),
    "no URN": (lambda: _edited(resources=[{"type": "x"}]), "state-file", "no URN"),
    "no properties": (lambda: _edited(resources=[_broken(outputs="oops")]), "state-file", "outputs of urn:pulumi"),
    "no inputs by name": (lambda: _edited(resources=[_broken(inputs=[1])]), "state-file", "not properties by name"),
    "deep properties": (
        lambda: _edited(resources=[_broken(outputs={"a": "DEEP"})]).replace('"DEEP"', "[" * 600 + "]" * 600),
        "state-file",
        "more than 64 levels deep",
    ),
    "two stacks": (
        lambda: _edited(resources=[{"urn": f"urn:pulumi:{s}::beamline::t::n"} for s in ("small-l4", "g5")]),
        "state-file",
        "more than one stack",
    ),
    "another stack": (
        lambda: _state().replace("urn:pulumi:small-l4::", "urn:pulumi:prod::"),
        "state-of-another-stack",
        "carries its name",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_file_that_is_no_state_of_the_stack_is_refused(against: Callable[..., Ran], name: str) -> None:
    text, rule, why = WRONG[name]
    ran = against("--json", text=text())
    assert ran.code == 1
    assert [p["rule"] for p in ran.json()["problems"]] == [rule]
    assert why in ran.json()["problems"][0]["why"]


def test_an_empty_state_creates_everything_and_pending_operations_are_told(against: Callable[..., Ran]) -> None:
    ran = against("--json", text=json.dumps({"version": 3, "deployment": {"manifest": {}}}))
    assert set(_operations(ran).values()) == {"create"}
    pending = against("--json", text=_edited(pending_operations=[{"type": "creating"}]))
    assert [p["rule"] for p in pending.json()["problems"] if p["severity"] == "warning"] == ["state-pending"]


def test_wrong_usage_is_told() -> None:
    assert run("plan", "g4", "--against", "no-such-file.json").code == 2
    assert run("plan", "g4", "--allow-replace", "x").code == 2
