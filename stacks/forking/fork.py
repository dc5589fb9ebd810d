"""From a preset, a name and perhaps a machine type to the files of a fork."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from stacks.catalog_files import Catalog, load_catalog
from stacks.composition import Composition, lay_over
from stacks.derive import derive
from stacks.evidence import Feature
from stacks.forking.axes import Seen, on_hardware
from stacks.forking.fitting import Fitted, Judge, Size, Unfit, first_settings, fit
from stacks.forking.names import name_problems, near_miss, taken
from stacks.forking.skeleton import row_file, row_text
from stacks.forking.texts import Change, preset_text, stack_text, waiting_text
from stacks.images import read_lock
from stacks.merging import Origins, difference, merge
from stacks.preset_files import compose
from stacks.problems import Problem, ProblemsFound
from stacks.resolve import known_features
from stacks.settings import STACKS_DIR, stack_file
from stacks.wording import some

__all__ = ["Change", "Fork", "fork"]

_WHERE = "beamline fork"


@dataclass(frozen=True)
class Fork:
    """What a fork is made of.

    ``files`` are paths below stacks/ with their text; none of them holds anybody's work. ``changes`` is what was
    derived anew, ``unverified`` what nobody is known to have run on this stack and its stack file accepts.
    ``problems`` are warnings, and the columns that the hardware's row still lacks: then there is no stack file yet.
    """

    name: str
    preset: str
    hardware: str | None
    files: Mapping[str, str]
    changes: tuple[Change, ...]
    unverified: tuple[Feature, ...]
    problems: tuple[Problem, ...]
    waits: bool = False
    """Whether the hardware's row has to be filled in before sizes can be derived."""


def fork(preset: str, name: str, hardware: str | None, root: Path = STACKS_DIR) -> Fork:
    """Return the fork; raises ``ProblemsFound`` with everything that stands in its way.

    ``hardware`` is a machine type, or None for a copy; ``root`` is the folder stacks/ to read.
    """
    catalog, lock = load_catalog(root / "catalog"), read_lock(root / "images.lock.yaml")
    problems, waiting = name_problems(name, hardware, catalog), ""
    try:
        parent, origins = compose(preset, key="PRESET", where=_WHERE, root=root / "presets")
    except ProblemsFound as found:
        problems += [] if problems else taken(root, name, replaceable=None)
        raise ProblemsFound([*problems, *found.problems]) from found
    if hardware:
        waiting = waiting_text(preset, on_hardware(parent.get("accelerator_pools"), hardware), hardware)
    if not problems:
        problems += taken(root, name, replaceable=waiting or None)
    if problems:
        raise ProblemsFound(problems)
    if hardware is not None and hardware not in catalog.hardware:
        return _waiting(preset, name, hardware, waiting, catalog, root)
    whole = lay_over(parent, origins, {}, catalog=catalog, where=_WHERE, problems=problems)
    if whole is None:
        raise ProblemsFound(problems)
    base = Seen(whole.preset, whole.rows, derive(whole.preset, whole.rows), catalog)
    judge = Judge(catalog, lock)
    fitted = _fitted(parent, base, hardware, judge)
    return _made(preset, name, hardware, (parent, origins), fitted, judge, root)


def _fitted(parent: Mapping[str, Any], base: Seen, hardware: str | None, judge: Judge) -> Fitted:
    if hardware is None:
        return Fitted(dict(parent), {}, ())
    result = fit(parent, base, judge.catalog.hardware[hardware], judge)
    if isinstance(result, Unfit):
        raise ProblemsFound(list(_why_not(result, base, hardware)))
    return result


def _why_not(unfit: Unfit, base: Seen, hardware: str) -> Iterator[Problem]:
    """One problem for all that was tried, and one for each thing that spoke against some of it."""
    model = base.rows.model.title
    yield Problem(
        rule="fork-does-not-fit",
        path="--hardware",
        value=hardware,
        why=f"no size of {model} works there with this preset; tried: {_listed(unfit.tried)}",
        allowed="hardware on which one of the preset's checkpoints fits",
        remedy="choose other hardware, or change the preset where the problems beside this one say so",
        where=_WHERE,
        source="the checks of plan, one by one",
    )
    for problem, sizes in unfit.problems():
        against = "all that was tried" if len(sizes) == len(unfit.tried) else _listed(sizes)
        yield replace(problem, why=f"{problem.why} (speaks against {against})", where=problem.where or _WHERE)


