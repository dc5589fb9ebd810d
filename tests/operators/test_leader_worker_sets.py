"""The simulated LeaderWorkerSet controller makes the pods that lws would, and says why a set is not ready."""

from __future__ import annotations

from typing import Any

import pytest

from beamline.sandbox.operators.leader_worker_sets import LeaderWorkerSets

from .fake_writer import FakeWriter

OPERATOR = {
    "kind": "Deployment",
    "metadata": {"name": "lws", "namespace": "lws-system"},
    "spec": {"template": {"spec": {"containers": [{"args": ["--config=/controller_manager_config.yaml"]}]}}},
    "status": {"readyReplicas": 1},
}
READY = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}


class Recorder(FakeWriter):
    def __init__(self) -> None:
        super().__init__()
        self.services: dict[str, Any] = {}
        self.last: dict[str, Any] = {}

    def ensure(self, manifest: dict[str, Any]) -> str:
        self.services[manifest["metadata"]["name"]] = manifest["spec"]["selector"]
        return ""

    def status(self, manifest: Any, status: Any) -> None:
        self.last = status
        self.world.put({**manifest, "status": status})


def lws(**changes: Any) -> dict[str, Any]:
    template = {
        "size": 2,
        "restartPolicy": "RecreateGroupOnPodRestart",
        "workerTemplate": {
            "metadata": {"labels": {"app": "beam"}},
            "spec": {"containers": [{"name": "v", "image": "v:1"}]},
        },
    }
    spec = {"replicas": 2, "leaderWorkerTemplate": template | changes.pop("template", {}), **changes}
    metadata = {"name": "beam", "namespace": "serving", "uid": "u", "generation": 1}
    return {"kind": "LeaderWorkerSet", "metadata": metadata, "spec": spec}


@pytest.fixture
def writer() -> Recorder:
    writer = Recorder()
    writer.world.put(OPERATOR)
    return writer


def conditions(writer: Recorder) -> dict[str, tuple[str, str]]:
    return {entry["type"]: (entry["status"], entry["message"]) for entry in writer.last["conditions"]}


def test_pods_know_their_group_and_place(writer: Recorder) -> None:
    writer.world.put(lws())
    LeaderWorkerSets(writer.world, writer).run_once()
    pods = {pod["metadata"]["name"]: pod for pod in writer.world.of_kind("Pod")}
    assert list(pods) == ["beam-0", "beam-0-1", "beam-1", "beam-1-1"]
    worker = pods["beam-1-1"]
    assert {entry["name"]: entry["value"] for entry in worker["spec"]["containers"][0]["env"]} == {
        "LWS_LEADER_ADDRESS": "beam-1.beam.serving",
        "LWS_GROUP_SIZE": "2",
        "LWS_WORKER_INDEX": "1",
    }
    labels = worker["metadata"]["labels"]
    assert (labels["app"], labels["leaderworkerset.sigs.k8s.io/group-index"]) == ("beam", "1")
    assert labels["leaderworkerset.sigs.k8s.io/worker-index"] == "1"
    assert worker["metadata"]["annotations"]["leaderworkerset.sigs.k8s.io/leader-name"] == "beam-1"
    assert worker["metadata"]["ownerReferences"][0]["uid"] == "u"
    assert (worker["spec"]["hostname"], worker["spec"]["subdomain"]) == ("beam-1-1", "beam")
    assert writer.services == {"beam": {"leaderworkerset.sigs.k8s.io/name": "beam"}}


def test_groups_can_have_a_subdomain_each(writer: Recorder) -> None:
    writer.world.put(lws(networkConfig={"subdomainPolicy": "UniquePerReplica"}))
    LeaderWorkerSets(writer.world, writer).run_once()
    assert list(writer.services) == ["beam-0", "beam-1"]
    pod = writer.world.find("Pod", "serving", "beam-0-1")
    assert pod is not None
    assert pod["spec"]["containers"][0]["env"][0]["value"] == "beam-0.beam-0.serving"


