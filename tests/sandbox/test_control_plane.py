"""The control plane is a real one, on loopback only, with kubelets and containers simulated by stages."""

from __future__ import annotations

import json
import os
import signal
import socket
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from beamline import toolchain
from beamline.sandbox import control_plane
from beamline.sandbox.components import PORTS, TOOLS
from beamline.sandbox.home import Home, Record, home_of
from beamline.sandbox.kubernetes_api import KubernetesApi, Object
from beamline.sandbox.ports import LOOPBACK, free_ports
from beamline.sandbox.processes import marked
from stacks.problems import EnvironmentProblem

pytestmark = pytest.mark.sandbox

_GPU_NODE = {"cpu": "16", "memory": "64Gi", "pods": "110", "nvidia.com/gpu": "8"}
_POD = {"containers": [{"name": "c", "image": "x:1"}]}


@pytest.fixture(scope="module")
def tools() -> dict[str, Path]:
    return toolchain.ensure(TOOLS)


@pytest.fixture(scope="module")
def plane(home: Home, tools: dict[str, Path]) -> Record:
    return control_plane.ensure_running(home, Record("test"), tools)


@pytest.fixture(scope="module")
def api(home: Home, plane: Record) -> KubernetesApi:
    """The API server, with one simulated GPU node."""
    api = KubernetesApi(home, plane)
    _create_node(api, "gpu-0", _GPU_NODE, boot_s=600, driver_s=600)
    return api


def _create_node(api: KubernetesApi, name: str, capacity: dict[str, str], **seconds: int) -> Object:
    annotations = {f"sandbox.beamline.dev/{key.replace('_', '-')}": str(value) for key, value in seconds.items()}
    annotations |= {f"sandbox.beamline.dev/{key}": json.dumps(capacity) for key in ("capacity", "allocatable")}
    metadata = {"name": name, "annotations": {"kwok.x-k8s.io/node": "fake", **annotations}}
    return api.post("/api/v1/nodes", {"metadata": metadata})


def _states(api: KubernetesApi, path: str, created: Object, state: Callable[[Object], Any], last: Any) -> list[Any]:
    """Watch an object from its creation until it reaches the state ``last``; return the states it went through."""
    metadata = created["metadata"]
    query = f"watch=1&timeoutSeconds=60&resourceVersion={metadata['resourceVersion']}"
    seen = [state(created)]
    with api._session.get(
        f"{api._base}{path}?{query}&fieldSelector=metadata.name={metadata['name']}", stream=True, timeout=90
    ) as stream:
        for line in stream.iter_lines():
            now = state(json.loads(line)["object"])
            if seen[-1] != now:
                seen.append(now)
            if now == last:
                break
    return seen


def _node_state(node: Object) -> tuple[bool, str | None]:
    """Return whether the node is ready, and its GPUs."""
    conditions = {c["type"]: c["status"] for c in node["status"].get("conditions", [])}
    return conditions.get("Ready") == "True", node["status"].get("capacity", {}).get("nvidia.com/gpu")


def _pod_state(pod: Object) -> str:
    status = pod["status"]
    conditions = {c["type"]: c["status"] for c in status.get("conditions", [])}
    if status["phase"] != "Running":
        waiting = [
            c["state"]["waiting"]["reason"] for c in status.get("containerStatuses", []) if "waiting" in c["state"]
        ]
        return waiting[0] if waiting else status["phase"]
    return "Ready" if conditions["Ready"] == "True" else "Running"


def _create_pod(api: KubernetesApi, name: str, spec: Object, namespace: str = "default") -> Object:
    return api.post(f"/api/v1/namespaces/{namespace}/pods", {"metadata": {"name": name}, "spec": spec})


def test_every_server_listens_on_loopback_only(home: Home, plane: Record) -> None:
    listening = {
        (connection.laddr.ip, connection.laddr.port)
        for started in marked(home.folder)
        for connection in psutil.Process(started.pid).net_connections("inet")
        if connection.status in (psutil.CONN_LISTEN, psutil.CONN_NONE)
    }
    assert listening == {(LOOPBACK, port) for port in plane.ports.values()}
    assert list(plane.ports) == list(PORTS)


