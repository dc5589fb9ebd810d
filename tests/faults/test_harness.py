"""The harness itself: what it kills, what it takes for in flight, what it counts, how it goes on."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from beamline.sandbox import DownResult
from beamline.sandbox.home import home_of
from beamline.sandbox.kubernetes_api import KubernetesApi, Resource
from stacks.problems import Problem, ProblemsFound
from tests.components.plans import plan
from tests.faults import __main__ as harness
from tests.faults.agreement import Agreement, agreement, in_server, in_state
from tests.faults.killing import EventLog, Operation, eligible
from tests.faults.rounds import CHANGES, Survived, survived
from tests.faults.schedule import Kill, Victim, Work, schedule
from tests.faults.stack import Ran, Stack

URN = "urn:pulumi:dev::beamline::gcp:compute/network:Network::network"
NETWORK = Operation("create", URN, "gcp:compute/network:Network", {"name": "n"})


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
    assert not found.is_whole
    assert found.one_sided == ("Network orphan", "Network gone (only in the state)")
    assert found.twice == ("Network a",)
    assert agreement([("Network", "a")], [("Network", "a")]).is_whole


def test_of_a_state_everything_counts_that_is_in_cloud_or_cluster() -> None:
    resources: list[dict[str, Any]] = [
        {"type": "pulumi:providers:gcp", "id": "x"},
        {"type": "gcp:compute/network:Network", "id": "n"},
        {"type": "kubernetes:apps/v1:Deployment", "id": "ns/d", "inputs": {"kind": "Deployment"}},
        {"type": "kubernetes:helm.sh/v3:Release", "id": "ns/r", "inputs": {}},
    ]
    assert in_state({"resources": resources}) == [
        ("gcp:compute/network:Network", "n"),
        ("Deployment", "ns/d"),
        ("Release", "ns/r"),
    ]
    assert in_state({}) == []


class _Api(KubernetesApi):
    """An API server that has these objects."""

    def __init__(self, *objects: dict[str, Any]) -> None:
        self._objects = objects

    def resources(self) -> Iterator[Resource]:
        yield from (Resource(kind, kind) for kind in ("Deployment", "Secret"))

    def items(self, path: str, **_: str) -> list[dict[str, Any]]:
        return [each for each in self._objects if each["kind"] == path]


def _object(kind: str, name: str, manager: str, **more: Any) -> dict[str, Any]:
    labels = {"name": "r", "owner": "helm"} if more else {}
    metadata = {"namespace": "ns", "name": name, "labels": labels, "managedFields": [{"manager": manager}]}
    return {"kind": kind, "metadata": metadata, **more}


def test_of_a_server_everything_counts_that_pulumi_applied_and_a_release_once() -> None:
    """Helm, inside Pulumi's provider, writes its records, one a revision, as Pulumi; what a chart brings is Helm's."""
    api = _Api(
        _object("Deployment", "d", "pulumi-kubernetes-1a2b3c4d"),
        _object("Deployment", "of-a-chart", "pulumi-resource-kubernetes"),
        _object("Deployment", "of-an-operator", "simulated-operators"),
        _object("Secret", "s", "pulumi-kubernetes-1a2b3c4d"),
        _object("Secret", "sh.helm.release.v1.r.v1", "pulumi-kubernetes", type="helm.sh/release.v1"),
        _object("Secret", "sh.helm.release.v1.r.v2", "pulumi-kubernetes", type="helm.sh/release.v1"),
    )
    assert in_server(api) == [("Deployment", "ns/d"), ("Release", "ns/r"), ("Secret", "ns/s")]


class _Stack(Stack):
    """A stack that stands, and whose engine refuses everything."""

    def state(self) -> dict[str, Any]:
        return {"resources": [{"type": "gcp:compute/network:Network", "id": "n"}]}

    def pulumi(self, *arguments: str) -> Ran:
        return Ran(255, f"error: {arguments[0]} is refused")


def test_a_kill_that_cannot_be_set_up_is_a_result() -> None:
    stack = _Stack("faults", "small-l4", home_of("faults"), Path())
    result = survived(stack, Kill(4, Work.CREATE, Victim.ENGINE, 0, lands=False), str)
    assert (result.killed, result.converged, result.agreement) == (None, False, None)
    assert "state is refused" in result.said
    assert not result.is_well


@pytest.mark.parametrize(("number", "updates"), [(1, 0), (2, 1), (3, 1), (4, 1), (5, 2), (14, 5)])
def test_which_change_a_kill_meets_depends_on_its_number_alone(number: int, updates: int) -> None:
    kills = schedule(1, 20)
    assert sum(each.work is Work.UPDATE for each in kills[:number]) == updates == kills[number - 1].updates


@pytest.mark.parametrize("preset", [preset for preset, _ in harness.STACKS])
def test_every_update_is_one_for_both_providers(preset: str) -> None:
    """A preset that has already what a change asks for leaves one of them nothing to be killed in."""
    before, after = (
        {each.name: (each.type, each.inputs) for each in plan(preset, overrides=change).resources} for change in CHANGES
    )
    kinds = [kind for name, (kind, inputs) in after.items() if name in before and before[name][1] != inputs]
    assert {kind.partition(":")[0] for kind in kinds} >= {"gcp", "kubernetes"}


@pytest.fixture
def sandboxes_made(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Let no sandbox be made, kill 5 be one that is not survived, and the second stack leave something behind."""
    happened: list[str] = []
    monkeypatch.setenv("BEAMLINE_HOME", "")  # so that it is put back

    def opened(_name: str, preset: str, _folder: Path) -> str:
        happened.append(f"open {preset}")
        return preset

    def down(name: str, *, force: bool = False) -> DownResult:
        happened.append("force down" if force else "down")
        if not force and "open g4-dynamo" in happened:
            raise ProblemsFound([Problem(rule="left-behind", path="Pod", why="it is there", remedy="none")])
        return DownResult(name, existed=True, destroyed=1, proven_empty=True)

    def survived(stack: str, kill: Kill, _: Callable[[str], None]) -> Survived:
        happened.append(f"kill {kill.number}")
        return Survived(kill, stack, converged=kill.number != 5, agreement=agreement([], []))

    monkeypatch.setattr(harness, "opened", opened)
    monkeypatch.setattr(harness.sandbox, "down", down)
    monkeypatch.setattr(harness, "survived", survived)
    return happened


def test_after_a_kill_that_was_not_survived_the_next_gets_a_fresh_stack(sandboxes_made: Sequence[str]) -> None:
    results, left = harness._all(9, 1, 4)
    assert [(result.kill.number, result.is_well) for result in results] == [
        (4, True), (5, False), (6, True), (7, True), (8, True), (9, True),
    ]  # fmt: skip
    assert sandboxes_made == [
        "open small-l4", "kill 4", "kill 5", "force down", "open small-l4", "kill 6", "down", "force down",
        "open g4-dynamo", "kill 7", "kill 8", "kill 9", "down", "force down",
    ]  # fmt: skip
    assert len(left) == 1
    assert "it is there" in left[0]
