"""The metal stacks: applied, proven unchanged, destroyed.

The engine, the API server and the scheduler are real. SIMULATED: Google Cloud with its bare metal and reservation,
kubelets, GPUs, RDMA devices, charts and the operators they install.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from beamline import sandbox
from tests.end_to_end.metal import NODES, get, stack_file

pytestmark = pytest.mark.sandbox

GPUS = 32


def _metal_nodes() -> list[dict[str, Any]]:
    return get("nodes", "--selector", "node.kubernetes.io/instance-type=a4x-maxgpu-4g-metal")


def _gpu_pods() -> list[dict[str, Any]]:
    return [
        pod
        for pod in get("pods", "--all-namespaces")
        if any("nvidia.com/gpu" in c["resources"].get("limits", {}) for c in pod["spec"]["containers"])
    ]


@pytest.mark.parametrize(
    ("preset", "nodes_per_replica"),
    [("a4x-max-dynamo", 1), ("a4x-max-dynamo-bf16", 2), ("a4x-max-llmd", 2)],
)
def test_the_stack_is_applied_and_leaves_nothing(
    preset: str, nodes_per_replica: int, sandboxes: Path, tmp_path: Path
) -> None:
    """All GPUs serve, claims are allocated, groups fill their nodes; a second run changes nothing; down is empty."""
    assert sandboxes.exists()
    file = stack_file(tmp_path, preset)
    result = sandbox.up("metal", file)
    assert set(result.changes) == {"create"}
    assert result.warnings == []
    status = sandbox.status("metal")
    assert status.problems == []
    for part in (status.nodes, status.pods):
        ready, wanted = part.split("/")
        assert ready == wanted

    nodes, pods = _metal_nodes(), _gpu_pods()
    assert len(nodes) == NODES
    assert sum(int(node["status"]["allocatable"]["nvidia.com/gpu"]) for node in nodes) == GPUS
    names = {node["metadata"]["name"] for node in nodes}
    assert Counter(pod["spec"]["nodeName"] for pod in pods) == Counter(names), "one engine pod fills each node"
    claims = get("resourceclaims", "--all-namespaces")
    reserved = [claim for claim in claims if claim.get("status", {}).get("reservedFor")]
    assert len(reserved) == len(claims) >= NODES
    (domain,) = get("computedomains", "--all-namespaces")
    assert domain["status"]["status"] == "Ready"
    groups = Counter(_group(pod) for pod in pods)
    assert set(groups.values()) == {nodes_per_replica}

    again = sandbox.up("metal", file)
    assert again.verified_unchanged
    assert set(again.changes) == {"same"}
    sandbox.refresh("metal")
    assert sandbox.down("metal").proven_empty


def _group(pod: dict[str, Any]) -> str:
    """The replica a pod is part of, as its operator labels it; a pod without such a label is one by itself."""
    labels = pod["metadata"]["labels"]
    keys = ("leaderworkerset.sigs.k8s.io/group-key", "grove.io/podcliquescalinggroup-replica-index")
    return next((labels[key] for key in keys if key in labels), pod["metadata"]["name"])
