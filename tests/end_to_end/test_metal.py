"""The metal stacks: applied, proven unchanged, destroyed; and faults that Kubernetes itself must name.

The engine, the API server and the scheduler are real. SIMULATED: Google Cloud with its bare metal and reservation,
kubelets, GPUs, RDMA devices, charts and the operators they install.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import yaml

from beamline import sandbox
from beamline.sandbox.cloud.faults import FAULTS
from beamline.sandbox.home import CHECKOUT, home_of
from stacks.cloud import PLACEHOLDER_PROJECT, PLACEHOLDER_SUB_BLOCK
from stacks.problems import ProblemsFound

pytestmark = pytest.mark.sandbox

NODES, GPUS = 8, 32
HERE = Path(__file__).parent


def _stack_file(folder: Path, preset: str, overrides: dict[str, Any] | None = None) -> Path:
    file = folder / "Pulumi.metal.yaml"
    config = {
        "beamline:preset": preset,
        "beamline:project": PLACEHOLDER_PROJECT,
        "beamline:region": "us-central1",
        "beamline:zone": "us-central1-b",
        "beamline:reservation": PLACEHOLDER_SUB_BLOCK,
        "beamline:accept_unverified": ["transport:nvlink+rdma"] if overrides else [],
        "beamline:overrides": overrides or {},
    }
    file.write_text(yaml.safe_dump({"config": config}))
    return file


def _get(kind: str, *more: str) -> list[dict[str, Any]]:
    """Objects of the sandbox's cluster, by the command line a user has."""
    asked = ["kubectl", "get", kind, "--output", "json", *more]
    done = subprocess.run(
        [sys.executable, "-m", "beamline.cli", "sandbox", "shell", "metal", "--", *asked],
        cwd=CHECKOUT,
        capture_output=True,
        text=True,
        check=True,
    )
    found: list[dict[str, Any]] = json.loads(done.stdout)["items"]
    return found


def _metal_nodes() -> list[dict[str, Any]]:
    return _get("nodes", "--selector", "node.kubernetes.io/instance-type=a4x-maxgpu-4g-metal")


def _gpu_pods() -> list[dict[str, Any]]:
    return [
        pod
        for pod in _get("pods", "--all-namespaces")
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
    file = _stack_file(tmp_path, preset)
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
    claims = _get("resourceclaims", "--all-namespaces")
    reserved = [claim for claim in claims if claim.get("status", {}).get("reservedFor")]
    assert len(reserved) == len(claims) >= NODES
    (domain,) = _get("computedomains", "--all-namespaces")
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


def _faults(text: dict[str, Any]) -> None:
    (home_of("metal").ledger.parent / FAULTS).write_text(yaml.safe_dump(text))


def _reasons(file: Path, program: str | None = None) -> str:
    with pytest.raises(ProblemsFound) as raised:
        sandbox.up("metal", file, HERE / "programs" / program) if program else sandbox.up("metal", file)
    return "\n".join(problem.why for problem in raised.value.problems)


def test_what_cannot_be_scheduled_fails_with_the_schedulers_words_and_mends(sandboxes: Path, tmp_path: Path) -> None:
    """An RDMA device short, a domain and replicas for more nodes than exist, no toleration for arm64; then none."""
    assert sandboxes.exists()
    file = _stack_file(tmp_path, "a4x-max-dynamo", {"serving": {"transport": {"name": "nvlink+rdma"}}})
    assert sandbox.up("metal", file, HERE / "programs" / "nothing").warnings == []

    _faults({"nodes": [{"pool": "beamline-metal-accelerator", "place": 0, "rdma_devices": 7}]})
    assert "cannot allocate all claims" in _reasons(file)
    _faults({})
    assert sandbox.up("metal", file).warnings == []

    assert "Insufficient nvidia.com/gpu" in _reasons(file, "one_node_more")
    domains = {d["spec"]["numNodes"]: d["status"]["status"] for d in _get("computedomains", "--all-namespaces")}
    assert domains[NODES + 1] == "NotReady"
    assert f"{NODES} node(s) had untolerated taint(s)" in _reasons(file, "no_arch_toleration")

    assert sandbox.up("metal", file).warnings == []
    assert sandbox.down("metal").proven_empty
