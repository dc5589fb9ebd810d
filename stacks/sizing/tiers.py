"""How much KV cache each tier holds: in bytes, tokens, whole contexts and sessions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from stacks.derived import Derived
from stacks.kv_blocks import layer_groups, request_blocks
from stacks.memory import GB
from stacks.parallelism import data_parallel
from stacks.roles import Role, roles
from stacks.row_lookup import Rows
from stacks.sizing.figures import Basis, Figure, Section, gb, gib
from stacks.sizing.session import Session
from stacks.spec import Preset, SglangEngine, VllmEngine
from stacks.wording import some

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
    serving, apart = preset.serving, data_parallel(preset.serving)
    decode = derived.decode_kv_tokens_per_replica
    tokens = decode if role.name == "decode" and decode is not None else derived.kv_tokens_per_replica
    formula = _as_the_engine_counts(role, preset, rows, derived)
    return Tier(
        "hbm",
        role.name,
        role.replicas,
        derived.kv_room_bytes_per_replica,
        tokens,
        apart * (tokens // apart // serving.context_tokens),
        apart * (tokens // apart // session.tokens),
        formula if apart == 1 else f"{formula}; in {apart} data parallel ranks that share none",
        "assumed",
    )


def _as_the_engine_counts(role: Role, preset: Preset, rows: Rows, derived: Derived) -> str:
    serving, room = preset.serving, gb(derived.kv_room_bytes_per_replica)
    drafter, page = " and of the drafter" if rows.drafter else "", serving.kv_cache.block_size_tokens
    match serving.engine:
        case VllmEngine() as engine:
            groups = layer_groups(rows.model.architecture, rows.drafter)
            held = request_blocks(
                groups, serving.context_tokens, block_tokens=page, batched_tokens=engine.batched_tokens
            )
            return (
                f"{room} in blocks of {page} tokens x {groups.layers} layers; a request of {serving.context_tokens:,} "
                f"tokens holds {held:,} of them, its windows{drafter} and two batches in it"
            )
        case SglangEngine() as engine if role.name == "decode":
            return (
                f"({room} - windows of {some(engine.max_sequences, 'running sequence')}) / bytes of a token in full "
                f"layers{drafter}"
            )
        case SglangEngine() as engine:
            return (
                f"{room} / bytes of a token in full layers{drafter}, and of {engine.swa_full_tokens_ratio:g} in "
                "sliding ones (swa_full_tokens_ratio)"
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
            _as_the_tier_counts(name, preset, size, tokens) if size else "the preset has no such tier",
            "assumed" if size else "preset",
        )
        for name, size, tokens in below
    ]


def _as_the_tier_counts(tier: TierName, preset: Preset, size: int, tokens: int) -> str:
    each = f"{gib(size)} / {size / max(1, tokens):,.0f} B"
    if tier == "host_dram" and isinstance(preset.serving.engine, SglangEngine):
        ratio = preset.serving.engine.swa_full_tokens_ratio
        return f"{each}, a token in full layers and {ratio:g} in sliding ones; whole GB a rank"
    return f"{each}, a token in full layers as the engine stores them; windows of sliding layers not counted"


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
