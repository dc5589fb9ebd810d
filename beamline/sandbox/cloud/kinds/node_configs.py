"""What GKE says about the configuration of nodes: machine types, GPUs, disks, reservations, taints.

Where no source has GKE's own words for a refusal, the words are the simulation's.
"""

import difflib
import re
from collections.abc import Iterator, Sequence

from beamline.sandbox.cloud.kinds.base import Inputs
from beamline.sandbox.cloud.kinds.host_maintenance import host_maintenance_problems
from beamline.sandbox.cloud.machines import (
    IMAGES,
    Family,
    Machine,
    families,
    family_of,
    machine,
    machine_names,
    zone_problem,
)
from beamline.sandbox.cloud.reservations import RESERVATION_KEY, reservation_problem
from beamline.sandbox.cloud.schema import Failure
from beamline.sandbox.cloud.versions import GkeVersion, below_floor

__all__ = ["DEFAULT_MACHINE", "floor_problem", "node_config_problems"]

DEFAULT_MACHINE = "e2-medium"

_LABEL_NAME = r"([A-Za-z0-9][-A-Za-z0-9_.]{0,61})?[A-Za-z0-9]"
_KEY = re.compile(rf"([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?{_LABEL_NAME}")
_VALUE = re.compile(rf"({_LABEL_NAME})?")
_EFFECTS = ("NO_SCHEDULE", "PREFER_NO_SCHEDULE", "NO_EXECUTE")
_DRIVERS = ("GPU_DRIVER_VERSION_UNSPECIFIED", "DEFAULT", "LATEST", "INSTALLATION_DISABLED")
_ARCHITECTURE_TAINTS = ("ARCHITECTURE_TAINT_BEHAVIOR_UNSPECIFIED", "NONE", "ARM")
_RESERVATIONS = ("UNSPECIFIED", "NO_RESERVATION", "ANY_RESERVATION", "SPECIFIC_RESERVATION")
_SMALLEST_DISK_GB = 10
_SSD_BLOCKS = ("ephemeralStorageLocalSsdConfig", "localNvmeSsdBlockConfig")


def node_config_problems(config: Inputs, zones: Sequence[str]) -> Iterator[Failure]:
    """Yield what is wrong with a ``nodeConfig``; ``zones`` are where its nodes would be."""
    name = config.get("machineType", DEFAULT_MACHINE)
    found = machine(name)
    if found is None:
        near = difflib.get_close_matches(name, machine_names(), n=3)
        hint = f"; did you mean {', '.join(near)}?" if near else ""
        where = zones[0] if zones else "any zone"
        yield Failure(
            "machineType",
            f"Machine type with name '{name}' does not exist in zone '{where}'. (The simulated cloud knows "
            f"{', '.join(families())}{hint})",
        )
    else:
        for zone in zones:
            if reason := zone_problem(found.family, zone):
                yield Failure(
                    "machineType", f"Machine type with name '{name}' does not exist in zone '{zone}'. ({reason})"
                )
        yield from _accelerators(config, found)
        yield from _local_ssds(config, found)
        yield from _boot_disk(config, found)
        if (config.get("confidentialNodes") or {}).get("enabled") and not found.family.confidential:
            yield Failure("confidentialNodes", f"Confidential VMs are not supported on {name}")
    yield from _capacity(config, found.family if found else None)
    yield from _reservation(config.get("reservationAffinity") or {})
    yield from host_maintenance_problems(config, found)
    yield from _marks(config)
    yield from _software(config, found.family.images if found else IMAGES)


def floor_problem(config: Inputs, version: GkeVersion) -> str:
    """Say why a GKE version is too old for the machine type; empty when it is not."""
    found = machine(config.get("machineType", DEFAULT_MACHINE))
    floor = below_floor(version, found.family.floors) if found else None
    return (
        f"Machine type {found.name} needs GKE {floor} or later in its minor, not {version}" if found and floor else ""
    )


