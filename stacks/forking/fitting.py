"""Fits a preset to other hardware: sizes are tried, and judged by the checks that plan runs.

No number is worked out here that stacks/derive.py knows, and no rule is repeated: a choice is right when the checks say
least about it, the preset's own choice first.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic import ValidationError

from stacks.catalog_files import Catalog
from stacks.checks import check_all
from stacks.cloud import PLACEHOLDER_SETTINGS, placeholder_reservation
from stacks.composition import Composition
from stacks.derive import derive
from stacks.derived import Derived
from stacks.forking.axes import CONTEXT, Axis, Overlay, Seen, axes, on_hardware
from stacks.merging import merge
from stacks.problems import Problem, touches
from stacks.resolve import candidate_of
from stacks.row_lookup import look_up
from stacks.rows import HardwareRow
from stacks.spec import PrefillDecode, Preset
from stacks.typing_problems import validation_problems
from stacks.wording import some

__all__ = ["Fitted", "Judge", "Size", "Unfit", "first_settings", "fit"]

Data = Mapping[str, Any]
_PREFILL_DECODE = "prefill_decode"


@dataclass(frozen=True)
class Judge:
    """Asks what plan would say of a preset's data."""

    catalog: Catalog
    lock: Mapping[str, str]

    def seen(self, data: Data) -> Seen | None:
        """Return the typed preset with its rows and derived numbers; None when it is not even that."""
        try:
            preset = Preset.model_validate(data)
        except ValidationError:
            return None
        rows = look_up(preset, self.catalog, [])
        return Seen(preset, rows, derive(preset, rows), self.catalog) if rows else None

    def findings(self, data: Data) -> list[Problem]:
        """Return errors and warnings, as plan would with the placeholders of a new stack file."""
        try:
            preset = Preset.model_validate(data)
        except ValidationError as error:
            return validation_problems(error, model=Preset, data=data, where="")
        problems: list[Problem] = []
        rows = look_up(preset, self.catalog, problems)
        if rows is None:
            return problems
        found = Composition({}, preset, rows, {}, frozenset())
        settings = first_settings(preset, rows.hardware)
        candidate = candidate_of("fork", settings, found, self.catalog, self.lock)
        return [problem for problem in check_all(candidate) if problem.severity != "note"]


def first_settings(preset: Preset, row: HardwareRow) -> dict[str, str]:
    """Return the settings a new stack starts with: placeholders, in a zone that was seen to have the machine type."""
    settings = dict(PLACEHOLDER_SETTINGS)
    if not row.locations.offers(settings["zone"]):
        zones = [(region, f"{region}-{letters[0]}") for region, letters in row.locations.zones.items() if letters]
        settings |= dict(zip(("region", "zone"), zones[0], strict=True)) if zones else {}
    if any(pool.provisioning.kind == "reservation" for pool in preset.accelerator_pools.values()):
        settings["reservation"] = placeholder_reservation(row.gke.reservation_scope)
    return settings


@dataclass(frozen=True)
class Size:
    """One way to cut the model: which weights, in which shape, over how many GPUs."""

    checkpoint: str
    kind: str
    tensor_parallel: int


@dataclass(frozen=True)
class Fitted:
    """A preset's data that plans on the hardware; ``reasons`` say by path what the checks had against the old value."""

    data: dict[str, Any]
    reasons: Mapping[str, str]
    warnings: tuple[Problem, ...]


@dataclass(frozen=True)
class Unfit:
    """What speaks against every size that was tried, in the order of trying."""

    tried: dict[Size, list[Problem]] = field(default_factory=dict)

    def problems(self) -> list[tuple[Problem, list[Size]]]:
        """Return each thing that speaks against some sizes once, as it was said of the size that came nearest."""
        found: dict[tuple[str, str, str], list[tuple[Problem, Size]]] = {}
        for size, problems in self.tried.items():
            for problem in problems:
                found.setdefault((problem.rule, problem.path, repr(problem.value)), []).append((problem, size))
        return [(min(said, key=self._distance)[0], [size for _, size in said]) for said in found.values()]

    def why_not(self, size: Size | None = None, *, checkpoint: str = "") -> str:
        """Say why one size, or every size of one checkpoint, was not taken; nothing when none was tried."""
        said = [
            (problem, tried)
            for tried, problems in self.tried.items()
            for problem in problems
            if size in (None, tried) and checkpoint in ("", tried.checkpoint)
        ]
        of_weights = [pair for pair in said if checkpoint and pair[0].path.startswith("model.")]
        return min(of_weights or said, key=self._distance)[0].why if said else ""

    def _distance(self, said: tuple[Problem, Size]) -> tuple[int, int]:
        """How far a size was from working: by what spoke against it, then by how much of the model a GPU holds."""
        return len(self.tried[said[1]]), -said[1].tensor_parallel


