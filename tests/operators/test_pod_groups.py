"""Groups of pods are made whole, replaced one at a time, and taken down whole where they belong together."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from beamline.sandbox.operators.pod_groups import REVISION, Group, Groups, Progress

from .fake_writer import FakeWriter

READY = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}


class World:
    def __init__(self) -> None:
        self.writer = FakeWriter()
        self.groups = Groups(self.writer)
        self.revision, self.replicas, self.leader_first = "a", 2, False

    def step(self, *, together: bool = True, max_unavailable: int = 1) -> Progress:
        wanted = [self.group(index) for index in range(self.replicas)]
        pods = self.writer.world.of_kind("Pod")
        return self.groups.reconcile(wanted, pods, together=together, max_unavailable=max_unavailable)

    def group(self, index: int) -> Group:
        return Group(
            f"g/{index}", self.revision, tuple(self.pod(index, place) for place in range(2)), self.leader_first
        )

    def pod(self, index: int, place: int) -> dict[str, Any]:
        metadata = {"name": f"p-{index}-{place}", "namespace": "serving", "annotations": {REVISION: self.revision}}
        return {"kind": "Pod", "metadata": metadata, "spec": {"containers": []}}

    def ready(self, *names: str) -> None:
        for name in names or self.names():
            self.writer.status_of(name, **READY)

    def names(self) -> Iterable[str]:
        return [pod["metadata"]["name"] for pod in self.writer.world.of_kind("Pod")]


@pytest.fixture
def world() -> World:
    return World()


@pytest.fixture
def running(world: World) -> World:
    world.step()
    world.ready()
    world.step()
    world.writer.taken()
    return world


def test_pods_are_made_once_and_counted_when_ready(world: World) -> None:
    assert world.step() == Progress(0, 0)
    assert world.writer.taken() == ["create p-0-0", "create p-0-1", "create p-1-0", "create p-1-1"]
    world.ready("p-0-0", "p-0-1", "p-1-0")
    assert world.step() == Progress(ready=1, updated=2)
    assert world.writer.taken() == []


def test_workers_wait_for_their_leader_where_told(world: World) -> None:
    world.leader_first, world.replicas = True, 1
    world.step()
    assert world.writer.taken() == ["create p-0-0"]
    world.step()
    assert world.writer.taken() == []
    world.ready()
    world.step()
    assert world.writer.taken() == ["create p-0-1"]


def test_a_change_replaces_one_group_at_a_time(running: World) -> None:
    running.revision = "b"
    running.step()
    assert running.writer.taken() == ["delete p-0-0", "delete p-0-1"]
    assert running.step().updated == 0
    assert running.writer.taken() == ["create p-0-0", "create p-0-1"]
    running.step()
    assert running.writer.taken() == [], "the second group works until the first is ready again"
    running.ready("p-0-0", "p-0-1")
    running.step()
    assert running.writer.taken() == ["delete p-1-0", "delete p-1-1"]


def test_a_group_that_does_not_work_is_replaced_at_once(running: World) -> None:
    running.writer.status_of("p-1-1", phase="Pending")
    running.revision = "b"
    running.step()
    assert running.writer.taken() == ["delete p-1-0", "delete p-1-1"]


@pytest.mark.parametrize("failure", [{"phase": "Failed"}, {"containerStatuses": [{"restartCount": 1}]}])
def test_a_failed_pod_takes_its_group_with_it(running: World, failure: dict[str, Any]) -> None:
    running.writer.status_of("p-0-1", **failure)
    running.step()
    assert running.writer.taken() == ["delete p-0-0", "delete p-0-1"]
    running.step()
    assert running.writer.taken() == ["create p-0-0", "create p-0-1"]


@pytest.mark.parametrize("lost", ["p-0-0", "p-0-1"])
def test_so_does_a_pod_that_is_gone(running: World, lost: str) -> None:
    pod = running.writer.world.find("Pod", "serving", lost)
    assert pod is not None
    running.writer.world.drop(pod)
    running.step()
    (other,) = {"p-0-0", "p-0-1"} - {lost}
    assert running.writer.taken() == [f"delete {other}"]


def test_otherwise_only_the_failed_pod_is_replaced(running: World) -> None:
    running.writer.status_of("p-0-1", phase="Failed")
    running.step(together=False)
    running.step(together=False)
    assert running.writer.taken() == ["delete p-0-1", "create p-0-1"]


def test_fewer_replicas_remove_the_last(running: World) -> None:
    running.replicas = 1
    assert running.step().ready == 1
    assert running.writer.taken() == ["delete p-1-0", "delete p-1-1"]


def test_refusals_are_told(world: World) -> None:
    world.replicas, world.writer.refuses = 1, "exceeded quota"
    assert world.step().refused == ["exceeded quota", "exceeded quota"]
