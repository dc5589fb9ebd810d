"""Whether the zone has the machine types, and whether Google says of them what the catalog says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from beamline.preflight.findings import Check, Finding
from beamline.preflight.target import Target
from beamline.preflight.world import World
from stacks.rows import HardwareRow, SystemMachineRow

__all__ = ["MACHINE_TYPES", "Machine", "Offer", "judge_machine_types"]

_ARCHITECTURES = {"X86_64": "amd64", "ARM64": "arm64"}


@dataclass(frozen=True)
class Machine:
    """What Google says of a machine type; empty and 0 where it says nothing."""

    arch: str = ""
    vcpus: int = 0
    accelerator: str = ""
    accelerators: int = 0


@dataclass(frozen=True)
class Offer:
    """One machine type by the zones that have it, and all zones there are."""

    zones: Mapping[str, Machine]
    known_zones: frozenset[str]


def _look(target: Target, world: World) -> dict[str, Offer]:
    return {name: _offer(target, world, name) for name in sorted(_wanted(target))}


def _offer(target: Target, world: World, name: str) -> Offer:
    offered: dict[str, Machine] = {}
    known: set[str] = set()
    for page in world.google.pages(
        "compute", "machineTypes.aggregatedList", project=target.project, filter=f'name = "{name}"', maxResults=500
    ):
        for scope, found in page.get("items", {}).items():
            zone = scope.removeprefix("zones/")
            known.add(zone)
            for item in found.get("machineTypes", []):
                offered[zone] = _machine(item)
    return Offer(offered, frozenset(known))


def _machine(item: Mapping[str, object]) -> Machine:
    accelerators = item.get("accelerators")
    first = accelerators[0] if isinstance(accelerators, list) and accelerators else {}
    vcpus = item.get("guestCpus")
    return Machine(
        arch=_ARCHITECTURES.get(str(item.get("architecture")), ""),
        vcpus=vcpus if isinstance(vcpus, int) else 0,
        accelerator=str(first.get("guestAcceleratorType", "")),
        accelerators=int(first.get("guestAcceleratorCount", 0)),
    )


def _wanted(target: Target) -> dict[str, tuple[str, HardwareRow | SystemMachineRow]]:
    rows = target.spec.rows
    return {
        **{pool.row.machine_type: (f"{pool.path}.machine_type", pool.row) for pool in reversed(target.spec.pools)},
        rows.system.machine_type: ("system_pool.machine_type", rows.system),
    }


def judge_machine_types(target: Target, offers: Mapping[str, Offer]) -> list[Finding]:
    """Tell for each machine type whether the zone has it, and what the catalog has wrong about it."""
    wanted = _wanted(target)
    return [_judged(target, *wanted[name], offer) for name, offer in offers.items()]


def _judged(target: Target, path: str, row: HardwareRow | SystemMachineRow, offer: Offer) -> Finding:
    zone, name = target.zone, row.machine_type
    asked = f"{zone} has {name}"
    machine = offer.zones.get(zone)
    if machine is not None:
        differences = _differences(row, machine)
        if not differences:
            return Finding(asked, "it has", path=path)
        return Finding.problem(
            "machine-type-differs",
            path,
            f"{name} is what the catalog says",
            found="; ".join(differences),
            needed="the catalog's figures, as sizes are derived from them",
            remedy="correct the machine type's row in stacks/catalog",
        )
    if not offer.known_zones:
        return Finding.unknown(asked, "Google lists no zone at all", path=path)
    here = sorted(z for z in offer.zones if z.startswith(f"{target.region}-"))
    places = ", ".join(here or sorted(offer.zones)) or "none that this project sees"
    if zone not in offer.known_zones:
        return Finding.problem(
            "zone-unknown",
            "zone",
            asked,
            found=f"there is no zone {zone}",
            needed=f"a zone that has {name}: {places}",
            remedy="pulumi config set beamline:zone ZONE",
        )
    return Finding.problem(
        "machine-type-not-in-zone",
        "zone",
        asked,
        found="it has not",
        needed=f"a zone that has it: {places}",
        remedy="pulumi config set beamline:zone ZONE, and beamline:region if it is in another"
        if offer.zones
        else "ask your account team to let the project use this machine type",
    )


def _differences(row: HardwareRow | SystemMachineRow, machine: Machine) -> list[str]:
    said: list[tuple[str, object, object]] = [
        ("architecture", machine.arch, row.machine.arch),
        ("vCPUs", machine.vcpus, row.machine.vcpus),
    ]
    if isinstance(row, HardwareRow):
        said += [
            ("accelerator", machine.accelerator, row.gpu.accelerator_type),
            ("accelerators", machine.accelerators, row.gpu.count),
        ]
    return [f"{what}: Google {google}, catalog {ours}" for what, google, ours in said if google and google != ours]


MACHINE_TYPES: Check[dict[str, Offer]] = Check(
    id="machine-types",
    asks="the zone has the machine types",
    source="Compute Engine API, machineTypes.aggregatedList",
    rules=("machine-type-not-in-zone", "zone-unknown", "machine-type-differs"),
    look=_look,
    judge=judge_machine_types,
)
