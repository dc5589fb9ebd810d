"""Axes of a stack, read from the typed unions and the catalog, and the stack file of any choice along them.

A new machine type, checkpoint, transport, router stack, engine, tier or kind of shape is on its axis as soon as the
catalog or ``stacks.spec`` has it. What is not an axis (sizes, counts, versions) is chosen so that it does not stand in
the way: it comes from a shipped preset of that kind, from the catalog, or is the least that the schema takes.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

from stacks.catalog_files import Catalog, load_catalog
from stacks.rows import EngineRow, ReleaseRow
from stacks.versions import numbers
from tests.fuzz.keys import Path, at, least, members
from tests.fuzz.sound import COMPOSED, at_path, settings_for

__all__ = ["AXES", "KEYS", "NONE", "Choice", "composed"]

Choice = Mapping[str, str]
"""Axis -> value."""
NONE = "none"
SPANS = {"one": 1, "two": 2}
_CONTEXT_TOKENS, _SEQUENCES = 8192, 16
"""Little enough for the smallest GPU: how long a context fits, and how many of them, is no axis."""

KEYS: Mapping[str, str] = {
    "hardware": "accelerator_pools",
    "router": "serving.router",
    "engine": "serving.engine",
    "storage": "model.storage",
    "weights": "model",
    "KV tier": "serving.kv_cache.offload",
    "shape": "serving.shape.kind",
    "transport": "serving.transport",
    "nodes a replica": "serving.shape.tensor_parallel",
    "monitoring": "monitoring",
}
"""Axis -> the key that chooses along it, or the section it is in."""

_TIER_GIB = 8


def _kinds(axis: str) -> dict[str, Any]:
    """The members of the union behind an axis."""
    schema = at(tuple(KEYS[axis].removesuffix(".kind").split(".")), {})
    if schema is None:
        raise LookupError(f"the schemas have no {KEYS[axis]}")
    return members(schema)


def _weights(catalog: Catalog) -> dict[str, tuple[str, str]]:
    return {
        f"{model.name} {checkpoint}": (model.name, checkpoint)
        for model in catalog.models.values()
        for checkpoint in model.checkpoints
    }


@cache
def _axes() -> dict[str, tuple[str, ...]]:
    catalog = load_catalog()
    named = {
        "hardware": tuple(sorted(catalog.hardware, key=lambda name: [*map(_natural, name.split("-"))])),
        "weights": tuple(_weights(catalog)),
        "transport": (NONE, *sorted(catalog.transports)),
        "nodes a replica": tuple(SPANS),
    }
    return {axis: named[axis] if axis in named else tuple(_kinds(axis)) for axis in KEYS}


def _natural(part: str) -> tuple[int, str]:
    return (int(part), "") if part.isdigit() else (0, part)


AXES: Mapping[str, tuple[str, ...]] = _axes()


def _section(path: Path, kind: str, schema: Any) -> dict[str, Any]:
    """A section of that kind with values that make sense: a preset's, or else the least that the schema takes."""
    for preset in COMPOSED.values():
        section = at_path(preset, path)
        if section is not None and section["kind"] == kind:
            return copy.deepcopy(section)
    return dict(least(schema))


def _of(axis: str, choice: Choice) -> dict[str, Any]:
    path = tuple(KEYS[axis].removesuffix(".kind").split("."))
    return _section(path, choice[axis], _kinds(axis)[choice[axis]])


def _newest(rows: Iterable[Any], kind: str) -> Any:
    return max((row for row in rows if row.kind == kind), key=lambda row: numbers(row.version))


def _release(catalog: Catalog, kind: str, engine: EngineRow) -> ReleaseRow:
    """The newest release of a router stack that runs the engine; the newest one when none does."""
    releases = [row for row in catalog.releases.values() if engine.version in row.engines.get(engine.kind, [])]
    return _newest([*releases] if any(row.kind == kind for row in releases) else catalog.releases.values(), kind)


def _kernel(engine: EngineRow, precision: str, compute_capability: str) -> str | None:
    """The NVFP4 kernel that a GPU needs to be told; none for other weights."""
    known = engine.moe_backends_by_compute_capability.get(compute_capability, [])
    return known[0] if precision == "nvfp4" and known else None


def composed(choice: Choice) -> dict[str, Any]:
    """Return the config section of the stack file that asks for ``choice``, key by key."""
    catalog = load_catalog()
    hardware = catalog.hardware[choice["hardware"]]
    model_name, checkpoint = _weights(catalog)[choice["weights"]]
    model, gpus = catalog.models[model_name], hardware.gpu.count
    engine_row = _newest(catalog.engines.values(), choice["engine"])
    support = model.engines.get(engine_row.kind)
    sizes = [size for size in (support.tensor_parallel if support else []) if size <= gpus]
    span = SPANS[choice["nodes a replica"]]
    size = max(sizes, default=gpus) if span == 1 else span * gpus

    engine = _of("engine", choice) | {"version": engine_row.version, "max_sequences": _SEQUENCES}
    if "moe_backend" in _kinds("engine")[choice["engine"]]["properties"]:
        precision = model.checkpoints[checkpoint].precision
        engine["moe_backend"] = _kernel(engine_row, precision, hardware.gpu.compute_capability)
    shape = _of("shape", choice)
    replicas = {key: 1 for key in shape if key.endswith("replicas")}
    shape |= {**replicas, "tensor_parallel": size, "expert_parallel": False}
    transport = choice["transport"]
    overrides = {
        "system_pool": {"machine_type": max(catalog.system, key=lambda name: catalog.system[name].machine.vcpus)},
        "accelerator_pools": {
            "main": {
                "machine_type": hardware.machine_type,
                "nodes": math.ceil(len(replicas) * size / gpus),
                "provisioning": {"kind": hardware.gke.provisioning[0]},
            }
        },
        "model": {
            "name": model_name,
            "checkpoint": checkpoint,
            "weights": {"kind": "bucket", "bucket": "acme-weights", "prefix": f"{model_name}/{checkpoint}"},
            "storage": _of("storage", choice),
        },
        "serving": {
            "router": _of("router", choice) | {"release": _release(catalog, choice["router"], engine_row).version},
            "engine": engine,
            "shape": shape,
            "transport": None if transport == NONE else {"name": transport},
            "context_tokens": _CONTEXT_TOKENS,
            "kv_cache": {"dtype": "auto", "block_size_tokens": 64, "offload": _tier(choice)},
        },
        "monitoring": _of("monitoring", choice),
    }
    return {**settings_for(overrides), "beamline:overrides": overrides}


def _tier(choice: Choice) -> dict[str, Any]:
    """A small tier of each kind, which every engine takes as one: how large one may be is no axis."""
    tier = least(_kinds("KV tier")[choice["KV tier"]])
    return {key: _TIER_GIB if key.endswith("gib_per_replica") else value for key, value in tier.items()}
