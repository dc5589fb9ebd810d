"""Whether the disk with weights is there, and can be read by every node as fast as the stack's budgets say.

What is on it cannot be looked at from outside.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime

from beamline.preflight.findings import Check, Finding
from beamline.preflight.google import NotFoundError
from beamline.preflight.target import Target
from beamline.preflight.world import World
from stacks.memory import GB, GIB
from stacks.spec import HyperdiskMl
from stacks.weight_storage import nodes_that_mount

__all__ = ["DISK", "Disk", "judge_disk"]

_TYPE = "hyperdisk-ml"
_MODE = "READ_ONLY_MANY"
_KEY = "model.storage"


@dataclass(frozen=True)
class Disk:
    """A disk as Compute Engine describes it; an empty type: there is none in the zone."""

    type: str = ""
    access_mode: str = ""
    size_gib: int = 0
    throughput_mib_per_s: int = 0
    made: date = date.min


def _storage(target: Target) -> HyperdiskMl:
    storage = target.spec.preset.model.storage
    if not isinstance(storage, HyperdiskMl):
        raise TypeError("the stack reads weights from no disk")
    return storage


def _look(target: Target, world: World) -> Disk:
    try:
        found = world.google.call(
            "compute", "disks.get", project=target.project, zone=target.zone, disk=_storage(target).disk
        )
    except NotFoundError:
        return Disk()
    return Disk(
        type=str(found["type"]).rpartition("/")[2],
        access_mode=found.get("accessMode", "READ_WRITE_SINGLE"),
        size_gib=int(found["sizeGb"]),
        throughput_mib_per_s=int(found.get("provisionedThroughput", 0)),
        made=datetime.fromisoformat(found["creationTimestamp"]).date(),
    )


def judge_disk(target: Target, disk: Disk) -> list[Finding]:
    """Tell everything at once that keeps the nodes from reading weights off it."""
    name = _storage(target).disk
    if not disk.type:
        return [
            Finding.problem(
                "disk-missing",
                f"{_KEY}.disk",
                f"the disk {name} is in {target.zone}",
                found="there is no disk of this name in the zone",
                needed="a Hyperdisk ML volume in the zone of the nodes, filled with the weights",
                remedy=f"correct the name, or make it: gcloud compute disks create {name} --zone {target.zone} "
                f"--type {_TYPE}; docs/weights.md says how it is filled",
            )
        ]
    if disk.type != _TYPE:
        return [
            Finding.problem(
                "disk-type",
                f"{_KEY}.disk",
                f"the disk {name} is a Hyperdisk ML volume",
                found=f"it is of type {disk.type}, which many nodes cannot read at the same time, or not this fast",
                needed=_TYPE,
                remedy="make a Hyperdisk ML volume of a snapshot of it, and name that",
            )
        ]
    wrong = [*_unfit(target, name, disk)]
    told = f"{disk.size_gib:,} GiB, {disk.throughput_mib_per_s:,} MiB/s, {disk.access_mode}, made on {disk.made}"
    return wrong or [Finding(f"every node can read the disk {name}", told, path=f"{_KEY}.disk")]


def _unfit(target: Target, name: str, disk: Disk) -> Iterator[Finding]:
    row, zone = target.spec.rows.weight_storage.hyperdisk_ml, target.zone
    nodes = nodes_that_mount(target.spec.preset)
    if disk.access_mode != _MODE:
        yield Finding.problem(
            "disk-access-mode",
            f"{_KEY}.disk",
            f"the disk {name} can be attached to many nodes",
            found=f"its access mode is {disk.access_mode}: one node would get it",
            needed=_MODE,
            remedy=f"gcloud compute disks update {name} --zone {zone} --access-mode {_MODE}; there is no way back",
        )
    oldest = target.spec.rows.hardware.data_disks.hyperdisk_ml_made_from
    if oldest and disk.made < oldest:
        yield Finding.problem(
            "disk-too-old",
            f"{_KEY}.disk",
            f"{target.spec.rows.hardware.machine_type} attaches the disk {name}",
            found=f"it was made on {disk.made}",
            needed=f"a volume made on {oldest} or later",
            remedy="make a new one of a snapshot of it, and name that",
        )
    weights_gb = target.spec.derived.weights_bytes / GB
    if disk.size_gib * GIB < target.spec.derived.weights_bytes:
        yield Finding.problem(
            "disk-too-small",
            f"{_KEY}.disk",
            f"the disk {name} holds the weights",
            found=f"it has {disk.size_gib:,} GiB",
            needed=f"{weights_gb:,.0f} GB, the drafter's included",
            remedy="name the disk that holds them; this one cannot",
        )
    said = _storage(target).throughput_mib_per_s
    if disk.throughput_mib_per_s < said:
        yield Finding.problem(
            "disk-throughput",
            f"{_KEY}.throughput_mib_per_s",
            f"the disk {name} is as fast as the stack says",
            found=f"it is provisioned with {disk.throughput_mib_per_s:,} MiB/s, and budgets count on {said:,}",
            needed=f"{said:,} MiB/s",
            remedy=f"write {disk.throughput_mib_per_s}, or gcloud compute disks update {name} --zone {zone} "
            f"--provisioned-throughput {said}",
        )
    most = next((share.nodes for share in row.sharing if disk.size_gib <= share.up_to_gib), 0)
    if nodes > most:
        yield Finding.problem(
            "disk-shared-too-widely",
            "accelerator_pools",
            f"the disk {name} can be attached to {nodes} nodes",
            found=f"a volume of {disk.size_gib:,} GiB can be attached to {most}",
            needed=f"at most {most} nodes, or a smaller volume",
            remedy="make a smaller volume, or a second stack with a volume of its own",
            source=row.source,
        )


DISK: Check[Disk] = Check(
    id="disk",
    asks="the disk with weights is there, and every node can read it",
    source="Compute Engine API, disks.get; Compute Engine docs, Hyperdisk ML",
    rules=(
        "disk-missing",
        "disk-type",
        "disk-access-mode",
        "disk-too-old",
        "disk-too-small",
        "disk-throughput",
        "disk-shared-too-widely",
    ),
    look=_look,
    judge=judge_disk,
    applies=lambda target: isinstance(target.spec.preset.model.storage, HyperdiskMl),
)
