"""Between nodes: what a pod is told to use of NVLink and RDMA is what it claims, and a node has that much."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from beamline.engine.graph import Graph
from policies.objects import OPAQUE, PodTemplate, RegisteredObject, entries, pod_templates, registered_objects, section
from policies.pools import node_pools
from policies.rule import Finding, Rule
from policies.selection import selected_pools
from stacks.catalog_files import load_catalog
from stacks.network_variables import NVLINK_BETWEEN_NODES, RDMA

__all__ = ["RULES"]

_DEVICES_OF_GPU_NODES = "networking.gke.io.networks/"
"""Start of the resource names by which GKE's multi-networking gives devices to a container, without a claim."""


@dataclass(frozen=True)
class _Network:
    """One way between nodes: the variables that switch it on, and who claims it."""

    name: str
    variables: Mapping[str, tuple[str, ...]]
    """Variable -> values that mean it; empty: any value does."""
    device_class: str


def _rdma() -> list[_Network]:
    """RDMA by each device class that a transport of the catalog claims."""
    classes = sorted({row.rdma_device_class for row in load_catalog().transports.values() if row.rdma_device_class})
    return [_Network("RDMA", RDMA, device_class) for device_class in classes]


_NVLINK = _Network("NVLink between nodes", NVLINK_BETWEEN_NODES, "compute-domain-default-channel.nvidia.com")


def _device_classes(graph: Graph) -> dict[tuple[str, str], dict[str, int]]:
    """Namespace and name of each claim template -> how many devices of which class it asks for."""
    found: dict[tuple[str, str], dict[str, int]] = {}
    for obj in registered_objects(graph):
        if obj.kind == "ResourceClaimTemplate":
            found[obj.namespace, obj.name] = _asked(obj)
        elif obj.kind == "ComputeDomain":
            name = section(obj.at("spec", "channel", "resourceClaimTemplate")).get("name")
            found[obj.namespace, str(name)] = {_NVLINK.device_class: 1}
    return found


def _asked(template: RegisteredObject) -> dict[str, int]:
    asked: dict[str, int] = {}
    for request in entries(template.at("spec", "spec", "devices", "requests")):
        exactly = section(request.get("exactly"))
        name, count = str(exactly.get("deviceClassName")), exactly.get("count", 1)
        asked[name] = asked.get(name, 0) + (count if isinstance(count, int) else 1)
    return asked


def _claimed(template: PodTemplate, classes: Mapping[tuple[str, str], Mapping[str, int]]) -> dict[str, int]:
    """What the pod claims by device class; a claim nobody in the graph explains counts under its own name."""
    claimed: dict[str, int] = {}
    for claim in entries(template.spec.get("resourceClaims")):
        name = str(claim.get("resourceClaimTemplateName") or claim.get("resourceClaimName"))
        for device_class, count in classes.get((template.namespace, name), {OPAQUE: 1}).items():
            claimed[device_class] = claimed.get(device_class, 0) + count
    return claimed


def _set_variables(template: PodTemplate, network: _Network) -> Iterator[tuple[str, str, str]]:
    """Yield path, name and value of every variable that switches the network on."""
    for path, container in template.containers():
        for index, variable in enumerate(entries(container.get("env"))):
            name, value = str(variable.get("name")), str(variable.get("value") or "")
            meant = network.variables.get(name)
            if value and meant is not None and (not meant or value.lower() in meant):
                yield f"{path}.env[{index}]", name, value


def _has_devices(template: PodTemplate) -> bool:
    limits = (section(section(c.get("resources")).get("limits")) for _, c in template.containers())
    return any(str(name).startswith(_DEVICES_OF_GPU_NODES) for found in limits for name in found)


