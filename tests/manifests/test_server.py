"""A real control plane takes every object, admits the pods, binds the weights' volume and schedules by it."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from beamline.crds import installed_by_charts, installed_by_gke
from beamline.sandbox import control_plane
from beamline.sandbox.components import TOOLS
from beamline.sandbox.home import Home, Record
from manifests import render
from manifests.rendering import document
from stacks.resolve import StackSpec

from .cases import EVERY, spec_of
from .cluster_objects import Objects, objects_of

pytestmark = pytest.mark.sandbox

CASE = "g4-llmd-multi"
_LIMIT_S = 60


class Kubectl:
    """kubectl as the administrator of one cluster."""

    def __init__(self, program: Path, kubeconfig: Path) -> None:
        self._command = [str(program), f"--kubeconfig={kubeconfig}"]

    def __call__(self, *arguments: str, given: str = "", check: bool = True) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*self._command, *arguments], input=given, capture_output=True, text=True, check=check, timeout=_LIMIT_S
        )

    def apply(self, bodies: list[Any], *options: str) -> str:
        """Apply and return warnings."""
        text = "---\n".join(map(document, bodies))
        return self("apply", "--server-side", "--validate=strict", *options, "-f", "-", given=text).stderr

    def items(self, kind: str, namespace: str) -> list[Any]:
        found: list[Any] = json.loads(self("get", kind, "-n", namespace, "-o", "json").stdout)["items"]
        return found


@pytest.fixture(scope="module")
def kubectl(tools: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kubectl]:
    """Start a control plane that knows the kinds of GKE and of charts, and has the case's nodes."""
    home = Home("manifests", tmp_path_factory.mktemp("cluster"))
    try:
        control_plane.ensure_running(home, Record(home.name), {name: tools(name) for name in TOOLS})
        kubectl = Kubectl(tools("kubectl"), home.kubeconfig)
        brought = [*installed_by_gke(), *installed_by_charts()]
        kubectl.apply([d.manifest for d in brought])
        names = [d.name for d in brought]
        kubectl("wait", "--for=condition=Established", *(f"crd/{name}" for name in names))
        for node in nodes(spec_of(CASE)):
            kubectl("create", "-f", "-", given=json.dumps(node))
        yield kubectl
    finally:
        control_plane.stop_all(home)


def nodes(spec: StackSpec) -> list[Any]:
    """Nodes of both pools, with the labels and taints GKE gives them."""
    hardware, system = spec.rows.hardware, spec.rows.system
    pools = "cloud.google.com/gke-nodepool"
    accelerator = {
        "cloud.google.com/gke-accelerator": hardware.gpu.accelerator_type,
        pools: spec.pool_name(spec.pools[0]),
    }
    room = {"cpu": "380", "memory": "1300Gi", "ephemeral-storage": "9000Gi", "pods": "110"}
    taint = {"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}
    gpus = {"nvidia.com/gpu": str(hardware.gpu.count)}
    pool = [
        _node(f"gpu-{n}", hardware.machine_type, {**room, **gpus}, accelerator, [taint])
        for n in range(spec.preset.accelerator_pools["main"].nodes)
    ]
    small = {**room, "cpu": "7900m", "memory": "28Gi"}
    return [*pool, _node("system-0", system.machine_type, small, {pools: spec.system_pool_name}, [])]


def _node(name: str, machine: str, room: dict[str, str], labels: dict[str, str], taints: list[Any]) -> dict[str, Any]:
    named = {"kubernetes.io/hostname": name, "node.kubernetes.io/instance-type": machine}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {**named, **labels}},
        "spec": {"taints": taints},
        "status": {"capacity": room, "allocatable": room},
    }


def poll(what: Callable[[], Any]) -> Any:
    deadline = time.monotonic() + _LIMIT_S
    while not (found := what()):
        assert time.monotonic() < deadline
        time.sleep(0.1)
    return found


@pytest.fixture(scope="module")
def applied(kubectl: Kubectl) -> Kubectl:
    warnings = [kubectl.apply([dict(item.body)]) for item in render(spec_of(CASE))]
    assert warnings == [""] * len(warnings)
    return kubectl


def test_each_engine_is_on_a_node_of_its_own_by_way_of_one_volume(applied: Kubectl) -> None:
    """The volume's node affinity names all accelerator nodes, so that it serves each with its own folder."""

    def placed() -> dict[str, str] | None:
        pods = [*applied.items("pods", "beam"), *applied.items("pods", "beam-weights")]
        found = {p["metadata"]["name"]: p["spec"].get("nodeName") for p in pods}
        return found if len(found) == 5 and all(found.values()) else None

    on = poll(placed)
    (claim,) = applied.items("pvc", "beam")
    assert claim["status"]["phase"] == "Bound"
    assert sorted(node for pod, node in on.items() if pod.startswith("engine")) == ["gpu-0", "gpu-1"]
    assert sorted(node for pod, node in on.items() if pod.startswith("seeding")) == ["gpu-0", "gpu-1"]
    assert [node for pod, node in on.items() if pod.startswith("router")] == ["system-0"]


def test_the_router_may_read_its_pool_and_nothing_else(applied: Kubectl) -> None:
    user = ("--as=system:serviceaccount:beam:router",)

    def may(*what: str) -> bool:
        return applied("auth", "can-i", *what, *user, check=False).stdout.strip() == "yes"

    pool = "inferencepools.inference.networking.k8s.io"
    rewrites = "inferencemodelrewrites.llm-d.ai"
    assert all(may(v, k, "-n", "beam") for v in ("get", "list", "watch") for k in ("pods", pool, rewrites))
    refused = [("get", "secrets", "-n", "beam"), ("delete", "pods", "-n", "beam"), ("list", "pods", "-n", "default")]
    refused += [("create", "tokenreviews"), ("list", "nodes"), ("create", "leases", "-n", "beam")]
    assert [what for what in refused if may(*what)] == []


def test_a_folder_of_the_node_is_refused_in_the_engines_namespace(applied: Kubectl) -> None:
    """Why the engine reads its weights through a claim: with hostPath there would be no pod at all."""
    deployment = objects_of(CASE).one("Deployment", "engine")
    deployment["metadata"]["name"] = "direct"
    deployment["spec"]["template"]["spec"]["volumes"][0] = {"name": "weights", "hostPath": {"path": "/mnt"}}
    applied.apply([deployment])

    def refusal() -> str | None:
        sets = [s for s in applied.items("replicasets", "beam") if s["metadata"]["name"].startswith("direct")]
        conditions = [c for s in sets for c in s["status"].get("conditions", [])]
        return next((c["message"] for c in conditions if c["type"] == "ReplicaFailure"), None)

    assert 'violates PodSecurity "restricted:v1.35"' in poll(refusal)
    applied("delete", "deployment", "direct", "-n", "beam")


@pytest.mark.parametrize("case", EVERY)
def test_every_case_is_taken_without_a_warning(applied: Kubectl, case: str) -> None:
    objects = objects_of(case)
    applied.apply(objects.kind("Namespace"))
    definitions = objects.kind("CustomResourceDefinition")
    rest = Objects(o for o in objects if o["kind"] not in ("Namespace", "CustomResourceDefinition"))
    assert applied.apply([*definitions, *rest], "--dry-run=server", "--force-conflicts") == ""
