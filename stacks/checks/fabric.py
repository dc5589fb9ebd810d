"""What joins pods of different nodes: transports, NVLink domains, RDMA devices."""

from __future__ import annotations

from collections.abc import Iterator

from stacks.checks.candidate import Candidate
from stacks.problems import Problem
from stacks.spec import PrefillDecode
from stacks.wording import some

__all__ = ["CHECKS"]


def transport_of_hardware(c: Candidate) -> Iterator[Problem]:
    """A transport needs the wires."""
    transport, row = c.rows.transport, c.rows.hardware
    if transport and transport.name not in row.fabric.transports:
        yield Problem(
            rule="transport-on-hardware",
            path="serving.transport.name",
            value=transport.name,
            why=f"{row.machine_type} does not have it: claims would never be allocated and the pods stay Pending",
            allowed=", ".join(row.fabric.transports) or "null",
            remedy="choose an allowed transport, or set serving.transport to null",
            source=row.fabric.source,
        )


def transport_used(c: Candidate) -> Iterator[Problem]:
    """Between replicas that share nothing, a transport does nothing but bind resources."""
    if c.rows.transport and not isinstance(c.preset.serving.shape, PrefillDecode) and c.derived.nodes_per_replica == 1:
        yield Problem(
            rule="transport-unused",
            path="serving.transport",
            value=c.rows.transport.name,
            why="every replica is within one node and does prefill and decode: nothing passes between nodes",
            allowed="null for this shape",
            remedy="set serving.transport to null, or choose a shape that spans nodes",
            source="derived",
            severity="warning",
        )


def compute_domain(c: Candidate) -> Iterator[Problem]:
    """A domain that waits for a number of nodes must wait for exactly those its pods run on."""
    chosen, transport = c.preset.serving.transport, c.rows.transport
    if chosen is None or transport is None or not chosen.compute_domain_nodes:
        return
    asked, nodes = chosen.compute_domain_nodes, c.derived.nodes_needed
    if not transport.compute_domain:
        why, allowed = f"{transport.name} has no ComputeDomain, so this would do nothing", "null"
    elif asked != nodes:
        why = f"the replicas run on {some(nodes, 'node')}: the domain would "
        why += "wait for nodes that never join" if asked > nodes else "start before it is whole"
        allowed = f"null, 0 or {nodes}"
    else:
        return
    yield Problem(
        rule="compute-domain-nodes",
        path="serving.transport.compute_domain_nodes",
        value=asked,
        why=why,
        allowed=allowed,
        remedy="leave it out: the domain then grows with its pods",
        source="kubernetes-sigs/dra-driver-nvidia-gpu, ComputeDomain spec.numNodes",
    )


def rdma_devices(c: Candidate) -> Iterator[Problem]:
    """Claims beyond a node's devices are never allocated."""
    chosen, transport, fabric = c.preset.serving.transport, c.rows.transport, c.rows.hardware.fabric
    if chosen is None or transport is None or chosen.rdma_devices_per_pod is None:
        return
    pods = min(c.derived.replicas_per_node, c.derived.replicas)
    if transport.rdma_device_class is None:
        why, allowed = f"{transport.name} claims no RDMA devices, so this would do nothing", "null"
    elif chosen.rdma_devices_per_pod * pods > fabric.rdma_devices:
        why = f"a node has {some(fabric.rdma_devices, 'RDMA device')} for {some(pods, 'pod')}; the rest stay Pending: "
        why += "cannot allocate all claims"
        allowed = f"1 to {fabric.rdma_devices // pods}"
    else:
        return
    yield Problem(
        rule="rdma-devices",
        path="serving.transport.rdma_devices_per_pod",
        value=chosen.rdma_devices_per_pod,
        why=why,
        allowed=allowed,
        remedy="leave it out: a pod then claims its share",
        source=fabric.source,
    )


CHECKS = (transport_of_hardware, transport_used, compute_domain, rdma_devices)