def _environment_without_claim(graph: Graph) -> Iterator[Finding]:
    classes = _device_classes(graph)
    for template in pod_templates(graph):
        claimed = _claimed(template, classes)
        for network in (*_rdma(), _NVLINK):
            if {network.device_class, OPAQUE} & claimed.keys() or (network is not _NVLINK and _has_devices(template)):
                continue
            for path, name, value in _set_variables(template, network):
                yield Finding(
                    path=path,
                    urn=template.owner.urn,
                    value=value,
                    detail=f"{name} makes the process use {network.name}, and the pod claims no {network.device_class}",
                    allowed=f"a resourceClaim of {network.device_class}, or no such variable",
                )


def _claim_without_environment(graph: Graph) -> Iterator[Finding]:
    classes = _device_classes(graph)
    for template in pod_templates(graph):
        claimed = _claimed(template, classes)
        for network in (*_rdma(), _NVLINK):
            if network.device_class in claimed and not any(_set_variables(template, network)):
                yield Finding(
                    path=f"{template.path}.spec.resourceClaims",
                    urn=template.owner.urn,
                    value=network.device_class,
                    detail=f"the pod claims {network.device_class} and sets no variable that uses {network.name}",
                    allowed=f"one of {', '.join(network.variables)} in the container",
                )


def _claims_not_passed_on(graph: Graph) -> Iterator[Finding]:
    for template in pod_templates(graph):
        names = {str(claim.get("name")) for claim in entries(template.spec.get("resourceClaims"))}
        used: set[str] = set()
        for path, container in template.containers():
            for index, claim in enumerate(entries(section(container.get("resources")).get("claims"))):
                name = str(claim.get("name"))
                used.add(name)
                if name not in names:
                    yield Finding(
                        path=f"{path}.resources.claims[{index}]",
                        urn=template.owner.urn,
                        value=name,
                        detail="the pod has no resourceClaim of this name",
                        allowed=", ".join(sorted(names)),
                    )
        for name in sorted(names - used):
            yield Finding(
                path=f"{template.path}.spec.resourceClaims",
                urn=template.owner.urn,
                value=name,
                detail="no container of the pod uses the claim: devices are taken, and nobody gets them",
                allowed="an entry in resources.claims of a container",
            )


def _more_devices_than_a_node_has(graph: Graph) -> Iterator[Finding]:
    classes, pools = _device_classes(graph), node_pools(graph)
    for template in pod_templates(graph):
        claimed, there = _claimed(template, classes), [pool.rdma_devices for pool in selected_pools(template, pools)]
        for network in _rdma():
            asked = claimed.get(network.device_class, 0)
            if there and asked > max(there):
                yield Finding(
                    path=f"{template.path}.spec.resourceClaims",
                    urn=template.owner.urn,
                    value=asked,
                    detail=f"the pod claims {asked} devices of {network.device_class}, a node has {max(there)}",
                    allowed=f"up to {max(there)}",
                )


_DRANET = "GKE docs, managed DRANET; AI Hypercomputer docs, A4X Max with GKE"

RULES = (
    Rule(
        id="network-without-claim",
        why="the process looks for devices it was not given, and crashes or hangs at its first transfer",
        remedy="claim the device class and pass the claim to the container, or drop the variable",
        source=f"{_DRANET}; a public log of RDMA variables without RDMA on this machine type",
        find=_environment_without_claim,
    ),
    Rule(
        id="claim-without-network",
        why="the devices are bound and traffic takes a slower way, in silence",
        remedy="set the variables of the transport, or drop the claim",
        source=_DRANET,
        find=_claim_without_environment,
    ),
    Rule(
        id="claim-not-passed-on",
        why="the API server refuses it, or the container does not see the devices",
        remedy="list each of the pod's resourceClaims in resources.claims of the container that needs it",
        source="Kubernetes docs, dynamic resource allocation",
        find=_claims_not_passed_on,
    ),
    Rule(
        id="claim-beyond-node",
        why="the pod stays Pending: cannot allocate all claims",
        remedy="claim no more devices than a node of the pool has",
        source=_DRANET,
        find=_more_devices_than_a_node_has,
    ),
)