def test_tokens_are_the_owners_and_in_no_command_line_or_log(home: Home, plane: Record) -> None:
    tokens = [line.split(",")[0] for line in (home.kubernetes / "tokens.csv").read_text().splitlines()]
    assert len(set(tokens)) == 3
    files = [path for path in home.kubernetes.iterdir() if path.is_file()]
    assert {stat.S_IMODE(path.stat().st_mode) for path in files} == {0o600}
    words = [" ".join(psutil.Process(started.pid).cmdline()) for started in marked(home.folder)]
    words += [path.read_text() for path in home.logs.iterdir()] + [home.record_file.read_text()]
    assert [token for token in tokens for text in words if token in text] == []
    assert len(words) > len(plane.processes)


def test_a_node_boots_and_then_gets_its_gpus(api: KubernetesApi) -> None:
    """In that order, however short the scaled times: nvidia.com/gpu is absent until the driver is installed."""
    created = _create_node(api, "gpu-1", _GPU_NODE, boot_s=1200, driver_s=1200)
    seen = _states(api, "/api/v1/nodes", created, _node_state, (True, "8"))
    assert seen == [(False, None), (True, None), (True, "8")]


def test_a_cpu_node_has_no_driver_to_wait_for(api: KubernetesApi) -> None:
    created = _create_node(api, "cpu-0", {"cpu": "8", "memory": "32Gi", "pods": "110"}, boot_s=0)
    assert _states(api, "/api/v1/nodes", created, _node_state, (True, None)) == [(False, None), (True, None)]


def test_a_pod_with_a_startup_probe_loads_before_it_is_ready(api: KubernetesApi) -> None:
    """Init containers first; 0.3 of the probe's 4000 s at 600 to one is two seconds."""
    probe = {"httpGet": {"path": "/health", "port": 8000}, "periodSeconds": 10, "failureThreshold": 400}
    spec = {
        "initContainers": [
            {"name": "seed", "image": "x:1"},
            {"name": "side", "image": "x:1", "restartPolicy": "Always"},
        ],
        "containers": [
            {"name": "vllm", "image": "x:1", "startupProbe": probe, "resources": {"limits": {"nvidia.com/gpu": "8"}}}
        ],
    }
    created = _create_pod(api, "vllm", spec)
    seen = _states(api, "/api/v1/namespaces/default/pods", created, _pod_state, "Ready")
    assert seen == ["Pending", "PodInitializing", "Running", "Ready"]
    pod = api.get("/api/v1/namespaces/default/pods/vllm")
    statuses = pod["status"]["initContainerStatuses"]
    assert [(s["name"], list(s["state"])) for s in statuses] == [("seed", ["terminated"]), ("side", ["running"])]
    assert pod["status"]["podIP"].startswith("10.")


def test_a_job_completes(api: KubernetesApi) -> None:
    template = {"spec": {**_POD, "restartPolicy": "Never"}}
    jobs = "/apis/batch/v1/namespaces/default/jobs"
    created = api.post(jobs, {"metadata": {"name": "seed"}, "spec": {"template": template}})
    assert _states(api, jobs, created, lambda job: job["status"].get("succeeded"), 1) == [None, 1]


def test_a_deleted_pod_with_a_finalizer_ends_and_waits_for_it(api: KubernetesApi) -> None:
    """So a Job that is deleted while its pods run can account for them."""
    pods = "/api/v1/namespaces/default/pods"
    metadata = {"name": "held", "finalizers": ["example.test/accounting"]}
    created = api.post(pods, {"metadata": metadata, "spec": {**_POD, "terminationGracePeriodSeconds": 600}})
    _states(api, pods, created, _pod_state, "Ready")
    api._session.delete(f"{api._base}{pods}/held").raise_for_status()
    phases = _states(api, pods, created, lambda pod: pod["status"]["phase"], "Failed")
    assert phases == ["Pending", "Running", "Failed"]
    api._session.patch(
        f"{api._base}{pods}/held",
        data=json.dumps({"metadata": {"finalizers": None}}),
        headers={"Content-Type": "application/merge-patch+json"},
    ).raise_for_status()
    with api._session.get(f"{api._base}{pods}?watch=1&timeoutSeconds=60", stream=True, timeout=90) as stream:
        for line in stream.iter_lines():
            event = json.loads(line)
            if event["object"]["metadata"]["name"] == "held" and event["type"] == "DELETED":
                break
    assert api.find("v1", "Pod", "default", "held") is None


