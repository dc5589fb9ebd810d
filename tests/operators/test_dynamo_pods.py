"""What the simulated Dynamo operator adds to a component's pods, and where it stops."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from beamline.sandbox.operators.dynamo_pods import Graph, graph_name, pod_template, service
from beamline.sandbox.operators.dynamo_ranks import groups, mismatch

MAIN = {
    "name": "main",
    "image": "nvcr.io/nvidia/ai-dynamo/sglang-runtime:1.7.0",
    "command": ["python3", "-m", "dynamo.sglang"],
    "args": ["--tp-size", "8"],
    "env": [{"name": "DYN_SYSTEM_PORT", "value": "9345"}],
    "resources": {"limits": {"nvidia.com/gpu": "4"}},
}


def graph(name: str = "beam", **component: Any) -> tuple[Graph, dict[str, Any]]:
    own = {
        "name": "Decode",
        "type": "decode",
        "podTemplate": {"spec": {"containers": [copy.deepcopy(MAIN)]}},
    } | component
    manifest = {
        "kind": "DynamoGraphDeployment",
        "metadata": {"name": name, "namespace": "serving", "uid": "u", "generation": 1},
        "spec": {"backendFramework": "sglang", "components": [own], "env": [{"name": "HF_HOME", "value": "/models"}]},
    }
    return Graph(manifest), own


def variables(container: dict[str, Any]) -> dict[str, Any]:
    return {entry["name"]: entry.get("value") for entry in container["env"]}


def test_a_worker_gets_environment_probes_ports_and_shared_memory() -> None:
    template = pod_template(*graph(sharedMemorySize="64Gi"))
    main = template["spec"]["containers"][0]
    found = variables(main)
    assert (found["DYN_NAMESPACE"], found["DYN_DISCOVERY_BACKEND"]) == ("serving-beam", "kubernetes")
    assert (found["NIXL_TELEMETRY_PROMETHEUS_PORT"], found["HF_HOME"]) == ("19090", "/models")
    assert found["DYN_SYSTEM_PORT"] == "9345", "the container's own value stands"
    assert [port["name"] for port in main["ports"]] == ["system", "nixl"]
    assert main["startupProbe"]["failureThreshold"] == 720
    assert {"name": "shared-memory", "emptyDir": {"medium": "Memory", "sizeLimit": "64Gi"}} in template["spec"][
        "volumes"
    ]
    assert template["spec"]["serviceAccountName"] == "beam-k8s-service-discovery"


@pytest.mark.parametrize(
    ("image", "override", "failures"),
    [("x:1.7.0", None, 3), ("x:1.4.2", None, 1), ("x:main", None, 1), ("x:main", "1.6.1", 3), ("h:5000/x", None, 1)],
)
def test_an_unknown_or_old_runtime_is_restarted_at_the_first_miss(
    image: str, override: str | None, failures: int
) -> None:
    changes = {"runtimeVersionOverride": override} if override else {}
    made = pod_template(*graph(podTemplate={"spec": {"containers": [{**MAIN, "image": image}]}}, **changes))
    assert made["spec"]["containers"][0]["livenessProbe"]["failureThreshold"] == failures


def test_own_probes_stand_and_zero_means_no_shared_memory() -> None:
    own = {"httpGet": {"path": "/live", "port": 9090}, "periodSeconds": 60, "failureThreshold": 120}
    containers = [{"name": "sidecar", "image": "y:1"}, {**MAIN, "startupProbe": own}]
    template = pod_template(*graph(podTemplate={"spec": {"containers": containers}}, sharedMemorySize="0"))
    assert [entry["name"] for entry in template["spec"]["containers"]] == ["main", "sidecar"]
    assert template["spec"]["containers"][0]["startupProbe"] == own
    assert "volumes" not in template["spec"]


def test_labels_are_found_by_the_service_and_cannot_be_replaced() -> None:
    theirs = {"metadata": {"labels": {"nvidia.com/selector": "x", "team": "a"}}, "spec": {"containers": [MAIN]}}
    pieces = graph(podTemplate=theirs)
    labels, made = pod_template(*pieces)["metadata"]["labels"], service(*pieces)
    assert (labels["nvidia.com/selector"], labels["team"]) == ("beam-decode", "a")
    assert labels["nvidia.com/metrics-enabled"] == "true"
    assert made["metadata"]["name"] == "beam-decode"
    assert made["spec"]["selector"].items() <= labels.items()
    assert made["spec"]["ports"] == [{"name": "system", "port": 9090, "targetPort": "system", "protocol": "TCP"}]


def test_a_frontend_listens_on_8000() -> None:
    pieces = graph(
        name="beam", type="frontend", podTemplate={"spec": {"containers": [{"name": "main", "image": "f:1.7.0"}]}}
    )
    main = pod_template(*pieces)["spec"]["containers"][0]
    assert (main["command"], main["args"]) == (["python3"], ["-m", "dynamo.frontend"])
    assert variables(main)["DYN_NAMESPACE_PREFIX"] == "serving-beam"
    assert service(*pieces)["spec"]["ports"][0]["port"] == 8000


def test_ranks_get_their_place_and_only_the_leader_is_probed() -> None:
    made = groups(*graph(multinode={"nodeCount": 3}), 2)
    assert [pod["metadata"]["name"] for pod in made[1].pods] == [
        "beam-0-decode-1-decode-ldr-0",
        "beam-0-decode-1-decode-wkr-0",
        "beam-0-decode-1-decode-wkr-1",
    ]
    mains = [pod["spec"]["containers"][0] for pod in made[1].pods]
    address = "beam-0-decode-1-decode-ldr-0.$(GROVE_HEADLESS_SERVICE):29500"
    for rank, main in enumerate(mains):
        flags = ["--dist-init-addr", address, "--nnodes", "3", "--node-rank", str(rank)]
        assert main["args"] == ["--tp-size", "8", *flags]
        assert ("startupProbe" in main) is (rank == 0)
        names = [entry["name"] for entry in main["env"]]
        assert variables(main)["GROVE_HEADLESS_SERVICE"] == "beam-0.serving.svc.cluster.local"
        assert names.index("GROVE_HEADLESS_SERVICE") < names.index("DYN_NAMESPACE")
    assert made[0].revision == made[1].revision
    assert groups(*graph(multinode={"nodeCount": 2}), 1)[0].revision != made[0].revision


def test_a_shell_command_gets_the_flags_at_its_end() -> None:
    shell = {**MAIN, "command": ["/bin/bash", "-c"], "args": ["ldconfig && python3 -m dynamo.sglang"]}
    made = groups(*graph(multinode={"nodeCount": 2}, podTemplate={"spec": {"containers": [shell]}}), 1)
    (script,) = made[0].pods[1]["spec"]["containers"][0]["args"]
    assert script.startswith("ldconfig && python3 -m dynamo.sglang --dist-init-addr beam-0-decode-0-decode-ldr-0.")
    assert script.endswith("--nnodes 2 --node-rank 1")


@pytest.mark.parametrize(
    ("args", "nodes", "says"),
    [
        (["--tp-size", "8"], 2, ""),
        (["--tp-size=4"], 1, ""),
        (["--tp", "2"], 1, ""),
        (["--tp-size", "4", "--pp-size", "2"], 2, ""),
        (["--config", "/etc/engine.yaml"], 2, ""),
        (["--tp-size", "4"], 2, "2 nodes x 4 GPUs = 8, but the engine's arguments ask for 4"),
        (["--tp-size", "8"], 1, "1 node x 4 GPUs = 4, but the engine's arguments ask for 8"),
    ],
)
def test_gpus_must_be_what_the_engine_asks_for(args: list[str], nodes: int, says: str) -> None:
    component = {"podTemplate": {"spec": {"containers": [{**MAIN, "args": args}]}}}
    if nodes > 1:
        component["multinode"] = {"nodeCount": nodes}
    assert mismatch(component).startswith(says)
    assert bool(mismatch(component)) is bool(says)


def test_a_long_name_is_shortened_for_grove() -> None:
    assert graph_name(graph(name="beam")[0]) == "beam"
    long = graph_name(graph(name="a-deployment-with-a-rather-long-name-indeed", multinode={"nodeCount": 2})[0])
    assert len(long) == 45 - 2 * len("decode") - len("-ldr")
    assert long == graph_name(graph(name="a-deployment-with-a-rather-long-name-indeed", multinode={"nodeCount": 2})[0])