@pytest.mark.parametrize(
    ("size", "policy", "wanted"),
    [
        (4, {"subGroupSize": 2}, ["0", "0", "1", "1"]),
        (5, {"subGroupSize": 2}, ["0", "0", "0", "1", "1"]),
        (5, {"subGroupSize": 2, "subGroupPolicyType": "LeaderExcluded"}, [None, "0", "0", "1", "1"]),
    ],
)
def test_subgroups(writer: Recorder, size: int, policy: dict[str, Any], wanted: list[str | None]) -> None:
    writer.world.put(lws(replicas=1, template={"size": size, "subGroupPolicy": policy}))
    LeaderWorkerSets(writer.world, writer).run_once()
    found = [pod["metadata"]["labels"] for pod in writer.world.of_kind("Pod")]
    assert [labels.get("leaderworkerset.sigs.k8s.io/subgroup-index") for labels in found] == wanted


def test_a_set_says_what_it_waits_for_and_when_it_is_there(writer: Recorder) -> None:
    writer.world.put(lws(replicas=1))
    controller = LeaderWorkerSets(writer.world, writer)
    controller.run_once()
    writer.status_of("beam-0", **READY)
    why = {"type": "PodScheduled", "status": "False", "message": "0/3 nodes are available"}
    writer.status_of("beam-0-1", phase="Pending", conditions=[why])
    controller.run_once()
    waits = "Replicas are progressing: pod beam-0-1 cannot be scheduled: 0/3 nodes are available"
    assert conditions(writer) == {"Progressing": ("True", waits)}
    writer.status_of("beam-0-1", **READY)
    controller.run_once()
    assert conditions(writer) == {
        "Available": ("True", "All replicas are ready"),
        "Progressing": ("False", "Replicas are progressing"),
    }
    assert (writer.last["readyReplicas"], writer.last["updatedReplicas"], writer.last["replicas"]) == (1, 1, 1)


def test_with_a_surge_no_group_goes_before_another_is_ready(writer: Recorder) -> None:
    """One group too many comes first and goes last; the set is available when it is gone."""
    rolling = {"type": "RollingUpdate", "rollingUpdateConfiguration": {"maxSurge": 1, "maxUnavailable": 0}}
    controller, template = LeaderWorkerSets(writer.world, writer), {"size": 1}
    writer.world.put(lws(template=template, rolloutStrategy=rolling))
    controller.run_once()
    assert writer.taken() == ["create beam-0", "create beam-1"]
    steps = []
    for pod in ("beam-0", "beam-1"):
        writer.status_of(pod, **READY)
    changed = template | {"workerTemplate": {"spec": {"containers": [{"name": "v", "image": "v:2"}]}}}
    writer.world.put(lws(template=changed, rolloutStrategy=rolling))
    for _ in range(7):
        controller.run_once()
        taken = writer.taken()
        steps += [*taken, conditions(writer).get("Available", ("", ""))[0]]
        for line in taken:
            if line.startswith("create"):
                writer.status_of(line.removeprefix("create "), **READY)
    assert [step for step in steps if step not in ("", "False")] == [
        "create beam-2",
        "delete beam-0",
        "create beam-0",
        "delete beam-1",
        "create beam-1",
        "delete beam-2",
        "True",
        "True",
    ]


def test_nothing_happens_without_a_ready_operator(writer: Recorder) -> None:
    writer.world.put({**OPERATOR, "status": {}})
    writer.world.put(lws())
    LeaderWorkerSets(writer.world, writer).run_once()
    assert writer.taken() == []


def test_refused_pods_are_told_in_status_and_event(writer: Recorder) -> None:
    writer.refuses = "exceeded quota"
    writer.world.put(lws(replicas=1))
    LeaderWorkerSets(writer.world, writer).run_once()
    assert writer.taken() == ["leaderworkerset of beam: FailedCreate: exceeded quota"] * 2
    assert conditions(writer) == {"Progressing": ("True", "Replicas are progressing: exceeded quota")}
