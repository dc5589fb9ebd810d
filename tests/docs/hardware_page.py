"""docs/hardware.md: every machine type of the catalog, with what a stack is built on and what is unknown."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import combinations

from beamline.sandbox.home import CHECKOUT
from stacks.catalog_files import load_catalog
from stacks.memory import allocatable_cpu_millicores, allocatable_ephemeral_gib, allocatable_memory_gib
from stacks.rows import HardwareRow
from stacks.sharing import cluster_conflict

__all__ = ["HARDWARE", "hardware_page"]

HARDWARE = CHECKOUT / "docs" / "hardware.md"
_NOT_TOGETHER = """\
`plan` refuses pools of one stack that cannot share a cluster, and a rule on the graph (`pools-share-cluster`) refuses
them wherever else they come from."""
_INTRODUCTION = """\
# Hardware

Generated from `stacks/catalog/hardware` by `make golden`: one file a machine type, where each group of figures has its
source and its date. **?** is unknown, and a plan says so. A zone or a price is what somebody published on a day; only
the project itself knows (`beamline preflight`).

Fractional G4 machines (an eighth, a quarter or half of a GPU) have no rows: they need the vGPU driver, and the kit
counts GPUs of a node in whole numbers.
"""
Column = Callable[[HardwareRow], object]


def _known(value: object) -> str:
    return "?" if value is None else str(value)


def _some(values: Iterable[object]) -> str:
    return ", ".join(str(value) for value in values) or "none"


def _nics(row: HardwareRow) -> str:
    return " + ".join(f"{group.count} x {group.gbps} {group.driver}" for group in row.network.nics)


def _left(row: HardwareRow) -> str:
    machine, ssd = row.machine, row.local_ssd
    cpu, memory = allocatable_cpu_millicores(machine) // 1000, allocatable_memory_gib(machine)
    seen = f" (seen: {row.allocatable.memory_gib})" if row.allocatable else ""
    return f"{cpu} / {memory}{seen} / {allocatable_ephemeral_gib(ssd.count, ssd.size_gib):,}"


def _placements(row: HardwareRow) -> str:
    policy = row.fabric.placement
    kinds = [f"{policy.type} {policy.accelerator_topology}"] if policy else []
    return _some([*kinds, *(["compact"] if row.fabric.compact_placement else [])])


def _ssd(row: HardwareRow) -> str:
    bundled = "bundled" if row.local_ssd.attached_by_default else "asked for"
    return f"{row.local_ssd.count} x {row.local_ssd.size_gib:,} GiB, {bundled}"


def _interconnect(row: HardwareRow) -> str:
    nodes, level = row.fabric.nvlink_domain_nodes, row.gpu.nccl_p2p_level
    reach = f"nvlink, {nodes} nodes" if nodes > 1 else row.gpu.interconnect
    return f"{reach}, NCCL_P2P_LEVEL={level}" if level else reach


def _places(row: HardwareRow) -> str:
    """Regions with the letters of their zones; a region alone where those are not known."""
    return _some("-".join(filter(None, [region, "/".join(ls)])) for region, ls in row.locations.zones.items())


_TABLES: Mapping[str, Mapping[str, Column]] = {
    "Machines": {
        "GPUs": lambda row: f"{row.gpu.count} x {row.gpu.model}",
        "GB a GPU, GB/s": lambda row: f"{row.gpu.memory_gb_per_gpu}, {row.gpu.memory_bandwidth_gb_per_s:,}",
        "capability": lambda row: row.gpu.compute_capability,
        "FP8 / FP4": lambda row: f"{_yes(row.gpu.fp8_tensor_cores)} / {_yes(row.gpu.fp4_tensor_cores)}",
        "driver, CUDA from": lambda row: f"{row.gpu.min_driver}, {row.gpu.min_cuda}",
        "CPU": lambda row: f"{row.machine.vcpus} {row.machine.arch}",
        "memory, GB": lambda row: row.machine.memory_gb,
        "left to pods: cores / GiB / GiB of SSD": _left,
    },
    "Networks": {
        "interfaces, Gbps": _nics,
        "GPUs of a node and beyond": _interconnect,
        "RDMA claims": lambda row: row.network.rdma_interfaces,
        "profile": lambda row: _some(filter(None, [row.fabric.network_profile])),
        "from GKE": lambda row: row.fabric.network_profile_from or "-",
        "own RDMA network": lambda row: row.fabric.roce_network_profile or "-",
        "placement": _placements,
        "transports": lambda row: _some(row.fabric.transports),
    },
    "Nodes of GKE": {
        "floors": lambda row: _some(row.gke.min_version_by_minor.values()),
        "known bad": lambda row: _some(row.gke.known_bad_versions),
        "boot disks": lambda row: _some(row.gke.boot_disk_types),
        "data disks": lambda row: _some(row.data_disks.types),
        "Hyperdisk ML made from": lambda row: row.data_disks.hyperdisk_ml_made_from or "-",
        "local SSD": _ssd,
        "as": lambda row: _some(row.local_ssd.modes),
        "shielded": lambda row: _yes(row.gke.shielded_nodes),
    },
    "Capacity and prices": {
        "sold as": lambda row: _some(row.gke.provisioning),
        "quota": lambda row: _some(filter(None, [row.quota.gpus, row.quota.preemptible_gpus])),
        "USD/h": lambda row: _known(row.price.usd_per_hour),
        "spot": lambda row: _known(row.price.spot_usd_per_hour),
        "1 year": lambda row: _known(row.price.one_year_usd_per_hour),
        "3 years": lambda row: _known(row.price.three_years_usd_per_hour),
        "seen in": _places,
    },
}


def _yes(value: bool) -> str:
    return "yes" if value else "no"


def _table(columns: Mapping[str, Column], rows: Mapping[str, HardwareRow]) -> list[str]:
    """A table whose lines with the same cells are one line."""
    together: dict[tuple[str, ...], list[str]] = {}
    for name, row in rows.items():
        together.setdefault(tuple(str(cell(row)) for cell in columns.values()), []).append(name)
    lines = [f"| {', '.join(names)} | {' | '.join(cells)} |" for cells, names in together.items()]
    return [f"| Machine type | {' | '.join(columns)} |", "|---" * (len(columns) + 1) + "|", *lines, ""]


def _apart(rows: Mapping[str, HardwareRow]) -> list[str]:
    """Who cannot share a cluster with whom, and one case of each reason."""
    reasons: dict[str, dict[str, str]] = {name: {} for name in rows}
    for one, other in combinations(rows, 2):
        if reason := cluster_conflict(rows[one], rows[other]):
            reasons[one][other] = reasons[other][one] = reason
    lines = {name: row for name, row in rows.items() if reasons[name]}
    cases: Mapping[str, Column] = {
        "not beside": lambda row: _others(reasons[row.machine_type], rows),
        "because": lambda row: _case(reasons[row.machine_type]),
    }
    return _table(cases, lines)


def _others(refused: Mapping[str, str], rows: Mapping[str, HardwareRow]) -> str:
    return "any other" if len(refused) == len(rows) - 1 else ", ".join(refused)


def _case(refused: Mapping[str, str]) -> str:
    """The half of the reason that is the same beside everything."""
    return next(iter(refused.values())).partition(";")[0]


def hardware_page() -> str:
    """Return docs/hardware.md."""
    rows = load_catalog().hardware
    lines = [_INTRODUCTION]
    for title, columns in _TABLES.items():
        lines += [f"## {title}", "", *_table(columns, rows)]
    lines += ["## Not in one cluster", "", _NOT_TOGETHER, "", *_apart(rows)]
    return "\n".join(lines)
