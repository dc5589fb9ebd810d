"""Components that span nodes, as Grove's scaling groups: a leader and workers for each replica.

The operator gives the engine of each pod its rank and the leader's address. Abbreviated: a rank is written out, where
the real one lets the shell compute it from Grove's pod index; pods are started together, not gang-scheduled.
"""

import re
from typing import Any

from beamline.sandbox.operators.dynamo_pods import Graph, graph_name, pod_template
from beamline.sandbox.operators.pod_groups import REVISION, Group
from beamline.sandbox.operators.world import Manifest
from beamline.sandbox.operators.writing import digest, owner_of

__all__ = ["groups", "headless_service", "mismatch", "node_count"]

_SGLANG_PORT = 29500
_TENSOR_FLAGS = ("--tp-size", "--tp", "--tensor-parallel-size")
_PIPELINE_FLAGS = ("--pp-size", "--pp", "--pipeline-parallel-size")


def node_count(component: Manifest) -> int:
    """Return how many nodes one replica of a component spans."""
    return int(component["multinode"]["nodeCount"]) if "multinode" in component else 1


def groups(graph: Graph, component: Manifest, replicas: int) -> list[Group]:
    """Return the replicas of a component that spans nodes."""
    template = pod_template(graph, component)
    nodes = node_count(component)
    revision = digest([template, nodes, graph.spec.get("backendFramework")])
    return [
        Group(
            f"{graph.manifest['metadata']['uid']}/{component['name']}/{index}",
            revision,
            tuple(_pod(graph, component, template, index, rank, revision) for rank in range(nodes)),
        )
        for index in range(replicas)
    ]


def headless_service(graph: Graph) -> dict[str, Any]:
    """Return the Service by which the pods of a graph resolve each other's names."""
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": _service_name(graph), "namespace": graph.namespace},
        "spec": {
            "clusterIP": "None",
            "publishNotReadyAddresses": True,
            "selector": {"nvidia.com/dynamo-graph-deployment-name": graph.name},
        },
    }


def mismatch(component: Manifest) -> str:
    """Say why an engine cannot start with the GPUs of its pods; empty where the arguments do not tell.

    The operator lets it pass; the engine would end at once, again and again.
    """
    main = next(entry for entry in component["podTemplate"]["spec"]["containers"] if entry["name"] == "main")
    words = " ".join([*main.get("command", []), *main.get("args", [])])
    tensor = _flag(words, _TENSOR_FLAGS)
    gpus = int(((main.get("resources") or {}).get("limits") or {}).get("nvidia.com/gpu", 0))
    if tensor is None or not gpus:
        return ""
    ranks, nodes = tensor * (_flag(words, _PIPELINE_FLAGS) or 1), node_count(component)
    if ranks == gpus * nodes or (nodes == 1 and ranks < gpus):
        return ""
    return (
        f"{nodes} node{'s' * (nodes > 1)} x {gpus} GPUs = {gpus * nodes}, but the engine's arguments ask for "
        f"{ranks} (tensor x pipeline parallel size)"
    )


def _flag(words: str, names: tuple[str, ...]) -> int | None:
    for name in names:
        if found := re.search(rf"(?:^|\s){name}[= ](\d+)", words):
            return int(found[1])
    return None


def _pod(graph: Graph, component: Manifest, template: Manifest, index: int, rank: int, revision: str) -> dict[str, Any]:
    set_name, low = graph_name(graph), component["name"].lower()
    group = f"{set_name}-0-{low}"
    place = f"{low}-ldr-0" if rank == 0 else f"{low}-wkr-{rank - 1}"
    name, leader = f"{group}-{index}-{place}", f"{group}-{index}-{low}-ldr-0"
    variables = {
        "GROVE_PCS_NAME": set_name,
        "GROVE_PCS_INDEX": "0",
        "GROVE_PCSG_NAME": group,
        "GROVE_PCSG_INDEX": str(index),
        "GROVE_PCLQ_NAME": name.rpartition("-")[0],
        "GROVE_PCLQ_POD_INDEX": name.rpartition("-")[2],
        "GROVE_HEADLESS_SERVICE": f"{_service_name(graph)}.{graph.namespace}.svc.cluster.local",
    }
    main, *others = template["spec"]["containers"]
    main = {**main, "env": [*({"name": key, "value": value} for key, value in variables.items()), *main["env"]]}
    if rank:
        main = {key: value for key, value in main.items() if not key.endswith("Probe")}
    if graph.spec.get("backendFramework") == "sglang":
        address = f"{leader}.$(GROVE_HEADLESS_SERVICE):{_SGLANG_PORT}"
        flags = ["--dist-init-addr", address, "--nnodes", str(node_count(component)), "--node-rank", str(rank)]
        main["args"] = _with_flags(main, flags)
    labels = {
        **template["metadata"]["labels"],
        "grove.io/podcliquescalinggroup": group,
        "grove.io/podcliquescalinggroup-replica-index": str(index),
        "grove.io/podclique": name.rpartition("-")[0],
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": graph.namespace,
            "labels": labels,
            "annotations": {**template["metadata"]["annotations"], REVISION: revision},
            "ownerReferences": [owner_of(graph.manifest)],
        },
        "spec": {
            **template["spec"],
            "containers": [main, *others],
            "hostname": name,
            "subdomain": _service_name(graph),
        },
    }


def _with_flags(container: Manifest, flags: list[str]) -> list[str]:
    """Add flags to a program's arguments, or to the end of a shell's one command."""
    args: list[str] = list(container.get("args", []))
    is_shell = container.get("command", [""])[0].rpartition("/")[2] in ("sh", "bash")
    if is_shell and args:
        return [*args[:-1], f"{args[-1]} {' '.join(flags)}"]
    return [*args, *flags]


def _service_name(graph: Graph) -> str:
    return f"{graph_name(graph)}-0"
