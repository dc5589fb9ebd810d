"""From a stack file to a checked stack: the one way in, for the command line and for the Pulumi program alike.

All problems are collected before any is reported, whichever file they are in.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError

from stacks.catalog_files import Catalog, load_catalog
from stacks.charts import ChartReference, chart_reference
from stacks.checks import Candidate, check_all
from stacks.composition import Composition, allowed_overrides, check_alone, lay_over, placed
from stacks.derive import derive
from stacks.derived import Derived
from stacks.evidence import Feature, Subject, features, unaccepted, unused_acceptances
from stacks.images import ImageReference, image_reference, read_lock
from stacks.merging import origin_of
from stacks.pools import Pool, accelerator_pools
from stacks.preset_files import compose, preset_of
from stacks.problems import Problem, ProblemsFound, has_errors, ordered, touches
from stacks.reservations import reservation_of
from stacks.roles import Role, roles
from stacks.row_lookup import Rows, look_up
from stacks.rows import ChartRow, DynamoRelease, ImageRow, LlmdRelease
from stacks.settings import STACKS_DIR, Settings, parse_config
from stacks.spec import LocalSsd, PrefillDecode, Preset, WeightSource

__all__ = ["StackSpec", "candidate_of", "known_features", "resolve"]

T = TypeVar("T")


@dataclass(frozen=True)
class StackSpec:
    """A stack that passed every check: intent, facts, derived numbers, images, charts, evidence.

    ``images`` are by role (engine, router, router_proxy, routing_sidecar, weights, drafter, node_agent, local_ssd),
    ``charts`` by what they bring (dra_driver, dynamo, leader_worker_set); what a stack does not use is not in them.
    """

    name: str
    settings: Settings
    preset: Preset
    rows: Rows
    derived: Derived
    images: Mapping[str, ImageReference]
    charts: Mapping[str, ChartReference]
    features: tuple[Feature, ...]
    problems: tuple[Problem, ...]

    @property
    def prefix(self) -> str:
        """Start of every cloud resource's name."""
        return f"beamline-{self.name}"

    @cached_property
    def pools(self) -> tuple[Pool, ...]:
        """The accelerator pools."""
        return accelerator_pools(self.preset, self.rows)

    @property
    def drains(self) -> bool:
        """Whether engine pods move from one pool to another, so that there is room for a pod too many."""
        return any(pool.drains for pool in self.pools)

    def pool_name(self, pool: Pool) -> str:
        """Name of the node pool at GKE, which also writes it on its nodes."""
        return f"{self.prefix}-{pool.name}"

    def reservation_of(self, pool: Pool) -> str | None:
        """Return what the pool's nodes come from; None where that is no reservation."""
        return reservation_of(self.settings.reservation, pool)

    @property
    def system_pool_name(self) -> str:
        """Name of the system node pool, which GKE also writes on its nodes."""
        return f"{self.prefix}-system"

    @property
    def roles(self) -> tuple[Role, ...]:
        """The kinds of pods that serve."""
        return roles(self.preset.serving)


def resolve(stack: str, config: Mapping[str, str], *, where: str, applying: bool, root: Path = STACKS_DIR) -> StackSpec:
    """Return the checked stack, its ``problems`` holding warnings and notes; raises ``ProblemsFound`` on any error.

    ``config`` is Pulumi's (``settings.pulumi_config`` makes it from a file), ``where`` names the stack file in
    messages. ``applying`` is true when resources are about to be created: placeholders and unresolved digests, which a
    plan only notes, then stop a run against Google. ``root`` holds catalog, presets and images.lock.yaml.
    """
    values, problems = parse_config(config, where)
    overrides = allowed_overrides(values.get("overrides", {}), where, problems)
    catalog = _or_problems(problems, lambda: load_catalog(root / "catalog"))
    lock = _or_problems(problems, lambda: read_lock(root / "images.lock.yaml"))
    presets, name = root / "presets", values.get("preset")
    preset = _or_problems(problems, lambda: compose(name, key="preset", where=where, root=presets)) if name else None
    if preset is None or catalog is None:
        raise ProblemsFound([*problems, *check_alone(overrides, where)])
    found = lay_over(*preset, overrides, catalog=catalog, where=where, problems=problems)
    if found is None or lock is None:
        raise ProblemsFound(problems)
    said = found.set_aside | {p.path for p in problems if p.severity == "error"}
    candidate = candidate_of(stack, values, found, catalog, lock, said=said, applying=applying)
    problems += [placed(p, found.origins, where) for p in check_all(candidate) if not touches(p.path, said)]
    known = known_features(found, candidate.derived, catalog, presets)
    accepted = values.get("accept_unverified", [])
    refused = {p.path for p in problems if p.severity == "error"}
    problems = [p for p in problems if p.severity != "warning" or p.path not in refused]
    problems += unaccepted(known, accepted, where, refused=refused)
    if not found.set_aside:  # or a feature may be missing only because its override is
        problems += unused_acceptances(known, accepted, where)
    if has_errors(problems):
        raise ProblemsFound(problems)
    settings = Settings.model_validate(values)
    return StackSpec(
        name=stack,
        settings=settings,
        preset=found.preset,
        rows=found.rows,
        derived=candidate.derived,
        images=candidate.images,
        charts=candidate.charts,
        features=tuple(known),
        problems=tuple(ordered(problems)),
    )


