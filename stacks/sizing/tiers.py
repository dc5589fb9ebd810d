"""How much KV cache each tier holds: in bytes, tokens, whole contexts and sessions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from stacks.derived import Derived
from stacks.memory import GB
from stacks.parallelism import data_parallel
from stacks.roles import Role, roles
from stacks.row_lookup import Rows
from stacks.sizing.figures import Basis, Figure, Section, gb, gib
from stacks.sizing.session import Session
from stacks.spec import Preset, SglangEngine

__all__ = ["Tier", "TierName", "tier_bandwidths", "tiers"]

TierName = Literal["hbm", "host_dram", "local_ssd"]


@dataclass(frozen=True)
class Tier:
    """One tier of the replicas of one role; a tier that the preset does not have holds nothing."""

    tier: TierName
    role: str
    replicas: int
    bytes_per_replica: int
    tokens_per_replica: int
    contexts_per_replica: int
    sessions_per_replica: int
    formula: str
    basis: Basis

    @property
    def tokens(self) -> int:
        """Of all replicas."""
        return self.replicas * self.tokens_per_replica

    @property
    def sessions(self) -> int:
        """Of all replicas."""
        return self.replicas * self.sessions_per_replica


def tiers(preset: Preset, rows: Rows, derived: Derived, session: Session) -> tuple[Tier, ...]:
    """Return all tiers of all roles, the fastest first."""
    found = []
    for role in roles(preset.serving):
        found.append(_hbm(role, preset, rows, derived, session))
        if role.name != "decode":
            found += _below(role, preset, derived, session)
    return tuple(found)


def _hbm(role: Role, preset: Preset, rows: Rows, derived: Derived, session: Session) -> Tier:
    """Data parallel ranks share no cache, so a context lies in one of them whole."""
    serving = preset.serving
    apart = data_parallel(serving) if serving.engine.kind == "vllm" else 1
    of_rank = derived.kv_tokens_per_replica // apart
    room = gb(derived.kv_room_bytes_per_replica)
    if isinstance(serving.engine, SglangEngine):
        each = derived.kv_room_bytes_per_replica / max(1, derived.kv_tokens_per_replica)
        drafter = ", and a drafter's" if rows.drafter else ""
        formula = (
            f"{room} / {each:,.0f} B, a token and {serving.engine.swa_full_tokens_ratio:g} of its sliding "
            f"layers{drafter} (swa_full_tokens_ratio)"
        )
    else:
        windows = serving.engine.max_sequences * derived.kv_window_bytes_per_sequence
        formula = (
            f"({room} - {serving.engine.max_sequences} sequences' windows of {gb(windows)}) / "
            f"{derived.kv_bytes_per_token:,} B"
        )
    return Tier(
        "hbm",
        role.name,
        role.replicas,
        derived.kv_room_bytes_per_replica,
        derived.kv_tokens_per_replica,
        apart * (of_rank // serving.context_tokens),
        apart * (of_rank // session.tokens),
        formula if apart == 1 else f"{formula}; in {apart} data parallel ranks that share none",
        "assumed",
    )


def _below(role: Role, preset: Preset, derived: Derived, session: Session) -> list[Tier]:
    below: tuple[tuple[TierName, int, int], ...] = (
        ("host_dram", derived.host_tier_bytes_per_replica, derived.host_tier_tokens_per_replica),
        ("local_ssd", derived.ssd_tier_bytes_per_replica, derived.ssd_tier_tokens_per_replica),
    )
    return [
        Tier(
            name,
            role.name,
            role.replicas,
            size,
            tokens,
            tokens // preset.serving.context_tokens,
            tokens // session.tokens,
            f"{gib(size)} / {derived.kv_bytes_per_token:,} B; windows of sliding layers not counted"
            if size
            else "the preset has no such tier",
            "assumed" if size else "preset",
        )
        for name, size, tokens in below
    ]


def tier_bandwidths(rows: Rows, derived: Derived, session: Session) -> Section:
    """Return how fast each tier is read, and how long a session takes from there."""
    throughput = rows.hardware.throughput
    part = session.tokens * derived.kv_bytes_per_token / derived.nodes_per_replica
    hbm = rows.hardware.gpu.memory_bandwidth_gb_per_s * derived.gpus_per_replica
    rate = throughput.load_gb_per_s if derived.local_ssd_count else None
    figures = (
        Figure("hbm", hbm, "GB/s", "of a replica: memory bandwidth x GPUs", "catalog"),
        Figure(
            "host_link", None, "GB/s", "between host memory and GPUs: no column of the hardware row has it", "unknown"
        ),
        Figure("local_ssd_read", rate, "GB/s", f"of a node, into GPU memory. {throughput.source}", "assumed"),
        Figure(
            "session_from_local_ssd",
            round(part / (rate * GB), 2),
            "s",
            f"{gb(part)} of a node / {rate:g} GB/s, while nobody else reads",
            "assumed",
        )
        if rate
        else Figure("session_from_local_ssd", None, "s", "no local SSD in this pool", "unknown"),
    )
    return Section("tier_bandwidth", "reading a tier", figures)
