"""Finds the catalog rows a composition names; a name that is not in the catalog is a problem, not a KeyError."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeVar

from stacks.catalog_files import Catalog
from stacks.problems import Problem
from stacks.rows import (
    Autoscaling,
    Checkpoint,
    ClientRow,
    ContainerUser,
    Drafter,
    DynamoRelease,
    EngineImage,
    EngineKind,
    EngineRow,
    HardwareRow,
    ModelRow,
    ModelSupport,
    ReleaseRow,
    SystemMachineRow,
    TransportRow,
    WeightStorage,
)
from stacks.spec import Preset
from stacks.typing_problems import nearest
from stacks.versions import numbers, older

__all__ = ["Rows", "look_up"]

Row = TypeVar("Row")


@dataclass(frozen=True)
class Rows:
    """The facts one stack is built on; ``hardware`` is what serves, ``pools`` has the machine of each pool by name."""

    hardware: HardwareRow
    pools: Mapping[str, HardwareRow]
    system: SystemMachineRow
    model: ModelRow
    checkpoint: Checkpoint
    engine: EngineRow
    release: ReleaseRow
    drafter: Drafter | None
    transport: TransportRow | None
    weight_storage: WeightStorage
    autoscaling: Autoscaling
    clients: Mapping[str, ClientRow]
    engine_image: EngineImage
    engine_user: ContainerUser

    @property
    def claims_network(self) -> bool:
        """Whether pods ask for what only the accelerator network has."""
        transport = self.transport
        return transport is not None and (transport.compute_domain or transport.rdma_device_class is not None)

    def network_profile(self, row: HardwareRow) -> str | None:
        """Networks that GKE makes between the accelerators of a pool; None where nothing of the stack would use them.

        Machines that share NVLink between nodes are documented with these networks alone, whatever pods ask for.
        """
        used = (self.claims_network and self.runs_on(row)) or row.fabric.nvlink_domain_nodes > 1
        return row.fabric.network_profile if used else None

    def runs_on(self, row: HardwareRow) -> bool:
        """Whether the machine has the wires of the stack's transport."""
        return self.transport is not None and self.transport.name in row.fabric.transports


def look_up(preset: Preset, catalog: Catalog, problems: list[Problem]) -> Rows | None:
    """Return all rows, or None after adding a problem for each name that has none."""
    serving = preset.serving
    pools = _pools(preset, catalog, problems)
    serves = next((name for name, pool in preset.accelerator_pools.items() if pool.use == "serving"), None)
    if serves is None:
        problems.append(_none_serves(preset))
    system = _find(catalog.system, preset.system_pool.machine_type, "system_pool.machine_type", problems)
    model = _find(catalog.models, preset.model.name, "model.name", problems)
    release = _find(catalog.releases, serving.router.release, "serving.router.release", problems, serving.router.kind)
    engine = _engine(preset, model, catalog, problems)
    checkpoint = _find(model.checkpoints, preset.model.checkpoint, "model.checkpoint", problems) if model else None
    drafter = transport = None
    if model and serving.speculation:
        drafter = _drafter(model, serving.speculation.drafter, serving.engine.kind, problems)
    if serving.transport is not None:
        transport = _find(catalog.transports, serving.transport.name, "serving.transport.name", problems)
    run = _run_from(engine, release, catalog, problems) if engine and release else None
    if pools is None or serves is None:
        return None
    if not (system and model and checkpoint and engine and release and run):
        return None
    if (serving.speculation and not drafter) or (serving.transport is not None and not transport):
        return None
    return Rows(
        pools[serves],
        pools,
        system,
        model,
        checkpoint,
        engine,
        release,
        drafter,
        transport,
        catalog.weight_storage,
        catalog.autoscaling,
        catalog.clients,
        *run,
    )


def _pools(preset: Preset, catalog: Catalog, problems: list[Problem]) -> dict[str, HardwareRow] | None:
    found = {
        name: _hardware(pool.machine_type, f"accelerator_pools.{name}.machine_type", catalog, problems)
        for name, pool in preset.accelerator_pools.items()
    }
    rows = {name: row for name, row in found.items() if row is not None}
    return rows if len(rows) == len(found) else None


def _hardware(machine_type: str, path: str, catalog: Catalog, problems: list[Problem]) -> HardwareRow | None:
    """Hardware whose row is not filled in yet says what is missing, column by column."""
    if machine_type in catalog.unfinished:
        problems += catalog.unfinished[machine_type]
        return None
    return _find(catalog.hardware, machine_type, path, problems)


def _none_serves(preset: Preset) -> Problem:
    uses = {name: pool.use for name, pool in preset.accelerator_pools.items()}
    return Problem(
        rule="no-serving-pool",
        path=f"accelerator_pools.{next(iter(uses))}.use" if uses else "accelerator_pools",
        value=uses,
        why="engine pods are placed on serving pools, and there is none" + ("" if uses else ", nor any other pool"),
        allowed="at least one pool with use: serving",
        remedy="set the use of one of them to serving" if uses else "describe a pool",
        source="stacks/row_lookup.py",
    )