def fit(parent: Data, base: Seen, row: HardwareRow, judge: Judge) -> Fitted | Unfit:
    """Return ``parent``, a preset's whole data, laid out for other hardware; or why no size of it fits.

    ``base`` is what the preset stands on as it is.
    """
    unfit, choices = Unfit(), axes(base.pool)
    for size in _sizes(base, row):
        fitted = _tried(parent, base, row, size, choices, judge, unfit)
        if fitted:
            return fitted
    for size, problems in list(unfit.tried.items()):
        if all(touches(problem.path, [CONTEXT.path]) for problem in problems):
            fitted = _tried(parent, base, row, size, (*choices, CONTEXT), judge, unfit)
            if fitted:
                return fitted
    return unfit


def _tried(
    parent: Data, base: Seen, row: HardwareRow, size: Size, choices: Iterable[Axis], judge: Judge, unfit: Unfit
) -> Fitted | None:
    """Return the preset in this size with everything else settled; None, and a note in ``unfit``, if errors stay."""
    data, reasons = _cut(parent, base, row, size, judge)
    found = judge.findings(data)
    for axis in choices:
        data, found = _settled(axis, data, found, judge, reasons)
    errors = [problem for problem in found if problem.severity == "error"]
    if errors:
        unfit.tried[size] = errors
        return None
    return Fitted(data, reasons | _reasons(unfit, size, base, row), tuple(found))


def _sizes(base: Seen, row: HardwareRow) -> Iterator[Size]:
    """Every size worth a look, the preset's own first: its weights, its shape, its tensor parallel size."""
    shape = base.preset.serving.shape
    own = shape.tensor_parallel
    legal = sorted(base.rows.model.engines[base.preset.serving.engine.kind].tensor_parallel)
    within = [size for size in legal if size <= row.gpu.count]
    order = [size for size in within if size >= own] + [size for size in reversed(within) if size < own]
    spanning = [size for size in legal if size > row.gpu.count]
    if base.derived.nodes_per_replica > 1 and own in spanning:
        order = [own, *order, *(size for size in spanning if size != own)]
    else:
        order += spanning
    kinds = dict.fromkeys([shape.kind, "aggregated"])
    for checkpoint in _checkpoints(base):
        for kind in kinds:
            for size in order:
                yield Size(checkpoint, kind, size)


def _checkpoints(base: Seen) -> list[str]:
    """The preset's own weights, then more exact ones, then smaller ones; only a bucket can hold others."""
    own, weights = base.preset.model.checkpoint, base.preset.model.weights
    if weights.kind != "bucket":
        return [own]
    rows = base.rows.model.checkpoints
    by_size = sorted(rows, key=lambda name: rows[name].weights_bytes)
    larger = [name for name in by_size if rows[name].weights_bytes > rows[own].weights_bytes]
    smaller = [name for name in reversed(by_size) if rows[name].weights_bytes < rows[own].weights_bytes]
    return [own, *larger, *smaller]


