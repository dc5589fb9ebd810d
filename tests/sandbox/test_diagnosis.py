"""Each way a cluster can disappoint comes back in Kubernetes' own words, once for each workload."""

from __future__ import annotations

from typing import NamedTuple

import pytest

from beamline.sandbox.diagnosis import diagnose
from beamline.sandbox.kubernetes_api import Object
from stacks.problems import Problem
from tests.sandbox.clusters import Cluster, item, pod

_NO_GPU = "0/3 nodes are available: 3 Insufficient nvidia.com/gpu."
_QUOTA = 'pods "vllm-1" is forbidden: insufficient quota to match these scopes'
_NOT_READY = ("Ready", "False", "containers with unready status: [vllm]")
_REPLICAS = item("ReplicaSet", "vllm-5d", ownerReferences=[{"kind": "Deployment", "name": "vllm"}])
_TEMPLATE = {"template": {"metadata": {"labels": {"app": "vllm"}}}}


class Case(NamedTuple):
    name: str
    cluster: list[Object]
    want: list[Problem]


def _waiting(reason: str, message: str) -> Object:
    return {"containerStatuses": [{"name": "vllm", "state": {"waiting": {"reason": reason, "message": message}}}]}


CASES = [
    Case(
        "everything ready",
        [
            pod("vllm-1", ("Ready", "True", ""), labels={"app": "vllm"}),
            item("Service", "vllm", spec={"selector": {"app": "vllm"}}),
            item(
                "EndpointSlice",
                "vllm-x",
                labels={"kubernetes.io/service-name": "vllm"},
                endpoints=[{"conditions": {"ready": True}}],
            ),
            item("Service", "kubernetes", spec={}),
        ],
        [],
    ),
    Case("a finished pod of a job", [pod("seed-1", _NOT_READY, status={"phase": "Succeeded"})], []),
    Case(
        "pods of one Deployment that cannot be scheduled are one problem",
        [
            _REPLICAS,
            pod("vllm-5d-b", ("PodScheduled", "False", _NO_GPU), owner=("ReplicaSet", "vllm-5d")),
            pod("vllm-5d-a", ("PodScheduled", "False", _NO_GPU), owner=("ReplicaSet", "vllm-5d")),
        ],
        [
            Problem(
                rule="pod-unschedulable",
                path="Deployment beam/vllm",
                value="vllm-5d-a, vllm-5d-b",
                why=_NO_GPU,
                remedy=(
                    "give the pod what the message asks for: tolerations, node selector, smaller requests, "
                    "or a larger pool"
                ),
                source="kube-scheduler",
            )
        ],
    ),
    Case(
        "an image that cannot be pulled",
        [pod("epp", _NOT_READY, status=_waiting("ImagePullBackOff", 'Back-off pulling image "x"'))],
        [
            Problem(
                rule="container-waiting",
                path="Pod beam/epp",
                value="epp",
                why='container vllm: ImagePullBackOff: Back-off pulling image "x"',
                remedy="`kubectl describe pod epp` shows the container's events",
                source="kubelet (simulated)",
            )
        ],
    ),
    Case(
        "a pod that is still loading",
        [pod("vllm", _NOT_READY, owner=("StatefulSet", "vllm"), status=_waiting("ContainerCreating", ""))],
        [
            Problem(
                rule="pod-not-ready",
                path="StatefulSet beam/vllm",
                value="vllm",
                why="containers with unready status: [vllm]",
                remedy="wait, or make the startup probe's budget match what the container has to load",
                source="kubelet (simulated)",
            )
        ],
    ),
    Case(
        "pods that a Deployment may not make",
        [
            item(
                "Deployment",
                "vllm",
                spec=_TEMPLATE,
                status={"conditions": [{"type": "ReplicaFailure", "status": "True", "message": _QUOTA}]},
            )
        ],
        [
            Problem(
                rule="pods-refused",
                path="Deployment beam/vllm",
                why=_QUOTA,
                remedy="change the pod template or the namespace's quota, Pod Security level or policies",
                source="condition ReplicaFailure",
            )
        ],
    ),
    Case(
        "pods that a DaemonSet may not make, and one that has them by now",
        [
            item(
                "DaemonSet", "seed", spec=_TEMPLATE, status={"desiredNumberScheduled": 2, "currentNumberScheduled": 0}
            ),
            item(
                "DaemonSet", "done", spec=_TEMPLATE, status={"desiredNumberScheduled": 2, "currentNumberScheduled": 2}
            ),
            item("Event", "1", involvedObject={"uid": "uid-seed"}, message="an older word", lastTimestamp="2026-01-01"),
            item("Event", "2", involvedObject={"uid": "uid-seed"}, message=_QUOTA, lastTimestamp="2026-01-02"),
            item("Event", "3", involvedObject={"uid": "uid-done"}, message=_QUOTA, lastTimestamp="2026-01-02"),
        ],
        [
            Problem(
                rule="pods-refused",
                path="DaemonSet beam/seed",
                why=_QUOTA,
                remedy="change the pod template or the namespace's quota, Pod Security level or policies",
                source="events of the object",
            )
        ],
    ),
    Case(
        "a pod whose claim is not prepared, and one that runs by now",
        [
            pod("held", _NOT_READY, status=_waiting("ContainerCreating", "")),
            pod("runs", _NOT_READY, status={"containerStatuses": [{"name": "vllm", "state": {"running": {}}}]}),
            *(
                item(
                    "Event",
                    name,
                    reason="FailedPrepareDynamicResources",
                    involvedObject={"uid": f"uid-{name}"},
                    message="the node has not joined",
                )
                for name in ("held", "runs")
            ),
        ],
        [
            Problem(
                rule="claims-not-prepared",
                path="Pod beam/held",
                value="held",
                why="the node has not joined",
                remedy="see whether the claim's driver runs on the pod's node, and what it waits for",
                source="kubelet (simulated)",
            ),
            Problem(
                rule="pod-not-ready",
                path="Pod beam/runs",
                value="runs",
                why="containers with unready status: [vllm]",
                remedy="wait, or make the startup probe's budget match what the container has to load",
                source="kubelet (simulated)",
            ),
        ],
    ),
    Case(
        "a pod whose volume is not mounted",
        [
            pod("held", _NOT_READY, status=_waiting("ContainerCreating", "")),
            item(
                "Event",
                "1",
                reason="FailedMount",
                involvedObject={"uid": "uid-held"},
                message="no driver",
            ),
        ],
        [
            Problem(
                rule="volume-not-mounted",
                path="Pod beam/held",
                value="held",
                why="no driver",
                remedy="switch the driver's add-on on in the cluster, or use another volume",
                source="kubelet (simulated)",
            )
        ],
    ),
    Case(
        "pods that a LeaderWorkerSet may not make, and one that is whole",
        [
            item("LeaderWorkerSet", "beam", spec={"replicas": 2}, status={"readyReplicas": 1}),
            item("LeaderWorkerSet", "whole", spec={"replicas": 2}, status={"readyReplicas": 2}),
            item("Event", "1", involvedObject={"uid": "uid-beam"}, message=_QUOTA),
            item("Event", "2", involvedObject={"uid": "uid-whole"}, message=_QUOTA),
        ],
        [
            Problem(
                rule="pods-refused",
                path="LeaderWorkerSet beam/beam",
                why=_QUOTA,
                remedy="change the pod template or the namespace's quota, Pod Security level or policies",
                source="events of the object",
            )
        ],
    ),
    Case(
        "a Dynamo graph that its operator gave up, and one that is on its way",
        [
            item(
                "DynamoGraphDeployment",
                "beam",
                status={
                    "state": "failed",
                    "conditions": [
                        {"type": "Ready", "status": "False", "reason": "r", "message": "decode: too few GPUs"}
                    ],
                },
            ),
            item("DynamoGraphDeployment", "other", status={"state": "pending"}),
        ],
        [
            Problem(
                rule="graph-failed",
                path="DynamoGraphDeployment beam/beam",
                value="r",
                why="decode: too few GPUs",
                remedy="change the component that the message names",
                source="condition Ready",
            )
        ],
    ),
    Case(
        "a Service whose selector no pod has",
        [
            pod("vllm-1", ("Ready", "True", ""), labels={"app": "vllm", "tier": "gpu"}),
            pod("other", ("Ready", "True", ""), labels={"app": "elsewhere"}, namespace="default"),
            item("Service", "vllm", spec={"selector": {"app": "vlmm"}}),
        ],
        [
            Problem(
                rule="service-selects-nothing",
                path="Service beam/vllm",
                value="app=vlmm",
                why="its EndpointSlices list no ready endpoint: the selector matches no pod in the namespace",
                allowed="app=vllm",
                remedy="use labels that the pod template sets",
                source="EndpointSlice controller",
            )
        ],
    ),
    Case(
        "a Service of a Deployment scaled to none",
        [
            item("Deployment", "vllm", spec=_TEMPLATE),
            item("Service", "vllm", spec={"selector": {"app": "vllm"}}),
        ],
        [
            Problem(
                rule="service-without-endpoints",
                path="Service beam/vllm",
                value="app=vllm",
                why="its EndpointSlices list no ready endpoint: no pod that the selector matches is ready",
                remedy="see what keeps these pods from being ready",
                source="EndpointSlice controller",
            )
        ],
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_diagnosis(case: Case) -> None:
    assert diagnose(Cluster(*case.cluster)) == case.want
