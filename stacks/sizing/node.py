"""Host memory and local SSD of one node: who takes what, and what is left."""

from __future__ import annotations

import math

from stacks.derived import CACHE_GIB_PER_REPLICA, Derived
from stacks.memory import GB, GIB
from stacks.roles import Role
from stacks.row_lookup import Rows
from stacks.sizing.figures import Figure, Section
from stacks.spec import LocalSsd, Preset
from stacks.wording import some

__all__ = ["host_memory", "huge_pages_gib", "local_ssd", "pods_of_a_node"]


def pods_of_a_node(role: Role, derived: Derived) -> int:
    """Return how many engine pods of a role lie on one node: a replica over several nodes has one on each."""
    return min(derived.replicas_per_node, role.replicas)


def huge_pages_gib(rows: Rows) -> int:
    """Memory of a node that the transport's agent takes as huge pages."""
    return rows.transport.hugepages_2mi_per_node * 2 // 1024 if rows.transport else 0


def host_memory(role: Role, rows: Rows, derived: Derived) -> Section:
    """Take the memory of a node with pods of one role apart; pods are counted as they request it."""
    machine, pods = rows.hardware.machine, pods_of_a_node(role, derived)
    total = machine.memory_gb * GB
    allocatable = derived.allocatable_memory_gib * GIB
    decodes = role.name == "decode"
    pod = derived.decode_pod_memory_gib if decodes else derived.pod_memory_gib
    shm = derived.decode_shm_gib if decodes else derived.shm_gib
    beside = derived.sidecar_memory_gib + (derived.proxy_memory_gib if decodes else 0)
    pod_gib, shm_gib = (pod or 0) + beside, shm or 0
    tier = derived.host_tier_bytes_per_replica // derived.nodes_per_replica * pods if role.tiered else 0
    pages = huge_pages_gib(rows) * GIB
    left = allocatable - pods * pod_gib * GIB - pages
    sidecar = f", sidecar of {beside} GiB in it" if beside else ""
    figures = (
        Figure("memory", total, "bytes", f"{machine.memory_gb:,} GB", "catalog", "GiB"),
        Figure("kept_by_gke", total - allocatable, "bytes", "GKE's bands; allocatable is the rest", "derived", "GiB"),
        Figure("allocatable", allocatable, "bytes", "memory - kept_by_gke", "derived", "GiB"),
        Figure(
            "pods",
            pods * pod_gib * GIB,
            "bytes",
            f"{some(pods, 'engine pod')} x {pod_gib} GiB{sidecar}",
            "assumed",
            "GiB",
        ),
        Figure("shm", pods * shm_gib * GIB, "bytes", f"in pods: {pods} x {shm_gib} GiB of /dev/shm", "assumed", "GiB"),
        Figure(
            "host_tier",
            tier,
            "bytes",
            f"in pods: KV tier, which takes {rows.engine.offload.pod_memory_per_host_tier_byte:g} times its size there"
            if tier
            else "none",
            "preset",
            "GiB",
        ),
        Figure("huge_pages", pages, "bytes", "of the transport's agent" if pages else "none", "catalog", "GiB"),
        Figure(
            "left",
            left,
            "bytes",
            "allocatable - pods - huge_pages: page cache, seeding, agents",
            "derived",
            "GiB",
        ),
    )
    return Section(f"host_memory_{role.name}", _title("host memory", role, rows, pods), figures)


def local_ssd(role: Role, preset: Preset, rows: Rows, derived: Derived) -> Section:
    """Take the local SSD of a node with pods of one role apart."""
    pods, disks = pods_of_a_node(role, derived), derived.local_ssd_count
    title = _title("local SSD", role, rows, pods)
    size = rows.hardware.local_ssd.size_gib
    count = Figure("disks", disks, "disks", f"of {size:,} GiB each" if disks else "none in this pool", "preset")
    if not disks:
        return Section(f"local_ssd_{role.name}", title, (count,))
    total = derived.local_ssd_gib_per_node * GIB
    raw = derived.raw_block_gib
    usable = (derived.allocatable_ephemeral_gib if raw is None else raw) * GIB
    seeded = isinstance(preset.model.storage, LocalSsd)
    weights = derived.weights_bytes if seeded else 0
    caches = 0 if raw is not None else pods * CACHE_GIB_PER_REPLICA * GIB
    mounted = 0 if raw is not None else pods * derived.sidecar_ephemeral_gib * GIB
    tier_gib = math.ceil(derived.ssd_tier_bytes_per_replica / derived.nodes_per_replica / GIB) if role.tiered else 0
    tier = pods * tier_gib * GIB
    figures = (
        count,
        Figure("size", total, "bytes", f"{disks} x {size:,} GiB", "catalog", "GiB"),
        Figure(
            "kept",
            total - usable,
            "bytes",
            "10 % and 50, 75 or 100 GiB that GKE keeps of ephemeral storage"
            if raw is None
            else "raw block: file system and margin, 5 %",
            "derived",
            "GiB",
        ),
        Figure("weights", weights, "bytes", "one copy for the node" if seeded else "not copied here", "derived", "GiB"),
        Figure(
            "caches",
            caches,
            "bytes",
            f"{pods} x {CACHE_GIB_PER_REPLICA} GiB of compiled kernels" if caches else "on the boot disk",
            "assumed",
            "GiB",
        ),
        Figure(
            "mounted_weights",
            mounted,
            "bytes",
            f"{pods} x {derived.sidecar_ephemeral_gib} GiB of Cloud Storage FUSE" if mounted else "none",
            "derived",
            "GiB",
        ),
        Figure("kv_tier", tier, "bytes", f"{pods} x {tier_gib:,} GiB" if tier else "none", "preset", "GiB"),
        Figure(
            "free",
            usable - weights - caches - mounted - tier,
            "bytes",
            "size - all of these",
            "derived",
            "GiB",
        ),
    )
    return Section(f"local_ssd_{role.name}", title, figures)


def _title(what: str, role: Role, rows: Rows, pods: int) -> str:
    return f"{what} of one node ({rows.hardware.machine_type}, {some(pods, f'{role.name} pod')})"