def _accelerators(config: Inputs, made: Machine) -> Iterator[Failure]:
    given = config.get("guestAccelerators") or []
    path = "guestAccelerators"
    if made.gpus and not given:
        yield Failure(path, f"{made.name} has GPUs: state them, type {made.family.gpu} count {made.gpus}")
    if given and not made.gpus:
        yield Failure(path, f"GPUs cannot be attached to machine type {made.name}")
        return
    if len(given) > 1:
        yield Failure(path, "a node pool has one accelerator type")
    for index, entry in enumerate(given[:1]):
        kind, count = entry.get("type", made.family.gpu), entry.get("count", made.gpus)
        if kind != made.family.gpu:
            other = family_of(kind)
            hint = f"; {kind} is {other.name}'s" if other else ""
            yield Failure(
                f"{path}[{index}].type",
                f"Accelerator type '{kind}' is not supported with machine type '{made.name}': "
                f"it has {made.family.gpu}{hint}",
            )
        elif count != made.gpus:
            yield Failure(
                f"{path}[{index}].count",
                f"The number of GPUs of machine type '{made.name}' is {made.gpus}, not {count}: it comes with the type",
            )
        driver = (entry.get("gpuDriverInstallationConfig") or {}).get("gpuDriverVersion", "DEFAULT")
        if driver not in _DRIVERS:
            yield Failure(
                f"{path}[{index}].gpuDriverInstallationConfig.gpuDriverVersion", f"expected one of {list(_DRIVERS)}"
            )
        if driver == "LATEST" and "UBUNTU" in config.get("imageType", ""):
            yield Failure(
                f"{path}[{index}].gpuDriverInstallationConfig.gpuDriverVersion",
                "LATEST drivers are for Container-Optimized OS only",
            )


def _local_ssds(config: Inputs, made: Machine) -> Iterator[Failure]:
    used = [key for key in _SSD_BLOCKS if (config.get(key) or {}).get("localSsdCount")]
    if len(used) > 1:
        yield Failure(used[1], f"only one of {' and '.join(_SSD_BLOCKS)} can be used")
    for key in _SSD_BLOCKS:
        count = (config.get(key) or {}).get("localSsdCount")
        if count is not None and count not in made.local_ssds:
            allowed = ", ".join(str(n) for n in made.local_ssds if n) or "none"
            yield Failure(
                f"{key}.localSsdCount",
                f"Machine type '{made.name}' takes {allowed} local SSDs "
                f"({made.family.local_ssd_gib} GiB each), not {count}",
            )
    if config.get("localSsdCount"):
        yield Failure(
            "localSsdCount", "the legacy SCSI local SSDs are not simulated: use ephemeralStorageLocalSsdConfig"
        )


def _boot_disk(config: Inputs, made: Machine) -> Iterator[Failure]:
    block = config.get("bootDisk") or {}
    kind = config.get("diskType") or block.get("diskType")
    path = "bootDisk.diskType" if block.get("diskType") else "diskType"
    if (kind or "pd-balanced") not in made.family.boot_disks:
        said = kind or "pd-balanced (GKE's default)"
        yield Failure(
            path,
            f"{said} disk type cannot be used by {made.name} machine type: "
            f"it boots from {', '.join(made.family.boot_disks)}",
        )
    size = config.get("diskSizeGb") or block.get("sizeGb")
    if size is not None and size < _SMALLEST_DISK_GB:
        yield Failure("diskSizeGb", f"expected disk_size_gb to be at least ({_SMALLEST_DISK_GB}), got {size}")


def _capacity(config: Inputs, family: Family | None) -> Iterator[Failure]:
    affinity = config.get("reservationAffinity") or {}
    kind = affinity.get("consumeReservationType")
    if config.get("spot") or config.get("preemptible"):
        if kind in ("ANY_RESERVATION", "SPECIFIC_RESERVATION"):
            yield Failure("reservationAffinity", "Spot and preemptible VMs cannot consume reservations")
        if family is not None and not family.spot:
            yield Failure("spot", f"{family.name} is not offered as Spot VMs")
        if config.get("flexStart"):
            yield Failure("flexStart", "flex-start VMs cannot be Spot or preemptible VMs")
    if config.get("flexStart"):
        if kind in ("ANY_RESERVATION", "SPECIFIC_RESERVATION"):
            yield Failure("reservationAffinity", "flex-start VMs cannot consume reservations")
        if family is not None and not family.flex_start:
            yield Failure("flexStart", f"{family.name} is not offered through flex-start")
    if config.get("spot") and config.get("preemptible"):
        yield Failure("preemptible", "only one of spot and preemptible can be set")
    if family is not None:
        yield from _sale(config, family, kind)


def _sale(config: Inputs, family: Family, reservation: str | None) -> Iterator[Failure]:
    """Whether the family's machines can be had on demand, or from reservations."""
    ways = [name for name, offered in (("Spot", family.spot), ("flex-start", family.flex_start)) if offered]
    chosen = (config.get("spot") and family.spot) or (config.get("flexStart") and family.flex_start)
    if reservation == "SPECIFIC_RESERVATION" and not family.reservations:
        yield Failure("reservationAffinity", f"{family.name} is offered as {' or '.join(ways)} VMs only")
    elif not family.on_demand and reservation != "SPECIFIC_RESERVATION" and not chosen:
        reserved = ["consume one by name (SPECIFIC_RESERVATION)"] if family.reservations else []
        where = " through reservations only" if family.reservations and not ways else ", but not on demand"
        others = [f"ask for {' or '.join(ways)} VMs"] if ways else []
        yield Failure("reservationAffinity", f"{family.name} is offered{where}: {', or '.join([*reserved, *others])}")


