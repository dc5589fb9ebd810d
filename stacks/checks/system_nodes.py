"""What fits on the small pool: routers and frontends, and their image, beside what GKE and the operators run there."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from stacks.checks.candidate import Candidate
from stacks.derived import SYSTEM_RESERVE_GIB
from stacks.memory import GB, GIB, allocatable_cpu_millicores, allocatable_memory_gib
from stacks.problems import Problem
from stacks.rows import LlmdRelease
from stacks.spec import DynamoRouter
from stacks.wording import some

__all__ = ["CHECKS"]

_SYSTEM_CORES = 2
"""Of a system node: what GKE's agents and the operators of a stack take."""
_SYSTEM_DISK_GIB = 25
"""The node's own files, other images, logs, and what the kubelet keeps free."""


@dataclass(frozen=True)
class _Routers:
    """What a router's pod asks for, how many there are, and how many the system nodes have room for."""

    key: str
    wanted: int
    cpu: int
    memory_gib: int
    room: int


def _routers(c: Candidate) -> _Routers:
    machine, release, router = c.rows.system.machine, c.rows.release, c.preset.serving.router
    key, wanted = ("frontends", router.frontends) if isinstance(router, DynamoRouter) else ("replicas", router.replicas)
    cpu, memory_gib = release.sizing.cpu, release.sizing.memory_gib
    if isinstance(release, LlmdRelease) and c.derived.proxy_timeout_s is not None:
        cpu, memory_gib = cpu + release.proxy.cpu, memory_gib + release.proxy.memory_gib
    by_cpu = (allocatable_cpu_millicores(machine) // 1000 - _SYSTEM_CORES) // cpu
    by_memory = (allocatable_memory_gib(machine) - SYSTEM_RESERVE_GIB) // memory_gib
    return _Routers(key, wanted, cpu, memory_gib, max(0, min(by_cpu, by_memory)) * c.preset.system_pool.nodes)


def router_fits(c: Candidate) -> Iterator[Problem]:
    """Routers must fit the system nodes beside what GKE and the operators run there."""
    found, nodes, machine_type = _routers(c), c.preset.system_pool.nodes, c.preset.system_pool.machine_type
    wanted, room = found.wanted, found.room
    if room < wanted:
        yield Problem(
            rule="router-does-not-fit",
            path=f"serving.router.{found.key}" if wanted > 1 and room else "system_pool.machine_type",
            value=wanted if wanted > 1 and room else machine_type,
            why=f"each router pod asks for {some(found.cpu, 'core')} and {found.memory_gib} GiB; "
            f"{nodes} x {machine_type}, {_SYSTEM_CORES} cores and {SYSTEM_RESERVE_GIB} GiB of "
            f"each kept for GKE and the operators, have room for {room} of the {wanted}",
            allowed=f"up to {room} of them" if room else f"a larger machine type than {machine_type}",
            remedy=f"use more or larger system nodes, or fewer {found.key}"
            if wanted > 1
            else "use larger system nodes",
            source=c.rows.release.sizing.source,
        )


def successors_fit(c: Candidate) -> Iterator[Problem]:
    """With Envoy a router that goes stays until its last request has ended, and its successor has to be elsewhere."""
    found, grace_s = _routers(c), c.derived.proxy_grace_s
    if grace_s is not None and found.wanted <= found.room < 2 * found.wanted:
        yield Problem(
            rule="router-successor-room",
            path="system_pool.nodes",
            value=c.preset.system_pool.nodes,
            why=f"a router's pod with Envoy ends with its last request, up to {grace_s} s after it was told to; the "
            f"system nodes have room for {found.room} of {2 * found.wanted}, and an update would wait that long for "
            "its successor's place",
            allowed=f"room for {2 * found.wanted} pods of {some(found.cpu, 'core')} and {found.memory_gib} GiB",
            remedy="use more or larger system nodes, or serving.router.proxy gateway",
            source="manifests/llmd/envoy.py; Kubernetes docs: a pod that ends keeps its node's resources until then",
            severity="warning",
        )


def system_disk(c: Candidate) -> Iterator[Problem]:
    """Dynamo's frontends run from the engine's image, which lies on the system nodes' boot disks twice while pulled."""
    image_gib, disk_gb = c.rows.engine.startup.image_gib, c.preset.system_pool.boot_disk_gb
    needed_gb = math.ceil((2 * image_gib + _SYSTEM_DISK_GIB) * GIB / GB)
    if isinstance(c.preset.serving.router, DynamoRouter) and disk_gb < needed_gb:
        yield Problem(
            rule="system-boot-disk",
            path="system_pool.boot_disk_gb",
            value=disk_gb,
            why=f"frontends run from the engine's image of about {image_gib} GiB; beside the node's own files and "
            "other images it would fill the disk, and the kubelet evicts pods from a full one",
            allowed=f">= {needed_gb}",
            remedy="raise it",
            source=c.rows.engine.startup.source,
        )


CHECKS = (router_fits, successors_fit, system_disk)