def _listed(sizes: Iterable[Size]) -> str:
    """Write sizes as features do: ``fp8 tp1, tp2; nvfp4 tp4``."""
    by_weights: dict[tuple[str, str], list[int]] = {}
    for size in sizes:
        by_weights.setdefault((size.checkpoint, size.kind), []).append(size.tensor_parallel)
    return "; ".join(
        f"{checkpoint} {', '.join(f'tp{tp}' for tp in sorted(tps))}{' prefill_decode' if kind != 'aggregated' else ''}"
        for (checkpoint, kind), tps in by_weights.items()
    )


def _waiting(preset: str, name: str, hardware: str, waiting: str, catalog: Catalog, root: Path) -> Fork:
    """A preset for hardware that has no row, or one that is not filled in: it waits, and so does whoever plans it."""
    row = row_file(hardware)
    files = {f"presets/{name}.yaml": waiting}
    missing = catalog.unfinished.get(hardware)
    if missing is None:
        text, missing = row_text(hardware, catalog.hardware_columns)
        files = {row: text, **files}
    return Fork(
        name=name,
        preset=preset,
        hardware=hardware,
        files={path: text for path, text in files.items() if not (root / path).exists()},
        changes=(),
        unverified=(),
        problems=(*missing, *near_miss(hardware, catalog)),
        waits=True,
    )


def _made(
    preset: str,
    name: str,
    hardware: str | None,
    parent: tuple[Mapping[str, Any], Origins],
    fitted: Fitted,
    judge: Judge,
    root: Path,
) -> Fork:
    base, origins = parent
    data = fitted.data
    seen = judge.seen(data)
    if seen is None:
        raise ProblemsFound(judge.findings(data))
    data = {
        **data,
        "description": _description(seen, preset) if hardware else f"Copy of {preset}: {data['description']}",
    }
    overlay = difference(base, data)
    laid = dict(origins)
    merge(base, overlay, laid, f"stacks/presets/{name}.yaml")
    known = known_features(
        Composition({}, seen.preset, seen.rows, laid, frozenset()), seen.derived, judge.catalog, root / "presets"
    )
    unverified = tuple(feature for feature in known if feature.status == "unverified")
    changes = tuple(_changes(base, overlay, fitted.reasons))
    settings, accepted = first_settings(seen.preset, seen.rows.hardware), [feature.name for feature in unverified]
    files = {
        f"presets/{name}.yaml": preset_text(preset, hardware, overlay, changes),
        stack_file(name, root).name: stack_text(name, settings, accepted),
    }
    warnings = tuple(replace(warning, where=f"stacks/presets/{name}.yaml") for warning in fitted.warnings)
    return Fork(name, preset, hardware, files, changes, unverified, warnings)


def _description(seen: Seen, preset: str) -> str:
    """Say what the fork is: the preset's own words are about other hardware, or about itself."""
    pool, serving, rows = seen.preset.accelerator_pools[seen.pool], seen.preset.serving, seen.rows
    replicas = some(seen.derived.replicas, "replica")
    size = f"{replicas} of {some(serving.shape.tensor_parallel, 'GPU')}"
    return (
        f"Fork of {preset}: {rows.model.name} {seen.preset.model.checkpoint} on {pool.nodes} x {pool.machine_type} "
        f"({rows.hardware.gpu.count} x {rows.hardware.gpu.model}); {serving.router.kind} router, "
        f"{serving.engine.kind}, {size}"
    )


def _changes(
    base: Mapping[str, Any], overlay: Mapping[str, Any], reasons: Mapping[str, str], at: str = ""
) -> Iterator[Change]:
    """Every key that differs, with what it was; what a new kind of section says is one change."""
    for key, value in overlay.items():
        path, old = f"{at}{key}", base.get(key)
        if path == "description":
            continue
        if (
            isinstance(value, Mapping)
            and isinstance(old, Mapping)
            and old.get("kind") == value.get("kind", old.get("kind"))
        ):
            yield from _changes(old, value, reasons, f"{path}.")
        else:
            yield Change(path, old, value, _reason(path, reasons))


def _reason(path: str, reasons: Mapping[str, str]) -> str:
    """The reason given for the path, or for the section it is in."""
    while path not in reasons:
        if "." not in path:
            return ""
        path = path.rpartition(".")[0]
    return reasons[path]