def _cut(parent: Data, base: Seen, row: HardwareRow, size: Size, judge: Judge) -> tuple[dict[str, Any], dict[str, str]]:
    """Lay one size over the preset: its GPUs kept, on as many of the new nodes as they fill, no GPU idle."""
    shape, pools = _with_replicas(base, size, 1), on_hardware(parent["accelerator_pools"], row.machine_type)
    overlay: Overlay = {
        "accelerator_pools": pools,
        "model": _weights(base, size.checkpoint),
        "serving": {"shape": shape},
    }
    data = merge(parent, overlay, {}, "")
    seen = judge.seen(data)
    if seen is None:
        return data, {}
    gpus = base.preset.nodes_of("serving") * base.rows.hardware.gpu.count
    nodes = _nodes(math.ceil(gpus / row.gpu.count), seen.derived, row, pairs=size.kind == _PREFILL_DECODE)
    replicas = max(1, nodes // seen.derived.nodes_per_replica * seen.derived.replicas_per_node)
    sized: Overlay = {
        "accelerator_pools": {base.pool: {"nodes": nodes}},
        "serving": {"shape": _with_replicas(base, size, replicas)},
    }
    kept = f"{some(gpus, 'GPU')} of the preset, {row.gpu.count} a node"
    return merge(data, sized, {}, ""), {
        **{f"accelerator_pools.{name}": "a fork stands on one pool" for name, pool in pools.items() if pool is None},
        f"accelerator_pools.{base.pool}.machine_type": "asked for",
        f"accelerator_pools.{base.pool}.nodes": kept,
        "serving.shape": f"{some(nodes * row.gpu.count, 'GPU')} in replicas of {size.tensor_parallel}",
    }


def _nodes(wanted: int, derived: Derived, row: HardwareRow, *, pairs: bool) -> int:
    """Whole replicas, two of them where prefill is apart from decode, and no more than an NVLink domain has."""
    step = derived.nodes_per_replica
    least = 2 * step if pairs and (step > 1 or derived.replicas_per_node == 1) else step
    nodes = max(least, math.ceil(wanted / step) * step)
    if row.fabric.placement:
        nodes = max(step, min(nodes, row.fabric.nvlink_domain_nodes // step * step))
    return nodes


def _with_replicas(base: Seen, size: Size, replicas: int) -> Overlay:
    shape = base.preset.serving.shape
    cut: Overlay = {"kind": size.kind, "tensor_parallel": size.tensor_parallel}
    if size.kind != _PREFILL_DECODE:
        return {**cut, "replicas": replicas, "expert_parallel": shape.expert_parallel}
    if isinstance(shape, PrefillDecode):
        share = shape.prefill_replicas / (shape.prefill_replicas + shape.decode_replicas)
        prefill = min(max(1, round(share * replicas)), max(1, replicas - 1))
        cut |= {"prefill_replicas": prefill, "decode_replicas": max(1, replicas - prefill)}
    return cut


def _weights(base: Seen, checkpoint: str) -> Overlay:
    """Name the checkpoint, and beside the old one in the bucket the folder that holds it."""
    own, weights = base.preset.model.checkpoint, base.preset.model.weights
    if checkpoint == own or weights.kind != "bucket":
        return {"checkpoint": checkpoint}
    folder, _, last = weights.prefix.rpartition("/")
    place = f"{folder}/{checkpoint}" if folder and last == own else f"{base.preset.model.name}/{checkpoint}"
    return {"checkpoint": checkpoint, "weights": {"prefix": place}}


def _settled(
    axis: Axis, data: dict[str, Any], found: list[Problem], judge: Judge, reasons: dict[str, str]
) -> tuple[dict[str, Any], list[Problem]]:
    """Choose on one axis what the checks say least about; what they say of the value that stands is the reason.

    ``found`` is what they say of ``data``; returned is the choice with what they say of it.
    """
    before, seen = _about(axis, found), judge.seen(data)
    least = _weight(before)
    best = (data, found)
    for option in axis.options(seen) if before and seen else ():
        tried = merge(data, option, {}, "")
        said = judge.findings(tried)
        weight = _weight(_about(axis, said))
        if weight < least:
            best, least = (tried, said), weight
            reasons[axis.path] = before[0].why
        if least == (0, 0):
            break
    return best


def _about(axis: Axis, problems: Iterable[Problem]) -> list[Problem]:
    return [problem for problem in problems if touches(problem.path, axis.speaks_at)]


def _weight(problems: Iterable[Problem]) -> tuple[int, int]:
    found = [problem.severity for problem in problems]
    return found.count("error"), found.count("warning")


def _reasons(unfit: Unfit, size: Size, base: Seen, row: HardwareRow) -> dict[str, str]:
    """Why the preset's own weights, or its own tensor parallel size, are not kept."""
    own, shape = base.preset.model.checkpoint, base.preset.serving.shape
    reasons = {}
    if size.checkpoint != own:
        reasons["model"] = unfit.why_not(checkpoint=own)
    if size.kind != shape.kind:
        reasons["serving.shape"] = unfit.why_not(Size(size.checkpoint, shape.kind, size.tensor_parallel))
    if size.tensor_parallel != shape.tensor_parallel:
        said = unfit.why_not(Size(size.checkpoint, size.kind, shape.tensor_parallel))
        reasons["serving.shape.tensor_parallel"] = said or f"a replica stays within a node of {row.gpu.count} GPUs"
    return reasons