def candidate_of(
    stack: str,
    settings: Mapping[str, Any],
    found: Composition,
    catalog: Catalog,
    lock: Mapping[str, str],
    *,
    said: Collection[str] = (),
    applying: bool = False,
) -> Candidate:
    """Return what checks look at; ``settings`` are the valid ones, ``said`` the paths known to be wrong."""
    derived, mirror = derive(found.preset, found.rows), settings.get("mirror")
    return Candidate(
        stack=stack,
        settings=settings,
        overrides=found.overrides,
        set_aside=frozenset(said),
        preset=found.preset,
        rows=found.rows,
        derived=derived,
        images=_images(found, derived, catalog, mirror, lock),
        charts=_charts(found, catalog, mirror, lock),
        applying=applying,
    )


def _or_problems(problems: list[Problem], read: Callable[[], T]) -> T | None:
    """Return what was read, or None after taking over the problems that stopped it."""
    try:
        return read()
    except ProblemsFound as found:
        problems += found.problems
        return None


def _seeder(weights: WeightSource, rows: Rows, catalog: Catalog) -> ImageRow:
    """Buckets are read with Google's tools; the engine's image has the hub's own downloader."""
    return catalog.helper_images.weights_gcs if weights.kind == "bucket" else rows.engine_image


def _images(
    found: Composition, derived: Derived, catalog: Catalog, mirror: str | None, lock: Mapping[str, str]
) -> dict[str, ImageReference]:
    rows, speculation = found.rows, found.preset.serving.speculation
    used: dict[str, ImageRow] = {"engine": rows.engine_image}
    if isinstance(found.preset.model.storage, LocalSsd):
        used["weights"] = _seeder(found.preset.model.weights, rows, catalog)
        if speculation:
            used["drafter"] = _seeder(speculation.weights, rows, catalog)
    if isinstance(rows.release, LlmdRelease):
        used["router"] = rows.release.router_image
        if derived.proxy_timeout_s is not None:
            used["router_proxy"] = rows.release.proxy.image
        if isinstance(found.preset.serving.shape, PrefillDecode):
            used["routing_sidecar"] = rows.release.routing_sidecar.image
    if rows.transport and rows.transport.node_agent:
        used["node_agent"] = getattr(catalog.helper_images, rows.transport.node_agent)
    if derived.raw_block_gib is not None:
        used["local_ssd"] = catalog.helper_images.weights_gcs  # any image with nsenter: the tools are the node's
    return {role: image_reference(row, mirror=mirror, lock=lock) for role, row in used.items()}


def _charts(
    found: Composition, catalog: Catalog, mirror: str | None, lock: Mapping[str, str]
) -> dict[str, ChartReference]:
    rows, charts = found.rows, catalog.helper_charts
    used: dict[str, ChartRow] = {}
    if rows.transport and rows.transport.compute_domain:
        used["dra_driver"] = charts.dra_driver
    if isinstance(rows.release, DynamoRelease):
        used["dynamo"] = rows.release.platform
    elif found.preset.serving.shape.tensor_parallel > rows.hardware.gpu.count:
        used["leader_worker_set"] = charts.leader_worker_set
    return {role: chart_reference(row, mirror=mirror, lock=lock) for role, row in used.items()}


def _subject(preset: Preset, rows: Rows) -> Subject:
    return Subject(
        accelerator_type=rows.hardware.gpu.accelerator_type,
        model=rows.model.name,
        engine=f"{preset.serving.engine.kind} {preset.serving.engine.version}",
        release=f"{preset.serving.router.kind} {preset.serving.router.release}",
    )


def known_features(found: Composition, derived: Derived, catalog: Catalog, presets: Path) -> list[Feature]:
    """Every feature with its standing; an evidence line is about the preset file that wrote it."""

    @cache
    def subject_of(file: str) -> Subject | None:
        try:
            data, _ = compose(preset_of(file), key="extends", where=file, root=presets)
            preset = Preset.model_validate(data)
        except (ProblemsFound, ValidationError):
            return None  # a part that other presets complete: what its evidence is about cannot be told
        rows = look_up(preset, catalog, [])
        return _subject(preset, rows) if rows else None

    return features(
        found.preset,
        found.rows.checkpoint.precision,
        derived,
        _subject(found.preset, found.rows),
        lambda feature: subject_of(origin_of(("evidence", feature), found.origins)),
    )
