"""In words: which tier below GPU memory can pay on this hardware, by how much it could hold at most."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from stacks.checks.capacity import NODE_RESERVE_GIB
from stacks.derive import derive
from stacks.derived import CACHE_GIB_PER_REPLICA, Derived
from stacks.memory import GB, GIB, MIB
from stacks.roles import roles
from stacks.row_lookup import Rows
from stacks.sizing.figures import gb
from stacks.sizing.node import huge_pages_gib, pods_of_a_node
from stacks.sizing.session import Session
from stacks.sizing.tiers import Tier, TierName
from stacks.spec import LocalSsd, NoOffload, Preset
from stacks.wording import some

__all__ = ["Verdict", "verdicts"]

_PAYS_FROM = 2.0
"""Times the KV pool above it that a tier must be able to hold to be worth its copying: this kit's own line."""


@dataclass(frozen=True)
class Verdict:
    """What can be said of a tier before anything has run. ``times_hbm``: its largest size / the KV pool of a node."""

    tier: TierName
    verdict: Literal["holds", "can pay", "adds little", "no room", "not offered"]
    why: str
    largest_gib_per_node: int | None = None
    times_hbm: float | None = None


def verdicts(
    preset: Preset, rows: Rows, derived: Derived, session: Session, found: Sequence[Tier]
) -> tuple[Verdict, ...]:
    """Judge GPU memory and both tiers below it.

    A tier gets a copy of all that is computed, so one that is not much larger than the pool above it holds little that
    is not there.
    """
    bare = _without_tiers(preset, rows)
    pods = pods_of_a_node(roles(preset.serving)[0], derived)
    pool = derived.kv_room_bytes_per_replica // derived.nodes_per_replica * pods
    return (
        _hbm(session, found),
        _host(rows, bare, pods, pool),
        _ssd(preset, rows, bare, pods, pool, session),
    )


def _hbm(session: Session, found: Sequence[Tier]) -> Verdict:
    """Count where prefixes are reused: of prefill and decode apart, in prefill."""
    hbm = next(tier for tier in found if tier.tier == "hbm")
    return Verdict(
        "hbm",
        "holds",
        f"{some(hbm.replicas, f'{hbm.role} replica')} hold {some(hbm.sessions, 'session')} of {session.tokens:,} "
        f"tokens, {hbm.sessions_per_replica:,} each; while fewer are alive, no tier below pays",
    )


def _host(rows: Rows, bare: Derived, pods: int, pool: int) -> Verdict:
    offload = rows.engine.offload
    if "host_dram" not in offload.tiers:
        return Verdict("host_dram", "not offered", f"the kit has no such tier for {rows.engine.kind}")
    taken = pods * (bare.pod_memory_gib + bare.sidecar_memory_gib) + huge_pages_gib(rows) + NODE_RESERVE_GIB
    room = bare.allocatable_memory_gib - taken
    largest = max(0, math.floor(room / offload.pod_memory_per_host_tier_byte))
    gpu, machine = rows.hardware.gpu, rows.hardware.machine
    hbm, dram = gpu.count * gpu.memory_mib_per_gpu * MIB, machine.memory_gb * GB
    compared = "more" if hbm > dram else "less"
    return _judged(
        "host_dram",
        largest,
        pool,
        f"a node has {gb(hbm)} of GPU memory, {compared} than its {gb(dram)} of DRAM; {room:,} GiB are left of that "
        f"beside pods and reserve, and a tier takes {offload.pod_memory_per_host_tier_byte:g} times its size: at most "
        f"{largest:,} GiB",
        f"; {offload.proven_host_tier_gib} GiB is the largest a public run of the engine reports for a replica",
    )


def _ssd(preset: Preset, rows: Rows, bare: Derived, pods: int, pool: int, session: Session) -> Verdict:
    if "local_ssd" not in rows.engine.offload.tiers:
        return Verdict("local_ssd", "not offered", f"the kit has no such tier for {rows.engine.kind}")
    raw, rate = bare.raw_block_gib, rows.hardware.throughput.load_gb_per_s
    usable = raw if raw is not None else bare.allocatable_ephemeral_gib if bare.local_ssd_count else 0
    weights = math.ceil(bare.weights_bytes / GIB) if isinstance(preset.model.storage, LocalSsd) else 0
    others = 0 if raw is not None else pods * (CACHE_GIB_PER_REPLICA + bare.sidecar_ephemeral_gib)
    largest = max(0, usable - weights - others)
    part = session.tokens * bare.kv_bytes_per_token / bare.nodes_per_replica
    return _judged(
        "local_ssd",
        largest,
        pool,
        f"of {usable:,} GiB that a node's local SSD has, weights and caches leave {largest:,} GiB",
        f"; a session comes back in {part / (rate * GB):.1f} s at the rate assumed, which pays where computing it "
        "again takes longer (no row says how long)",
    )


def _judged(tier: TierName, largest_gib: int, pool: int, room: str, then: str) -> Verdict:
    times = round(largest_gib * GIB / pool, 2) if pool > 0 else None
    if not largest_gib or times is None:
        return Verdict(tier, "no room", room, largest_gib, times)
    size = f"{room}, {times:g} times the KV pool of {pool / GIB:,.0f} GiB above it"
    if times < _PAYS_FROM:
        said = f"{size}; below {_PAYS_FROM:g} times it mostly repeats what GPU memory holds"
        return Verdict(tier, "adds little", said, largest_gib, times)
    return Verdict(tier, "can pay", f"{size}{then}", largest_gib, times)


def _without_tiers(preset: Preset, rows: Rows) -> Derived:
    cache = preset.serving.kv_cache.model_copy(update={"offload": NoOffload(kind="none")})
    serving = preset.serving.model_copy(update={"kv_cache": cache})
    return derive(preset.model_copy(update={"serving": serving}), rows)
