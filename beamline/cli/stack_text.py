"""How a checked stack reads: summary, evidence and derived numbers, for people and for programs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from rich.console import RenderableType
from rich.table import Table

from beamline.cli.output import pairs, table
from stacks import Problem, StackSpec
from stacks.memory import GIB

__all__ = ["counted", "derived_table", "evidence_json", "evidence_table", "summary"]


def counted(problems: Sequence[Problem]) -> str:
    """Count problems by severity: ``1 error, 2 notes``."""
    found = Counter(problem.severity for problem in problems)
    parts = [f"{found[s]} {s}{'' if found[s] == 1 else 's'}" for s in ("error", "warning", "note") if found[s]]
    return ", ".join(parts) or "no problems"


def summary(spec: StackSpec) -> Table:
    """Return what the stack is, in a few lines: hardware, nodes, price first."""
    preset, rows, serving = spec.preset, spec.rows, spec.preset.serving
    engine, router, shape = serving.engine, serving.router, serving.shape
    experts = ", expert parallel" if shape.expert_parallel else ""
    context = f"context of {serving.context_tokens:,} tokens"
    lines = [
        ("preset", f"{spec.settings.preset}: {preset.description}"),
        ("place", f"project {spec.settings.project}, {spec.settings.zone}"),
        ("hardware", _hardware(spec)),
        ("price", _price(spec)),
        ("model", f"{rows.model.title}, {rows.checkpoint.precision}, {context}"),
        ("engine", f"{engine.kind} {engine.version}, {_replicas(spec)}{experts}"),
        ("router", f"{router.kind} {router.release}, {router.gateway.gateway_class}"),
    ]
    return pairs(lines)


def _replicas(spec: StackSpec) -> str:
    """Return how many replicas of which size, by role where there are several."""
    nodes = spec.derived.nodes_per_replica
    size = f"{spec.preset.serving.shape.tensor_parallel} GPU{f' over {nodes} nodes' if nodes > 1 else ''}"
    if len(spec.roles) == 1:
        return f"{spec.derived.replicas} x {size}"
    return ", ".join(f"{role.replicas} {role.name} x {size}" for role in spec.roles)


def _hardware(spec: StackSpec) -> str:
    gpu, pool, system = spec.rows.hardware.gpu, spec.preset.accelerator_pool, spec.preset.system_pool
    gpus = f"{gpu.count} x {gpu.model}, {gpu.memory_gb_per_gpu} GB each"
    nodes = f"{pool.nodes} x {pool.machine_type} ({gpus}), {pool.provisioning.kind.replace('_', ' ')}"
    return f"{nodes}; {system.nodes} x {system.machine_type} for routers"


def _price(spec: StackSpec) -> str:
    price, total = spec.rows.hardware.price, spec.derived.usd_per_hour
    if total is None:
        return "unknown: the catalog has no price of this machine type"
    return f"{total:.2f} USD/h for the GPU nodes, {price.region} ({price.source}, {price.as_of}); all else comes on top"


def evidence_json(spec: StackSpec) -> list[dict[str, Any]]:
    """Return every feature with its standing."""
    return [
        {"feature": f.name, "status": f.status, "as_of": f.as_of, "source": f.source, "note": f.note}
        for f in spec.features
    ]


def evidence_table(spec: StackSpec) -> RenderableType:
    """Return every feature and how it is known to work."""
    rows = [(f.name, f.status, f.as_of, "; ".join(filter(None, (f.source, f.note)))) for f in spec.features]
    return table(("feature", "status", "as of", "source"), rows)


def derived_table(spec: StackSpec) -> RenderableType:
    """Return every derived number with unit and formula."""
    rows = [
        (str(line["name"]), _amount(line["value"], str(line["unit"])), str(line["unit"]), str(line["formula"]))
        for line in spec.derived.explained()
    ]
    return table(("number", "value", "unit", "formula"), rows, right=("value",))


def _amount(value: object, unit: str) -> str:
    if not isinstance(value, int | float) or isinstance(value, bool):
        return "unknown" if value is None else str(value)
    text = str(value) if unit == "port" else f"{value:,}"
    return f"{text} ({value / GIB:,.1f} GiB)" if unit == "bytes" and value >= GIB else text
