"""From a stack file to a checked stack: the one way in, for the command line and for the Pulumi program alike.

All problems are collected before any is reported. A key that is wrong is set aside and the preset's own value stands in
for it while the rest is checked, so that five mistakes give five problems in one run.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from stacks.catalog_files import Catalog, load_catalog
from stacks.checks import Candidate, check_all
from stacks.derive import Derived, derive
from stacks.evidence import Feature, Subject, features, unaccepted, unused_acceptances
from stacks.images import ImageReference, image_reference, read_lock
from stacks.merging import Origins, merge, origin_of, without
from stacks.preset_files import compose
from stacks.problems import Problem, ProblemsFound, has_errors, ordered
from stacks.row_lookup import Rows, look_up
from stacks.rows import ImageRow
from stacks.settings import Settings, parse_config
from stacks.spec import Bucket, HuggingFace, Preset
from stacks.typing_problems import validation_problems

__all__ = ["StackSpec", "resolve"]


@dataclass(frozen=True)
class StackSpec:
    """A stack that passed every check: intent, facts, derived numbers, images, evidence."""

    name: str
    settings: Settings
    preset: Preset
    rows: Rows
    derived: Derived
    images: Mapping[str, ImageReference]
    features: tuple[Feature, ...]
    problems: tuple[Problem, ...]

    @property
    def prefix(self) -> str:
        """Start of every cloud resource's name."""
        return f"beamline-{self.name}"


def resolve(stack: str, config: Mapping[str, str], *, where: str, applying: bool) -> StackSpec:
    """Return the checked stack, its ``problems`` holding warnings and notes; raises ``ProblemsFound`` on any error.

    ``config`` is Pulumi's (``settings.pulumi_config`` makes it from a file), ``where`` names the stack file in messages.
    ``applying`` is true when resources are about to be created: placeholders and unresolved digests, which a plan only
    notes, then stop a run against Google.
    """
    values, problems = parse_config(config, where)
    if "preset" not in values:
        raise ProblemsFound(problems)
    catalog = load_catalog()
    overrides = values.get("overrides", {})
    base, origins = _compose(values["preset"], where, problems)
    rows_and_preset = _typed(base, overrides, origins, catalog, where, problems)
    if rows_and_preset is None:
        raise ProblemsFound(problems)
    preset, rows, skip = rows_and_preset
    derived = derive(preset, rows.hardware, rows.model, rows.engine)
    images = _images(preset, rows, catalog, values.get("mirror"))
    candidate = Candidate(stack, values, preset, rows, derived, images, applying)
    problems += [_placed(p, origins, where) for p in check_all(candidate) if not _touches(p.path, skip)]
    found = features(preset, rows.checkpoint.precision, _subject(preset, rows), _speaker(origins, catalog))
    accepted = values.get("accept_unverified", [])
    problems += [*unaccepted(found, accepted, where), *unused_acceptances(found, accepted, where)]
    if has_errors(problems):
        raise ProblemsFound(problems)
    settings = Settings.model_validate(values)
    return StackSpec(stack, settings, preset, rows, derived, images, tuple(found), tuple(ordered(problems)))


def _compose(name: str, where: str, problems: list[Problem]) -> tuple[dict[str, Any], Origins]:
    try:
        return compose(name, key="preset", where=where)
    except ProblemsFound as found:
        raise ProblemsFound([*problems, *found.problems]) from found


def _typed(
    base: Mapping[str, Any],
    overrides: Mapping[str, Any],
    origins: Origins,
    catalog: Catalog,
    where: str,
    problems: list[Problem],
) -> tuple[Preset, Rows, set[str]] | None:
    """Validate types and row names; set wrong overrides aside one round after the other until the rest stands."""
    skip: set[str] = set()
    while True:
        trial: Origins = dict(origins)
        data = merge(base, overrides, trial, where)
        found: list[Problem] = []
        preset = _validate(data, found)
        rows = look_up(preset, catalog, found) if preset else None
        problems += [_placed(p, trial, where) for p in found]
        if preset and rows:
            origins.update(trial)
            return preset, rows, skip
        cleaned = overrides
        for problem in found:
            cleaned = without(cleaned, _to_set_aside(problem))
            skip.add(problem.path)
        if cleaned == overrides:
            return None
        overrides = cleaned


def _to_set_aside(problem: Problem) -> tuple[str, ...]:
    """The override to do without: the value itself; for a missing key or an unknown kind, the section around it."""
    path = tuple(problem.path.split("."))
    return path[:-1] if problem.rule in ("missing-key", "wrong-kind") else path


def _validate(data: Mapping[str, Any], found: list[Problem]) -> Preset | None:
    try:
        return Preset.model_validate(data)
    except ValidationError as error:
        found += validation_problems(error, model=Preset, data=data, where="")
        return None


def _placed(problem: Problem, origins: Origins, default: str) -> Problem:
    """Say which file holds the value, unless the check already did."""
    if problem.where:
        return problem
    path = tuple(problem.path.split("."))
    return Problem(**{**problem.to_json(), "where": origin_of(path, origins) or default})  # type: ignore[arg-type]


def _touches(path: str, skip: set[str]) -> bool:
    return any(path == s or path.startswith(f"{s}.") or s.startswith(f"{path}.") for s in skip)


def _seeder(weights: Bucket | HuggingFace, rows: Rows, catalog: Catalog) -> ImageRow:
    """Buckets are read with Google's tools; the engine's image has the hub's own downloader."""
    return catalog.helper_images.weights_gcs if weights.kind == "bucket" else rows.engine.image


def _images(preset: Preset, rows: Rows, catalog: Catalog, mirror: str | None) -> dict[str, ImageReference]:
    lock = read_lock()
    used = {
        "engine": rows.engine.image,
        "router": rows.release.router_image,
        "weights": _seeder(preset.model.weights, rows, catalog),
    }
    if preset.serving.speculation:
        used["drafter"] = _seeder(preset.serving.speculation.weights, rows, catalog)
    return {role: image_reference(row, mirror=mirror, lock=lock) for role, row in used.items()}


def _subject(preset: Preset, rows: Rows) -> Subject:
    return Subject(
        accelerator_type=rows.hardware.gpu.accelerator_type,
        model=rows.model.name,
        engine=f"{preset.serving.engine.kind} {preset.serving.engine.version}",
        release=f"{preset.serving.router.kind} {preset.serving.router.release}",
    )


def _speaker(origins: Origins, catalog: Catalog) -> Any:
    """Return what each evidence line is about: the composition of the preset file that wrote it."""

    def subject_of(feature: str) -> Subject | None:
        file = origin_of(("evidence", feature), origins)
        name = file.removeprefix("stacks/presets/").removesuffix(".yaml")
        if not file.startswith("stacks/presets/"):
            return None
        preset = Preset.model_validate(compose(name, key="preset", where=file)[0])
        rows = look_up(preset, catalog, [])
        return _subject(preset, rows) if rows else None

    return subject_of
