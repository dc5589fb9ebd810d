"""What fits on the small pool: routers and frontends, and their image, beside what GKE and the operators run there."""

from __future__ import annotations

import math
from collections.abc import Iterator

from stacks.checks.candidate import Candidate
from stacks.derived import SYSTEM_RESERVE_GIB
from stacks.memory import GB, GIB, allocatable_cpu_millicores, allocatable_memory_gib
from stacks.problems import Problem
from stacks.spec import DynamoRouter
from stacks.wording import some

__all__ = ["CHECKS"]

_SYSTEM_CORES = 2
"""Of a system node: what GKE's agents and the operators of a stack take."""
_SYSTEM_DISK_GIB = 25
"""The node's own files, other images, logs, and what the kubelet keeps free."""


def router_fits(c: Candidate) -> Iterator[Problem]:
    """Routers must fit the system nodes beside what GKE and the operators run there."""
    machine, sizing, nodes = c.rows.system.machine, c.rows.release.sizing, c.preset.system_pool.nodes
    router = c.preset.serving.router
    key, wanted = ("frontends", router.frontends) if isinstance(router, DynamoRouter) else ("replicas", router.replicas)
    by_cpu = (allocatable_cpu_millicores(machine) // 1000 - _SYSTEM_CORES) // sizing.cpu
    by_memory = (allocatable_memory_gib(machine) - SYSTEM_RESERVE_GIB) // sizing.memory_gib
    room = max(0, min(by_cpu, by_memory)) * nodes
    if room < wanted:
        yield Problem(
            rule="router-does-not-fit",
            path=f"serving.router.{key}" if wanted > 1 and room else "system_pool.machine_type",
            value=wanted if wanted > 1 and room else c.preset.system_pool.machine_type,
            why=f"each router pod asks for {some(sizing.cpu, 'core')} and {sizing.memory_gib} GiB; "
            f"{nodes} x {c.preset.system_pool.machine_type}, {_SYSTEM_CORES} cores and {SYSTEM_RESERVE_GIB} GiB of "
            f"each kept for GKE and the operators, have room for {room} of the {wanted}",
            allowed=f"up to {room} of them"
            if room
            else f"a larger machine type than {c.preset.system_pool.machine_type}",
            remedy=f"use more or larger system nodes, or fewer {key}" if wanted > 1 else "use larger system nodes",
            source=sizing.source,
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


CHECKS = (router_fits, system_disk)