def test_critical_pods_run_in_kube_system_only_as_on_gke(api: KubernetesApi) -> None:
    spec = {**_POD, "priorityClassName": "system-node-critical"}
    _create_pod(api, "critical", spec, namespace="kube-system")
    with pytest.raises(EnvironmentProblem, match="insufficient quota to match these scopes"):
        _create_pod(api, "critical", spec)


def test_pod_security_is_enforced_where_a_namespace_asks_for_it(api: KubernetesApi) -> None:
    labels = {"pod-security.kubernetes.io/enforce": "restricted"}
    api.post("/api/v1/namespaces", {"metadata": {"name": "strict", "labels": labels}})
    api.post("/api/v1/namespaces/strict/serviceaccounts", {"metadata": {"name": "mine"}})
    spec = {**_POD, "serviceAccountName": "mine", "hostNetwork": True}
    with pytest.raises(EnvironmentProblem, match='violates PodSecurity \\\\"restricted:latest\\\\"'):
        _create_pod(api, "privileged", spec, namespace="strict")


def test_a_service_account_that_does_not_exist_is_refused(api: KubernetesApi) -> None:
    with pytest.raises(EnvironmentProblem, match='serviceaccount \\\\"nobody\\\\" not found'):
        _create_pod(api, "unaccounted", {**_POD, "serviceAccountName": "nobody"})


def test_killed_servers_come_back_with_their_data(
    home: Home, plane: Record, tools: dict[str, Path], api: KubernetesApi
) -> None:
    for process in plane.processes.values():
        os.kill(int(process["pid"]), signal.SIGKILL)
        psutil.wait_procs([psutil.Process(int(process["pid"]))], timeout=10)
    assert set(control_plane.running(plane).values()) == {False}
    again = control_plane.ensure_running(home, plane, tools)
    assert set(control_plane.running(again).values()) == {True}
    assert (again.ports, again.kubernetes) == (plane.ports, plane.kubernetes)
    assert api.find("v1", "Node", "", "gpu-0") is not None


@pytest.fixture
def other(sandboxes: Path) -> Iterator[Home]:
    """A second sandbox, ended after the test."""
    assert sandboxes.exists()
    home = home_of("other")
    yield home
    control_plane.stop_all(home)


def test_a_new_sandbox_whose_port_is_taken_meanwhile_takes_others(
    other: Home, tools: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.create_server((LOOPBACK, 0)) as server:
        taken = [server.getsockname()[1], *free_ports(len(PORTS) - 1)]
        choices = iter([taken])
        monkeypatch.setattr(control_plane, "free_ports", lambda count: next(choices, None) or free_ports(count))
        record = control_plane.ensure_running(other, Record("other"), tools)
    assert record.ports["etcd"] != taken[0]


def test_a_server_that_ends_is_named_with_the_end_of_its_log(other: Home, tools: dict[str, Path]) -> None:
    """An existing sandbox keeps its ports: its API server's address is in the applied state."""
    with socket.create_server((LOOPBACK, 0)) as server:
        ports = dict(zip(PORTS, [server.getsockname()[1], *free_ports(len(PORTS) - 1)], strict=True))
        endpoint = f"{LOOPBACK}:{ports['kube-apiserver']}"
        record = Record("other", ports=ports, kubernetes={"endpoint": endpoint})
        with pytest.raises(EnvironmentProblem) as raised:
            control_plane.ensure_running(other, record, tools)
    text = str(raised.value)
    assert text.startswith("etcd ended before it was ready:\n")
    assert "bind: address already in use" in text
    assert text.splitlines()[-1].startswith("end the program that took the port")


def test_a_sandbox_of_before_gets_ports_for_what_is_new(other: Home, tools: dict[str, Path]) -> None:
    ports = dict(zip(PORTS[:-1], free_ports(len(PORTS) - 1), strict=True))
    kubernetes = {"endpoint": f"{LOOPBACK}:{ports['kube-apiserver']}"}
    record = control_plane.ensure_running(other, Record("other", ports=ports, kubernetes=kubernetes), tools)
    assert list(record.ports) == list(PORTS)
    assert ports.items() <= record.ports.items()
