"""The simulated third-party operators over a real API server, scheduler and controller manager.

What they make is scheduled, claimed and counted for real; containers are kwok's.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from beamline.crds import installed_by_chart
from beamline.sandbox.cloud.api_server import ApiServer
from tests.cloud.real_cluster import real_simulation, until

pytestmark = pytest.mark.sandbox

DOMAIN = "resource.nvidia.com/computeDomain"
OBJECTS = [m for m in yaml.safe_load_all(Path(__file__).with_name("third_party_objects.yaml").read_text()) if m]
GPUS = {"limits": {"nvidia.com/gpu": "4"}}


class Cluster:
    """Three nodes of an NVLink domain with four GPUs each, one without."""

    def __init__(self, api: ApiServer) -> None:
        self.api = api

    def apply(self, manifest: dict[str, Any]) -> None:
        self.api.apply(self.api.kind(manifest["apiVersion"], manifest["kind"]), manifest)

    def path(self, kind: str, name: str = "", namespace: str = "default") -> str:
        group_version = {
            "ComputeDomain": "resource.nvidia.com/v1beta1",
            "DaemonSet": "apps/v1",
            "Deployment": "apps/v1",
            "DynamoGraphDeployment": "nvidia.com/v1beta1",
            "LeaderWorkerSet": "leaderworkerset.x-k8s.io/v1",
            "ResourceClaimTemplate": "resource.k8s.io/v1",
            "ResourceSlice": "resource.k8s.io/v1",
        }.get(kind, "v1")
        found = self.api.kind(group_version, kind)
        return found.path(namespace if found.namespaced else "", name)

    def get(self, kind: str, name: str = "beam", namespace: str = "default") -> dict[str, Any]:
        return self.api.get(self.path(kind, name, namespace)) or {}

    def items(self, kind: str, namespace: str = "default") -> list[dict[str, Any]]:
        return (self.api.get(self.path(kind, namespace=namespace)) or {}).get("items", [])

    def delete(self, kind: str, name: str = "beam", namespace: str = "default") -> None:
        self.api.delete(self.path(kind, name, namespace))
        until(lambda: not self.get(kind, name, namespace))
        until(lambda: self.items("Pod") == [])

    def status(self, kind: str, name: str = "beam", namespace: str = "default") -> dict[str, Any]:
        found: dict[str, Any] = self.get(kind, name, namespace).get("status") or {}
        return found

    def condition(self, kind: str, condition: str) -> tuple[str, str, str]:
        for entry in self.status(kind).get("conditions", []):
            if entry["type"] == condition:
                return entry["status"], entry["reason"], entry["message"]
        return "", "", ""

    def phases(self) -> list[str]:
        return sorted(pod["status"].get("phase", "") for pod in self.items("Pod"))


def _node(name: str, *, gpus: int) -> dict[str, Any]:
    capacity = {"cpu": "64", "memory": "900Gi", "pods": "110"} | ({"nvidia.com/gpu": str(gpus)} if gpus else {})
    annotations = {
        "kwok.x-k8s.io/node": "fake",
        "sandbox.beamline.dev/capacity": json.dumps(capacity),
        "sandbox.beamline.dev/allocatable": json.dumps(capacity),
    } | ({"sandbox.beamline.dev/driver-s": "60"} if gpus else {})
    labels = {"pool": "gpu", "cloud.google.com/gce-topology-subblock": "s"} if gpus else {"pool": "cpu"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels, "annotations": annotations},
    }


@pytest.fixture(scope="module")
def cluster(tools: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with real_simulation(tmp_path_factory.mktemp("sandbox"), tools) as simulation:
        cluster = Cluster(simulation.api())
        for node in [*(_node(f"gpu-{index}", gpus=4) for index in range(3)), _node("cpu-0", gpus=0)]:
            cluster.apply(node)
        for chart in ("dra-driver-nvidia-gpu", "lws"):
            for definition in installed_by_chart(chart):
                cluster.apply(definition.manifest)
        for manifest in OBJECTS:
            cluster.apply(manifest)
        yield cluster


@pytest.fixture(autouse=True)
def ready(cluster: Cluster) -> None:
    until(
        lambda: all(
            cluster.status("Deployment", name, "driver").get("readyReplicas")
            for name in ("controller", "lws", "grove", "dynamo")
        )
    )
    until(lambda: cluster.status("DaemonSet", "plugin", "driver").get("numberReady") == 3)


def lws(replicas: int = 1) -> dict[str, Any]:
    worker = {"spec": {"containers": [{"name": "v", "image": "v:1", "resources": GPUS}]}}
    return {
        "apiVersion": "leaderworkerset.x-k8s.io/v1",
        "kind": "LeaderWorkerSet",
        "metadata": {"name": "beam", "namespace": "default"},
        "spec": {"replicas": replicas, "leaderWorkerTemplate": {"size": 2, "workerTemplate": worker}},
    }


def domain(nodes: int) -> dict[str, Any]:
    return {
        "apiVersion": "resource.nvidia.com/v1beta1",
        "kind": "ComputeDomain",
        "metadata": {"name": "beam", "namespace": "default"},
        "spec": {"numNodes": nodes, "channel": {"resourceClaimTemplate": {"name": "beam-channel"}}},
    }


def workload(replicas: int) -> dict[str, Any]:
    container = {"name": "c", "image": "x:1", "resources": {**GPUS, "claims": [{"name": "channel"}]}}
    pod = {
        "resourceClaims": [{"name": "channel", "resourceClaimTemplateName": "beam-channel"}],
        "containers": [container],
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "beam", "namespace": "default"},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": "beam"}},
            "template": {"metadata": {"labels": {"app": "beam"}}, "spec": pod},
        },
    }


def graph(*args: str, replicas: int = 1) -> dict[str, Any]:
    def component(name: str, main: dict[str, Any], **more: Any) -> dict[str, Any]:
        return {"name": name, "type": name, "podTemplate": {"spec": {"containers": [{"name": "main", **main}]}}, **more}

    engine = {"image": "s:1.7.0", "command": ["python3", "-m", "dynamo.sglang"], "args": list(args), "resources": GPUS}
    components = [
        component("frontend", {"image": "f:1.7.0"}),
        component("decode", engine, replicas=replicas, multinode={"nodeCount": 2}),
    ]
    return {
        "apiVersion": "nvidia.com/v1beta1",
        "kind": "DynamoGraphDeployment",
        "metadata": {"name": "beam", "namespace": "default"},
        "spec": {"backendFramework": "sglang", "components": components},
    }


def gates(value: str) -> dict[str, Any]:
    (controller,) = (m for m in OBJECTS if m["metadata"]["name"] == "controller")
    changed: dict[str, Any] = json.loads(json.dumps(controller))
    changed["spec"]["template"]["spec"]["containers"][0]["env"] = [{"name": "FEATURE_GATES", "value": value}]
    return changed


def test_a_domain_forms_where_its_pods_are_and_leaves_nothing(cluster: Cluster) -> None:
    until(lambda: len(cluster.items("ResourceSlice")) == 3)
    cluster.apply(domain(2))
    until(lambda: cluster.status("ComputeDomain") == {"nodes": [], "status": "NotReady"})
    assert cluster.get("ComputeDomain")["metadata"]["finalizers"] == [DOMAIN]
    cluster.apply(workload(2))
    until(lambda: cluster.status("Deployment").get("readyReplicas") == 2)
    until(lambda: cluster.status("ComputeDomain")["status"] == "Ready")
    nodes = cluster.status("ComputeDomain")["nodes"]
    assert len({entry["cliqueID"] for entry in nodes}) == 1
    assert sorted(entry["index"] for entry in nodes) == [0, 1]
    uid = cluster.get("ComputeDomain")["metadata"]["uid"]
    labelled = {n["metadata"]["name"] for n in cluster.items("Node") if n["metadata"]["labels"].get(DOMAIN) == uid}
    assert labelled == {entry["name"] for entry in nodes}
    assert all(n["metadata"]["labels"].get("nvidia.com/gpu.clique") for n in cluster.items("Node") if "gpu" in str(n))
    cluster.delete("Deployment")
    cluster.delete("ComputeDomain")
    until(lambda: cluster.items("ResourceClaimTemplate") == cluster.items("ResourceClaimTemplate", "driver") == [])
    assert [found["metadata"]["name"] for found in cluster.items("DaemonSet", "driver")] == ["plugin"]
    until(lambda: not any(DOMAIN in node["metadata"]["labels"] for node in cluster.items("Node")))


def test_pods_are_held_while_their_domain_is_not_there(cluster: Cluster) -> None:
    """With the feature gate off the driver holds pods until numNodes have joined; on, until their own node has."""
    cluster.apply(gates("IMEXDaemonsWithDNSNames=false,"))
    until(lambda: cluster.status("Deployment", "controller", "driver").get("updatedReplicas") == 1)
    cluster.apply(domain(2))
    cluster.apply(workload(1))
    until(lambda: [entry["status"] for entry in cluster.status("ComputeDomain").get("nodes", [])] == ["Ready"])
    waits = "the ComputeDomain does not have the 2 nodes it waits for yet"
    until(lambda: any(waits in event["message"] for event in cluster.items("Event")))
    (pod,) = cluster.items("Pod")
    assert pod["spec"]["nodeName"]
    assert pod["status"]["containerStatuses"][0]["state"] == {"waiting": {"reason": "ContainerCreating"}}
    cluster.apply(workload(2))
    until(lambda: cluster.status("Deployment").get("readyReplicas") == 2)
    cluster.delete("Deployment")
    cluster.delete("ComputeDomain")
    cluster.apply(gates(""))


def test_a_graph_spans_nodes_grows_changes_and_goes(cluster: Cluster) -> None:
    until(lambda: cluster.api.serves("nvidia.com/v1beta1", "DynamoGraphDeployment"))
    cluster.apply(graph("--tp-size", "8"))
    until(lambda: cluster.status("DynamoGraphDeployment").get("state") == "successful")
    parts = cluster.status("DynamoGraphDeployment")["components"]
    assert {name: part["componentKind"] for name, part in parts.items()} == {
        "frontend": "PodClique",
        "decode": "PodCliqueScalingGroup",
    }
    ranks = [pod for pod in cluster.items("Pod") if "decode" in pod["metadata"]["name"]]
    assert len({pod["spec"]["nodeName"] for pod in ranks}) == 2
    assert {found["metadata"]["name"] for found in cluster.items("Service")} >= {
        "beam-frontend",
        "beam-decode",
        "beam-0",
    }

    cluster.apply(graph("--tp-size", "8", replicas=2))
    until(lambda: cluster.condition("DynamoGraphDeployment", "Ready")[1] == "insufficient_capacity")
    assert "Insufficient nvidia.com/gpu" in cluster.condition("DynamoGraphDeployment", "Ready")[2]
    assert cluster.status("DynamoGraphDeployment")["state"] == "pending"

    cluster.apply(graph("--tp-size", "4"))
    until(lambda: cluster.status("DynamoGraphDeployment")["state"] == "failed")
    assert "2 nodes x 4 GPUs = 8" in cluster.condition("DynamoGraphDeployment", "Ready")[2]

    cluster.apply(graph("--tp-size", "8", "--page-size", "64"))
    until(lambda: _arguments(cluster) == 2 and cluster.status("DynamoGraphDeployment")["state"] == "successful")
    without = graph("--tp-size", "8")
    del without["spec"]["components"][1]
    cluster.apply(without)
    until(lambda: len(cluster.items("Pod")) == 1)
    until(lambda: list(cluster.status("DynamoGraphDeployment")["components"]) == ["frontend"])
    cluster.delete("DynamoGraphDeployment")
    until(lambda: {found["metadata"]["name"] for found in cluster.items("Service")} == {"kubernetes"})


def _arguments(cluster: Cluster) -> int:
    args = [pod["spec"]["containers"][0].get("args", []) for pod in cluster.items("Pod")]
    return sum("--page-size" in words for words in args)


def test_spanning_nodes_needs_grove(cluster: Cluster) -> None:
    until(lambda: cluster.api.serves("nvidia.com/v1beta1", "DynamoGraphDeployment"))
    alone = graph("--tp-size", "8")
    alone["metadata"]["annotations"] = {"nvidia.com/enable-grove": "false"}
    cluster.apply(alone)
    until(lambda: cluster.status("DynamoGraphDeployment").get("state") == "failed")
    assert cluster.condition("DynamoGraphDeployment", "Ready")[1] == "no_multinode_orchestrator_available"
    cluster.delete("DynamoGraphDeployment")


def test_a_set_starts_a_group_anew_when_a_pod_is_lost(cluster: Cluster) -> None:
    cluster.apply(lws())
    until(lambda: cluster.condition("LeaderWorkerSet", "Available")[0] == "True")
    before = {pod["metadata"]["uid"] for pod in cluster.items("Pod")}
    cluster.api.delete(cluster.path("Pod", "beam-0-1"))
    until(lambda: len({pod["metadata"]["uid"] for pod in cluster.items("Pod")} - before) == 2)
    until(lambda: cluster.phases() == ["Running", "Running"])
    until(lambda: cluster.condition("LeaderWorkerSet", "Available")[0] == "True")
    cluster.apply(lws(replicas=2))
    until(lambda: "cannot be scheduled" in cluster.condition("LeaderWorkerSet", "Progressing")[2])
    cluster.delete("LeaderWorkerSet")
