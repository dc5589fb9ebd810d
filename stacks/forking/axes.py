"""What a fork may change besides sizes: for each choice the values worth a try, and where checks speak about it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from stacks.catalog_files import Catalog
from stacks.derived import Derived
from stacks.memory import GIB
from stacks.row_lookup import Rows
from stacks.spec import Preset, TieredOffload, VllmEngine
from stacks.versions import minor, numbers

__all__ = ["CONTEXT", "Axis", "Overlay", "Seen", "axes", "on_hardware"]

Overlay = dict[str, Any]
_TIER_STEP_GIB = 50
"""Offload tiers are round numbers."""


_CONTEXT_STEP_TOKENS = 65_536
_STEADIEST_FIRST = ("on_demand", "reservation", "flex_start", "spot")


@dataclass(frozen=True)
class Seen:
    """A preset with the facts it stands on."""

    preset: Preset
    rows: Rows
    derived: Derived
    catalog: Catalog

    @property
    def pool(self) -> str:
        """Name of the pool a fork stands on."""
        return next(name for name, pool in self.preset.accelerator_pools.items() if pool.use == "serving")


def on_hardware(pools: Any, machine_type: str) -> Overlay:
    """Put the first pool that serves on other hardware, and leave out the others: a fork stands on one pool.

    ``pools`` are as a preset writes them, right or wrong.
    """
    said = (
        {name: pool for name, pool in pools.items() if isinstance(pool, Mapping)} if isinstance(pools, Mapping) else {}
    )
    first = next((name for name, pool in said.items() if pool.get("use", "serving") == "serving"), "main")
    return {first: {"machine_type": machine_type}, **{name: None for name in said if name != first}}


@dataclass(frozen=True)
class Axis:
    """One choice: its key, the paths of the findings that speak about it, other values in order of preference."""

    path: str
    speaks_at: tuple[str, ...]
    options: Callable[[Seen], Iterator[Overlay]]


def _version(seen: Seen) -> Iterator[Overlay]:
    """The machine type's floors: of the preset's own minor version first, then of later ones, then of older ones."""
    own = numbers(minor(seen.preset.cluster.version))
    floors = seen.rows.hardware.gke.min_version_by_minor
    for name in sorted(floors, key=lambda name: (numbers(name) < own, numbers(name))):
        yield {"cluster": {"version": floors[name]}}


def _provisioning(seen: Seen) -> Iterator[Overlay]:
    """Nodes that stay come before nodes that Google may take back."""
    for kind in sorted(seen.rows.hardware.gke.provisioning, key=_STEADIEST_FIRST.index):
        yield {"accelerator_pools": {seen.pool: {"provisioning": {"kind": kind}}}}


def _local_ssd(seen: Seen) -> Iterator[Overlay]:
    yield {"accelerator_pools": {seen.pool: {"local_ssd_count": None}}}


def _transport(seen: Seen) -> Iterator[Overlay]:
    """The transport with the numbers that follow from the machine; none; those of the machine."""
    own = seen.preset.serving.transport
    if own is not None:
        bare = {"name": own.name, "compute_domain_nodes": None, "rdma_devices_per_pod": None}
        yield {"serving": {"transport": bare}}
    yield {"serving": {"transport": None}}
    for name in seen.rows.hardware.fabric.transports:
        yield {"serving": {"transport": {"name": name}}}


def _expert_parallel(_seen: Seen) -> Iterator[Overlay]:
    yield {"serving": {"shape": {"expert_parallel": False}}}


def _kv_cache(_seen: Seen) -> Iterator[Overlay]:
    yield {"serving": {"kv_cache": {"dtype": "auto"}}}


def _moe_backend(seen: Seen) -> Iterator[Overlay]:
    if isinstance(seen.preset.serving.engine, VllmEngine):
        known = seen.rows.engine.moe_backends_by_compute_capability.get(seen.rows.hardware.gpu.compute_capability, [])
        for backend in (None, *known):
            yield {"serving": {"engine": {"moe_backend": backend}}}


def _max_sequences(seen: Seen) -> Iterator[Overlay]:
    """Fewer running sequences leave more of the memory to each."""
    sequences = seen.preset.serving.engine.max_sequences // 2
    while sequences:
        yield {"serving": {"engine": {"max_sequences": sequences}}}
        sequences //= 2


def _context(seen: Seen) -> Iterator[Overlay]:
    """What the cache holds, down to half of what the preset serves."""
    tokens = seen.derived.kv_longest_request_tokens // _CONTEXT_STEP_TOKENS * _CONTEXT_STEP_TOKENS
    if 2 * tokens >= seen.preset.serving.context_tokens:
        yield {"serving": {"context_tokens": tokens}}


def _offload(seen: Seen) -> Iterator[Overlay]:
    """The tier's own kind, then the engine's others, each just larger than the GPU's cache or half as large; none."""
    own = seen.preset.serving.kv_cache.offload
    if own.kind == "none":
        return
    if isinstance(own, TieredOffload):
        yield from _smaller_tiers(own)
        return
    room_gib = seen.derived.kv_room_bytes_per_replica / GIB
    above = (math.floor(room_gib / _TIER_STEP_GIB) + 1) * _TIER_STEP_GIB
    for kind in dict.fromkeys([own.kind, *seen.rows.engine.offload.tiers]):
        for gib in dict.fromkeys([above, own.gib_per_replica]):
            yield _tier(kind, gib)
    smaller = own.gib_per_replica // 2
    while smaller:
        yield _tier(own.kind, smaller)
        smaller //= 2
    yield {"serving": {"kv_cache": {"offload": {"kind": "none"}}}}


def _smaller_tiers(own: TieredOffload) -> Iterator[Overlay]:
    """Less of both; local SSD alone; none."""
    share = 2
    while own.host_dram_gib // share:
        sizes = {
            "host_dram_gib_per_replica": own.host_dram_gib // share,
            "local_ssd_gib_per_replica": max(1, own.local_ssd_gib // share),
        }
        yield {"serving": {"kv_cache": {"offload": {"kind": own.kind, **sizes}}}}
        share *= 2
    yield _tier("local_ssd", own.local_ssd_gib)
    yield {"serving": {"kv_cache": {"offload": {"kind": "none"}}}}


def _tier(kind: str, gib: int) -> Overlay:
    return {"serving": {"kv_cache": {"offload": {"kind": kind, "gib_per_replica": gib}}}}


def axes(pool: str) -> tuple[Axis, ...]:
    """Return the choices, in an order in which none needs one that is made later; ``pool`` is the fork's."""
    provisioning, disks = (f"accelerator_pools.{pool}.{key}" for key in ("provisioning", "local_ssd_count"))
    return (
        Axis("cluster.version", ("cluster.version",), _version),
        Axis(provisioning, (provisioning,), _provisioning),
        Axis(disks, (disks,), _local_ssd),
        Axis("serving.transport", ("serving.transport",), _transport),
        Axis("serving.shape.expert_parallel", ("serving.shape.expert_parallel",), _expert_parallel),
        Axis("serving.kv_cache.dtype", ("serving.kv_cache.dtype",), _kv_cache),
        Axis("serving.engine.moe_backend", ("serving.engine.moe_backend",), _moe_backend),
        Axis("serving.engine.max_sequences", ("serving.context_tokens", "serving.engine"), _max_sequences),
        Axis("serving.kv_cache.offload", ("serving.kv_cache.offload",), _offload),
    )


CONTEXT = Axis("serving.context_tokens", ("serving.context_tokens",), _context)
"""The last resort, where no size holds a request of full length: it is less of a model."""
