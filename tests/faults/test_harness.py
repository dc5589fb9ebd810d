"""The harness itself: what it kills, what it takes for in flight, what it counts, what it writes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.faults.agreement import Agreement, agreement, in_state
from tests.faults.killing import EventLog, Killed, Operation, eligible
from tests.faults.page import COLUMNS, Run, cells, page, summary
from tests.faults.rounds import Survived
from tests.faults.schedule import Kill, Victim, Work, schedule

URN = "urn:pulumi:dev::beamline::gcp:compute/network:Network::network"
NETWORK = Operation("create", URN, "gcp:compute/network:Network", {"name": "n"})
KILL = Kill(7, Work.CREATE, Victim.ENGINE, 0.5, lands=True)


def test_a_seed_decides_everything() -> None:
    assert schedule(4, 20) == schedule(4, 20)
    assert schedule(4, 20) != schedule(5, 20)


@pytest.mark.parametrize("seed", range(20))
def test_twelve_kills_hit_everything_there_is_to_hit(seed: int) -> None:
    hit = {(kill.work, kill.victim) for kill in schedule(seed, 12)}
    assert hit == {(work, victim) for work in Work for victim in Victim} - {(Work.DELETE, Victim.HOST)}


@pytest.mark.parametrize(
    ("victim", "kind", "op", "want"),
    [
        (Victim.ENGINE, "gcp:x/y:Z", "create", True),
        (Victim.ENGINE, "pulumi:providers:gcp", "create", False),
        (Victim.ENGINE, "gcp:x/y:Z", "delete", False),
        (Victim.GOOGLE, "gcp:x/y:Z", "create", True),
        (Victim.GOOGLE, "kubernetes:apps/v1:Deployment", "create", False),
        (Victim.KUBERNETES, "kubernetes:apps/v1:Deployment", "create-replacement", True),
    ],
)
def test_a_provider_is_killed_in_its_own_work(victim: Victim, kind: str, op: str, *, want: bool) -> None:
    assert eligible(Kill(1, Work.CREATE, victim, 0, lands=False), Operation(op, URN, kind, {})) is want


def _event(name: str, op: str = "create", urn: str = URN, *, custom: bool = True) -> str:
    metadata = {"op": op, "urn": urn, "type": "t", "new": {"custom": custom, "inputs": {"name": "n"}}}
    return json.dumps({name: {"metadata": metadata}}) + "\n"


def test_what_is_begun_and_not_ended_is_in_flight(tmp_path: Path) -> None:
    log = EventLog(tmp_path / "log")
    log.file.write_text(
        _event("resourcePreEvent")
        + _event("resourcePreEvent", "same", "urn::same")
        + _event("resourcePreEvent", urn="urn::component", custom=False)
        + _event("resourcePreEvent", urn="urn::quick")
        + _event("resOutputsEvent", urn="urn::quick")
        + '{"resourcePreEvent": {"half'
    )
    assert [operation.urn for operation in log.read()] == [URN]
    assert list(log.in_flight) == [URN]
    log.file.write_text(log.file.read_text().removesuffix('{"resourcePreEvent": {"half') + _event("resOpFailedEvent"))
    assert list(log.read()) == []
    assert (log.in_flight, log.failed) == ({}, {URN})


def test_agreement_counts_what_one_side_has_alone() -> None:
    known = [("Network", "a"), ("Network", "a"), ("Network", "gone")]
    found = agreement(known, [("Network", "a"), ("Network", "orphan")])
    assert found == Agreement((("Network", "orphan"),), (("Network", "gone"),), (("Network", "a"),))
    assert not found
    assert agreement([("Network", "a")], [("Network", "a")])


def test_of_a_state_everything_counts_that_is_in_cloud_or_cluster() -> None:
    resources: list[dict[str, Any]] = [
        {"type": "pulumi:providers:gcp", "id": "x"},
        {"type": "gcp:compute/network:Network", "id": "n"},
        {"type": "kubernetes:apps/v1:Deployment", "id": "ns/d", "inputs": {"kind": "Deployment"}},
        {"type": "kubernetes:helm.sh/v3:Release", "id": "ns/r", "inputs": {}},
    ]
    assert in_state({"resources": resources}) == [("gcp:compute/network:Network", "n"), ("Deployment", "ns/d")]
    assert in_state({}) == []


def _result(**changes: Any) -> Survived:
    good: dict[str, Any] = {
        "kill": KILL,
        "stack": "small-l4",
        "killed": Killed(NETWORK, 2, -9, (URN,)),
        "found": ("a", "b", "c", "d"),
        "did": ("e | f",),
        "converged": True,
        "agreement": agreement([], []),
    }
    return Survived(**{**good, **changes})


def test_the_page_says_what_was_killed_and_what_came_of_it() -> None:
    run = Run("make faults SEED=1", {"date": "2026-11-30"}, 1, [_result()])
    assert cells(run.results[0]) == (
        "7", "small-l4", "engine", "create Network network and 2 more", "a; b; c; 1 more", "e | f", "converged",
        "0", "0",
    )  # fmt: skip
    assert len(cells(run.results[0])) == len(COLUMNS)
    assert "1/1 converged, 0 orphans, 0 doubles" in page(run)
    assert "| 7 | small-l4 | engine | create Network network and 2 more | a; b; c; 1 more | e   f |" in page(run)
    assert run.all_well


@pytest.mark.parametrize(
    ("changes", "want"),
    [
        ({"converged": False}, "0/1 converged, 0 orphans, 0 doubles"),
        ({"agreement": agreement([], [("Network", "o")])}, "1/1 converged, 1 orphans, 0 doubles"),
        ({"agreement": agreement([("N", "d")] * 2, [("N", "d")])}, "1/1 converged, 0 orphans, 1 doubles"),
    ],
)
def test_one_kill_that_was_not_survived_fails_the_run(changes: dict[str, Any], want: str) -> None:
    run = Run("make faults", {}, 1, [_result(**changes)])
    assert summary(run) == want
    assert not run.all_well