def _reservation(affinity: Inputs) -> Iterator[Failure]:
    kind, key, values = affinity.get("consumeReservationType"), affinity.get("key"), affinity.get("values")
    if kind is not None and kind not in _RESERVATIONS:
        yield Failure(
            "reservationAffinity.consumeReservationType", f"expected one of {list(_RESERVATIONS)}, got {kind}"
        )
    if kind in ("NO_RESERVATION", "ANY_RESERVATION") and (key or values):
        yield Failure("reservationAffinity", f"{kind} takes neither key nor values")
    if kind != "SPECIFIC_RESERVATION":
        return
    if not (key and values):
        yield Failure("reservationAffinity", "SPECIFIC_RESERVATION needs key and values")
    elif key != RESERVATION_KEY:
        yield Failure("reservationAffinity.key", f"expected {RESERVATION_KEY}, got {key}")
    elif len(values) > 1:
        yield Failure("reservationAffinity.values", f"a node pool consumes one reservation, not {len(values)}")
    elif reason := reservation_problem(values[0]):
        yield Failure("reservationAffinity.values[0]", reason)


def _marks(config: Inputs) -> Iterator[Failure]:
    seen = set()
    for index, taint in enumerate(config.get("taints") or []):
        at = f"taints[{index}]"
        if taint.get("effect", _EFFECTS[0]) not in _EFFECTS:
            yield Failure(f"{at}.effect", f"expected {at}.effect to be one of {list(_EFFECTS)}, got {taint['effect']}")
        if not _KEY.fullmatch(taint.get("key", "a")):
            yield Failure(f"{at}.key", f"{taint['key']!r} is not a taint key")
        if not _VALUE.fullmatch(taint.get("value", "")):
            yield Failure(f"{at}.value", f"{taint['value']!r} is not a taint value")
        mark = (taint.get("key"), taint.get("effect"))
        if mark in seen:
            yield Failure(at, f"the taint {mark[0]} is listed twice for effect {mark[1]}")
        seen.add(mark)
    behavior = (config.get("taintConfig") or {}).get("architectureTaintBehavior", _ARCHITECTURE_TAINTS[0])
    if behavior not in _ARCHITECTURE_TAINTS:
        yield Failure(
            "taintConfig.architectureTaintBehavior", f"expected one of {list(_ARCHITECTURE_TAINTS)}, got {behavior}"
        )
    for key, value in (config.get("labels") or {}).items():
        if not _KEY.fullmatch(key):
            yield Failure(f"labels.{key}", f"{key!r} is not a label key")
        if not _VALUE.fullmatch(str(value)):
            yield Failure(f"labels.{key}", f"{value!r} is not a label value")


def _software(config: Inputs, images: Sequence[str]) -> Iterator[Failure]:
    image = config.get("imageType", images[0])
    if image.upper() not in images:
        yield Failure("imageType", f"expected one of {list(images)}, got {image}")
    mode = (config.get("workloadMetadataConfig") or {}).get("mode", "GKE_METADATA")
    if mode not in ("MODE_UNSPECIFIED", "GCE_METADATA", "GKE_METADATA"):
        yield Failure("workloadMetadataConfig.mode", f"expected GCE_METADATA or GKE_METADATA, got {mode}")
    readonly = (config.get("kubeletConfig") or {}).get("insecureKubeletReadonlyPortEnabled", "FALSE")
    if readonly not in ("TRUE", "FALSE"):
        yield Failure("kubeletConfig.insecureKubeletReadonlyPortEnabled", f"expected TRUE or FALSE, got {readonly}")
    if (config.get("gcfsConfig") or {}).get("enabled") and image.upper() != "COS_CONTAINERD":
        yield Failure("gcfsConfig", "Image streaming needs the COS_CONTAINERD image")
    yield from _second_boot_disks(config)


def _second_boot_disks(config: Inputs) -> Iterator[Failure]:
    disks = config.get("secondaryBootDisks") or []
    if disks and not (config.get("gcfsConfig") or {}).get("enabled"):
        yield Failure("secondaryBootDisks", "secondary boot disks need Image streaming (gcfsConfig.enabled)")
    for index, disk in enumerate(disks):
        if disk.get("mode", "CONTAINER_IMAGE_CACHE") != "CONTAINER_IMAGE_CACHE":
            yield Failure(f"secondaryBootDisks[{index}].mode", f"expected CONTAINER_IMAGE_CACHE, got {disk['mode']}")
