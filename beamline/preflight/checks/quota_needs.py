"""What the stack uses of each quota: its nodes and resources, less what of it exists already."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from beamline.preflight.checks.applied import Applied
from beamline.preflight.rows import QuotaRow, quota_rows
from beamline.preflight.target import Target
from stacks.pools import Pool
from stacks.rows import HardwareRow
from stacks.spec import OnDemand, Reservation

__all__ = ["Need", "quota_needs"]


@dataclass(frozen=True)
class Need:
    """So much of one quota. ``quota`` is None where no row says which quota it is."""

    what: str
    amount: int
    quota: QuotaRow | None
    path: str


def quota_needs(target: Target, applied: Applied) -> list[Need]:
    """Return every need above nothing; needs of the same quota are one."""
    pools = [need for pool in target.spec.pools for need in _accelerator_needs(pool, applied)]
    needs = [*pools, *_system_needs(target, applied), *_resource_needs(target, applied)]
    merged: dict[object, Need] = {}
    for need in needs:
        if need.amount <= 0:
            continue
        key = need.quota.model_dump_json() if need.quota else need.what
        before = merged.get(key)
        both = f"{before.what}, {need.what}" if before else need.what
        merged[key] = Need(both, need.amount + (before.amount if before else 0), need.quota, need.path)
    return list(merged.values())


def _accelerator_needs(wanted: Pool, applied: Applied) -> list[Need]:
    pool, row, table = wanted.plan, wanted.row, quota_rows()
    nodes = applied.missing(wanted)
    disks = Need(
        f"boot disks of {pool.machine_type} (GB)",
        nodes * pool.boot_disk_gb,
        table.disk_gb.get(row.gke.boot_disk_types[0]),
        f"{wanted.path}.boot_disk_gb",
    )
    if isinstance(pool.provisioning, Reservation):
        return [disks]
    on_demand = isinstance(pool.provisioning, OnDemand)
    how = "on demand" if on_demand else "preemptible"
    path = f"{wanted.path}.nodes"
    found = [Need(f"{row.gpu.accelerator_type} {how}", nodes * row.gpu.count, _of_gpus(row, on_demand), path), disks]
    if on_demand:
        found.append(Need("GPUs in all regions", nodes * row.gpu.count, table.all_gpus, path))
    ssd_gb = wanted.local_ssd_gib_per_node * nodes  # Google's quotas write GB and mean GiB
    family = row.machine_type.partition("-")[0]
    return [*found, Need(f"local SSD of {family} (GB)", ssd_gb, table.local_ssd_gb.get(family), path)]


def _of_gpus(row: HardwareRow, on_demand: bool) -> QuotaRow | None:
    """Return the quota the catalog names; on demand, with the family it may count for instead."""
    if not on_demand:
        return QuotaRow(name=row.quota.preemptible_gpus) if row.quota.preemptible_gpus else None
    if row.quota.gpus is None:
        return None
    family = {"name": row.quota.gpus, "family": row.quota.gpus.removesuffix("_GPUS")}
    return quota_rows().gpus_by_family.model_copy(update=family)


def _system_needs(target: Target, applied: Applied) -> list[Need]:
    pool, row, table = target.spec.preset.system_pool, target.spec.rows.system, quota_rows()
    nodes = pool.nodes - applied.system_nodes
    family = row.machine_type.partition("-")[0]
    return [
        Need(f"vCPUs of {family}", nodes * row.machine.vcpus, table.cpus.get(family), "system_pool.nodes"),
        Need(
            f"boot disks of {pool.machine_type} (GB)",
            nodes * pool.boot_disk_gb,
            table.disk_gb.get(row.gke.boot_disk_types[0]),
            "system_pool.boot_disk_gb",
        ),
    ]


def _resource_needs(target: Target, applied: Applied) -> list[Need]:
    """Resources by number; those of a stack whose cluster is there exist, too."""
    table = quota_rows()
    counts = Counter(resource.type for resource in target.resources()) if not applied.cluster else Counter[str]()
    found = [Need(kind.rpartition(":")[2], counts[kind], row, "network.kind") for kind, row in table.resources.items()]
    made = [p for p in target.spec.pools if target.spec.rows.network_profile(p.row) and p.name not in applied.pools]
    if made:
        networks, amount = table.resources["gcp:compute/network:Network"], len(made) * table.profile_networks
        found.append(Need("networks GKE makes for the accelerators", amount, networks, "network.kind"))
    return found