def _drafter(model: ModelRow, name: str, engine: EngineKind, problems: list[Problem]) -> Drafter | None:
    drafter = _find(model.drafters, name, "serving.speculation.drafter", problems)
    if drafter and engine not in drafter.methods:
        problems.append(
            Problem(
                rule="drafter-not-in-engine",
                path="serving.speculation.drafter",
                value=name,
                why=f"{engine} has no method for this drafter",
                allowed="engines: " + ", ".join(drafter.methods),
                remedy="leave serving.speculation out, or choose an engine that has it",
                source=drafter.source,
            )
        )
        return None
    return drafter


def _run_from(
    engine: EngineRow, release: ReleaseRow, catalog: Catalog, problems: list[Problem]
) -> tuple[EngineImage, ContainerUser] | None:
    """Return the image an engine runs from and its user; a release that does not run that engine is a problem."""
    if _runs(release, engine.kind, engine.version):
        if isinstance(release, DynamoRelease):
            return release.runtimes[engine.kind].image, release.user
        if engine.image and engine.user:
            return engine.image, engine.user
    runs = "; ".join(f"{kind} {', '.join(some)}" for kind, some in release.engines.items())
    others = _releases_with(catalog, release.kind, engine.kind, engine.version)
    key, value = ("router.release", release.version) if others else ("engine.kind", engine.kind)
    problems.append(
        Problem(
            rule="engine-not-in-release",
            path=f"serving.{key}",
            value=value,
            why=f"{release.kind} {release.version} runs {runs}; {engine.kind} {engine.version} is not rendered with it",
            allowed=", ".join(others) or ", ".join(release.engines),
            remedy=f"set it to {others[0]!r}" if others else "choose an allowed engine, or another serving.router.kind",
            source=release.source,
        )
    )
    return None


def _runs(release: ReleaseRow, engine: EngineKind, version: str) -> bool:
    return version in release.engines.get(engine, [])


def _releases_with(catalog: Catalog, router: str, engine: EngineKind, version: str) -> list[str]:
    """Versions of a router stack that run one engine, the newest first."""
    known = [r.version for r in catalog.releases.values() if r.kind == router and _runs(r, engine, version)]
    return sorted(known, key=numbers, reverse=True)


def _engine(preset: Preset, model: ModelRow | None, catalog: Catalog, problems: list[Problem]) -> EngineRow | None:
    """An engine older than the model needs says so, whether or not the catalog knows that version."""
    engine = preset.serving.engine
    support = model.engines.get(engine.kind) if model else None
    if model and support and older(engine.version, support.first_version):
        problems.append(
            Problem(
                rule="engine-too-old",
                path="serving.engine.version",
                value=engine.version,
                why=f"{engine.kind} serves {model.architecture.engine_class} from {support.first_version} on; "
                "an older engine refuses to start: unknown architecture",
                allowed=f"{support.first_version} or newer, with a row in stacks/catalog/engines",
                remedy=f"set it to {support.first_version!r}" + _with_release(preset, support, catalog),
                source=support.source,
            )
        )
        return None
    if model and support is None:
        problems.append(
            Problem(
                rule="engine-not-for-model",
                path="serving.engine.kind",
                value=engine.kind,
                why=f"no row says how {engine.kind} serves {model.title}",
                allowed=", ".join(model.engines),
                remedy="choose an allowed engine, or add what is known to the model's row",
                source=f"stacks/catalog/models/{model.name}.yaml",
            )
        )
        return None
    return _find(catalog.engines, engine.version, "serving.engine.version", problems, engine.kind)


def _with_release(preset: Preset, support: ModelSupport, catalog: Catalog) -> str:
    """Name the release that runs the model's first engine, where the chosen one does not."""
    router, engine = preset.serving.router, preset.serving.engine.kind
    able = _releases_with(catalog, router.kind, engine, support.first_version)
    return f", and serving.router.release to {able[0]!r}" if able and router.release not in able else ""


def _find(
    rows: Mapping[str, Row], name: str, path: str, problems: list[Problem], kind: str | None = None
) -> Row | None:
    key = name if kind is None else f"{kind}-{name}"
    if key in rows:
        return rows[key]
    names = [
        k if kind is None else k.removeprefix(f"{kind}-") for k in rows if kind is None or k.startswith(f"{kind}-")
    ]
    guess = nearest(name, names)
    problems.append(
        Problem(
            rule="unknown-row",
            path=path,
            value=name,
            why=f"the catalog has no {name!r}" + (f"; did you mean {guess!r}?" if guess else ""),
            allowed=", ".join(names) or "nothing yet",
            remedy=f"write {guess!r}" if guess else "use a name from the catalog, or add a row under stacks/catalog",
            source="stacks/catalog",
        )
    )
    return None
