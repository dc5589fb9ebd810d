"""What is in the cluster before pods reach other nodes: the driver's room and place, the node agent, namespaces."""

from __future__ import annotations

from typing import Any

import pytest

from manifests import releases
from manifests.pod_security import level_admitting

from .cases import spec_of
from .cluster_objects import objects_of

GPU = {"key": "nvidia.com/gpu", "operator": "Equal", "value": "present", "effect": "NoSchedule"}
ARM = {"key": "kubernetes.io/arch", "operator": "Equal", "value": "arm64", "effect": "NoSchedule"}


def driver_values(case: str) -> Any:
    (values,) = (r.values for r in releases(spec_of(case)) if r.name == "dra-driver")
    return values


def test_the_driver_serves_compute_domains_only_on_the_accelerator_nodes() -> None:
    values = driver_values("a4x-max-llmd")
    assert values["nvidiaDriverRoot"] == "/home/kubernetes/bin/nvidia"
    assert values["resources"] == {"gpus": {"enabled": False}, "computeDomains": {"enabled": True}}
    assert values["webhook"] == {"enabled": False}
    assert values["kubeletPlugin"]["tolerations"] == [GPU, ARM]
    terms = values["kubeletPlugin"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    assert terms["nodeSelectorTerms"] == [
        {
            "matchExpressions": [
                {"key": "cloud.google.com/gke-accelerator", "operator": "In", "values": ["nvidia-gb300"]},
                {"key": "kubernetes.io/arch", "operator": "In", "values": ["arm64"]},
                {"key": "cloud.google.com/gke-nodepool", "operator": "In", "values": ["beamline-test-main"]},
            ]
        }
    ]
    assert values["controller"]["nodeSelector"] == {
        "node.kubernetes.io/instance-type": "n4-standard-8",
        "cloud.google.com/gke-nodepool": "beamline-test-system",
    }


def test_the_quota_has_room_for_every_pod_of_the_driver_and_for_the_controllers_successor() -> None:
    quota = objects_of("a4x-max-llmd").one("ResourceQuota", "system-priority")
    nodes = spec_of("a4x-max-llmd").preset.accelerator_pools["main"].nodes
    assert quota["metadata"]["namespace"] == "dra-driver-nvidia-gpu"
    assert int(quota["spec"]["hard"]["pods"]) == 2 * nodes + 2
    (scope,) = quota["spec"]["scopeSelector"]["matchExpressions"]
    assert scope["values"] == ["system-node-critical", "system-cluster-critical"]


def test_without_a_transport_there_is_nothing_of_it() -> None:
    objects = objects_of("g4-llmd")
    kinds = ("ComputeDomain", "ResourceClaimTemplate", "ResourceQuota", "LeaderWorkerSet")
    assert [o for kind in kinds for o in objects.kind(kind)] == []
    assert [w["metadata"]["name"] for w in objects.kind("DaemonSet")] == ["seeding"]


def test_the_node_agent_runs_where_rdma_is_claimed() -> None:
    assert [w["metadata"]["name"] for w in objects_of("a4x-max-llmd").kind("DaemonSet")] == ["seeding"]
    agent = objects_of("rdma").one("DaemonSet", "asapd-lite")
    pod = agent["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    assert agent["metadata"]["namespace"] == "kube-system"
    assert pod["nodeSelector"] == {
        "cloud.google.com/gke-accelerator": "nvidia-gb300",
        "node.kubernetes.io/instance-type": "a4x-maxgpu-4g-metal",
        "cloud.google.com/gke-nodepool": "beamline-test-main",
        "gke.networks.io/accelerator-network-profile": "auto",
        "cloud.google.com/gke-os-distribution": "cos",
    }
    assert pod["tolerations"] == [GPU, ARM]
    assert container["resources"]["limits"] == {"memory": "1Gi", "hugepages-2Mi": "8192Mi"}
    assert {container[p]["httpGet"]["port"] for p in ("readinessProbe", "livenessProbe")} == {19540}
    assert container["image"] == str(spec_of("rdma").images["node_agent"])


def test_rdma_engines_get_the_transports_capability_and_the_user_it_works_for() -> None:
    """Kubernetes gives no ambient capabilities: to another user than root the added one would do nothing."""
    pod = objects_of("rdma").pod("engine")
    assert pod["containers"][0]["securityContext"]["capabilities"] == {"drop": ["ALL"], "add": ["IPC_LOCK"]}
    assert pod["securityContext"]["runAsUser"] == 0
    assert objects_of("a4x-max-llmd").pod("engine")["securityContext"]["runAsUser"] == 2000


@pytest.mark.parametrize(
    ("capabilities", "level"),
    [
        ([], "restricted"),
        (["NET_BIND_SERVICE"], "baseline"),
        (["CHOWN", "KILL"], "baseline"),
        (["IPC_LOCK"], "privileged"),
        (["CHOWN", "IPC_LOCK"], "privileged"),
    ],
)
def test_the_level_is_the_strictest_that_admits_the_capabilities(capabilities: list[str], level: str) -> None:
    assert level_admitting(capabilities) == level


def test_a_namespace_that_was_there_before_is_not_made() -> None:
    existing, own = objects_of("existing-namespace"), objects_of("g4-llmd")
    assert own.names("Namespace", None) - existing.names("Namespace", None) == {"beam"}
    rest = [
        o
        for o in own
        if o["metadata"]["name"] != "beam"
        and (o["metadata"].get("namespace"), o["metadata"]["name"]) != ("beam", "default-deny")
    ]
    assert list(existing) == rest


def test_weights_reach_metal_nodes_through_both_their_taints() -> None:
    objects = objects_of("a4x-max-llmd")
    seeding, spec = objects.pod("seeding"), spec_of("a4x-max-llmd")
    wanted = {f"{t['key']}={t['value']}:{t['effect']}" for t in seeding["tolerations"]}
    assert wanted == set(spec.rows.hardware.gke.taints)
    (volume,) = objects.kind("PersistentVolume")
    (term,) = volume["spec"]["nodeAffinity"]["required"]["nodeSelectorTerms"]
    assert {e["key"]: e["values"] for e in term["matchExpressions"]} == {
        key: [value] for key, value in seeding["nodeSelector"].items()
    }
