"""What joins pods of different nodes: transports, NVLink domains, RDMA devices."""

from __future__ import annotations

from collections.abc import Iterator

from stacks.checks.candidate import Candidate
from stacks.problems import Problem
from stacks.spec import PrefillDecode
from stacks.wording import some

__all__ = ["CHECKS"]


def _on_hardware(c: Candidate) -> bool:
    return c.rows.transport is not None and c.rows.transport.name in c.rows.hardware.fabric.transports


def transport_of_hardware(c: Candidate) -> Iterator[Problem]:
    """A transport needs the wires."""
    transport, row = c.rows.transport, c.rows.hardware
    if transport is None or _on_hardware(c):
        return
    claims = transport.compute_domain or transport.rdma_device_class is not None
    yield Problem(
        rule="transport-on-hardware",
        path="serving.transport.name",
        value=transport.name,
        why=f"{row.machine_type} has no such network: claims would never be allocated and the pods stay Pending"
        if claims
        else f"it is not rendered for {row.machine_type}, whose nodes reach each other by other means",
        allowed=", ".join(row.fabric.transports) or "null",
        remedy="choose an allowed transport, or set serving.transport to null",
        source=row.fabric.source,
    )


def transport_used(c: Candidate) -> Iterator[Problem]:
    """Between replicas that share nothing, a transport does nothing but bind resources."""
    shape, transport = c.preset.serving.shape, c.rows.transport
    if transport and _on_hardware(c) and not isinstance(shape, PrefillDecode) and c.derived.nodes_per_replica == 1:
        yield Problem(
            rule="transport-unused",
            path="serving.transport",
            value=transport.name,
            why="every replica is within one node and does prefill and decode: nothing passes between nodes",
            allowed="null for this shape",
            remedy="set serving.transport to null, or choose a shape that spans nodes",
            source="derived",
            severity="warning",
        )


def rdma_used(c: Candidate) -> Iterator[Problem]:
    """Within an NVLink domain ranks speak over NVLink; RDMA is for KV cache on its way from prefill to decode."""
    transport, shape = c.rows.transport, c.preset.serving.shape
    if not (transport and _on_hardware(c) and transport.rdma_device_class and transport.compute_domain):
        return
    if not isinstance(shape, PrefillDecode) and c.derived.nodes_per_replica > 1:
        yield Problem(
            rule="rdma-unused",
            path="serving.transport.name",
            value=transport.name,
            why="replicas that do prefill and decode move no KV cache, and their ranks speak over NVLink; the RDMA "
            "devices are claimed, and the pods get more rights, for nothing",
            allowed=", ".join(name for name in c.rows.hardware.fabric.transports if name != transport.name)
            or "another transport",
            remedy="choose an allowed transport",
            source=transport.source,
            severity="warning",
        )


def whole_nodes(c: Candidate) -> Iterator[Problem]:
    """A node has one IMEX channel, and RDMA settings name all of its devices: two pods cannot share either."""
    transport, shape, gpus = c.rows.transport, c.preset.serving.shape, c.rows.hardware.gpu.count
    pods = min(c.derived.replicas_per_node, c.derived.replicas)
    if transport and _on_hardware(c) and pods > 1 and (transport.compute_domain or transport.rdma_device_class):
        yield Problem(
            rule="transport-whole-nodes",
            path="serving.shape.tensor_parallel",
            value=shape.tensor_parallel,
            why=f"{pods} pods would share a node, and the first one takes what {transport.name} claims there; the "
            "others stay Pending: cannot allocate all claims",
            allowed=f"{gpus}, or a multiple of it",
            remedy=f"set it to {gpus}, with fewer replicas, or set serving.transport to null",
            source="kubernetes-sigs/dra-driver-nvidia-gpu#309: one IMEX channel a node; AI Hypercomputer docs, A4X Max:"
            " pods take whole nodes",
        )


def privileges(c: Candidate) -> Iterator[Problem]:
    """Capabilities beyond what Kubernetes' restricted level admits are told, not slipped in."""
    transport = c.rows.transport
    if transport and transport.capabilities:
        yield Problem(
            rule="engine-privileges",
            path="serving.transport.name",
            value=transport.name,
            why=f"it takes {', '.join(transport.capabilities)}: engine containers run as root with this alone, in a "
            "namespace of Pod Security level privileged; whoever may create pods there may do as much on the nodes",
            allowed="this transport, with what it takes, or one without capabilities in its row",
            remedy="let nobody else create pods in the namespace",
            source="Kubernetes docs, Pod Security Standards",
            severity="note",
        )


def compute_domain(c: Candidate) -> Iterator[Problem]:
    """A domain that waits for a number of nodes must wait for exactly those its pods run on."""
    chosen, transport, nodes = c.preset.serving.transport, c.rows.transport, c.derived.nodes_needed
    asked = chosen.compute_domain_nodes if chosen else None
    if transport is None or asked is None or (transport.compute_domain and asked in (0, nodes)):
        return
    if not transport.compute_domain:
        why, allowed = f"{transport.name} has no ComputeDomain, so this would do nothing", "null"
    else:
        why = f"the replicas run on {some(nodes, 'node')}: the domain would "
        why += "wait for nodes that never join" if asked > nodes else "start before it is whole"
        allowed = f"null, 0 or {nodes}"
    yield Problem(
        rule="compute-domain-nodes",
        path="serving.transport.compute_domain_nodes",
        value=asked,
        why=why,
        allowed=allowed,
        remedy="leave it out: the domain then grows with its pods" if transport.compute_domain else "leave it out",
        source="kubernetes-sigs/dra-driver-nvidia-gpu, ComputeDomain spec.numNodes",
    )


def rdma_devices(c: Candidate) -> Iterator[Problem]:
    """Claims beyond a node's devices are never allocated; a pod with fewer hangs, as its settings name them all."""
    chosen, transport, network = c.preset.serving.transport, c.rows.transport, c.rows.hardware.network
    asked = chosen.rdma_devices_per_pod if chosen else None
    if transport is None or asked is None or (transport.rdma_device_class and asked == network.rdma_interfaces):
        return
    has = f"a node has {some(network.rdma_interfaces, 'RDMA device')}"
    if not transport.rdma_device_class:
        why = f"{transport.name} claims no RDMA devices, so this would do nothing"
    elif asked > network.rdma_interfaces:
        why = f"{has}; the pods stay Pending: cannot allocate all claims"
    else:
        why = f"{has}, and the transport's settings name all of them; transfers over those a pod did not claim hang"
    yield Problem(
        rule="rdma-devices",
        path="serving.transport.rdma_devices_per_pod",
        value=asked,
        why=why,
        allowed=f"null or {network.rdma_interfaces}" if transport.rdma_device_class else "null",
        remedy="leave it out: a pod then claims all of its node" if transport.rdma_device_class else "leave it out",
        source=network.source,
    )


CHECKS = (transport_of_hardware, transport_used, rdma_used, whole_nodes, privileges, compute_domain, rdma_devices)
