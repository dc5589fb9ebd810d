"""How much of the project's quotas stacks use, counted from the ledger, and the refusal of what would be too much."""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from beamline.sandbox.cloud.errors import CloudError
from beamline.sandbox.cloud.inventory import Quota, read_inventory
from beamline.sandbox.cloud.kinds.clusters import NODE_POOL, cluster_zones
from beamline.sandbox.cloud.kinds.compute import CLUSTER
from beamline.sandbox.cloud.kinds.node_configs import DEFAULT_MACHINE
from beamline.sandbox.cloud.kinds.pool_sizes import nodes_per_zone
from beamline.sandbox.cloud.ledger import Record
from beamline.sandbox.cloud.machines import Machine, machine, region_of
from beamline.sandbox.cloud.quota_metrics import Metric, metrics
from beamline.sandbox.cloud.simulation import Simulation

__all__ = ["QuotaUse", "check_quotas", "quota_uses"]

_DEFAULT_DISK_GB = 100
_Uses = dict[tuple[str, str, str], float]


@dataclass(frozen=True)
class QuotaUse:
    """A quota and how much of it is used."""

    quota: Quota
    used: float


def quota_uses(simulation: Simulation, region: str) -> list[QuotaUse]:
    """Return the quotas that count in a region, global ones included, and their use.

    A metric that has a limit per family is listed for the families that are limited by name or used.
    """
    inventory, used = read_inventory(simulation), _used(simulation)
    found: list[QuotaUse] = []
    for name, metric in metrics().items():
        place = region if metric.scope == "region" else ""
        families = {""}
        if metric.dimension:
            families = {quota.family for quota in inventory.quotas if quota.metric == name}
            families |= {key[2] for key in used if key[:2] == (name, place)}
        quotas = [(family, inventory.quota(name, place, family)) for family in sorted(families)]
        found += [QuotaUse(quota, used[name, place, family]) for family, quota in quotas if quota]
    return found


def check_quotas(
    token: str, location: str, inputs: Mapping[str, Any], simulation: Simulation, old_id: str = ""
) -> None:
    """Refuse a resource for which a quota is too small; ``old_id`` is the resource it takes the place of.

    GKE's words for machines: kaiwaehner/hivemq-...#48 (2021), googlecodelabs/feedback#950; for the whole project:
    kubeflow/examples#597. Compute's: fastai/course-v3#165, GoogleCloudPlatform/cluster-toolkit's error list. How GKE
    names a family of the metrics that have one is not known; the bracket is the simulation's. Raises CloudError.
    """
    inventory, used = read_inventory(simulation), _used(simulation, without=old_id)
    wanted: _Uses = defaultdict(float)
    for key, amount in _demand(token, location, inputs, simulation):
        wanted[key] += amount
    short = []
    for (metric, region, family), amount in wanted.items():
        quota = inventory.quota(metric, region, family)
        if quota is not None and amount > 0 and used[metric, region, family] + amount > quota.limit:
            short.append((quota, amount, max(0.0, quota.limit - used[metric, region, family])))
    if short and token in (NODE_POOL, CLUSTER):
        raise _insufficient(short, simulation.project)
    for quota, _, _ in short:
        where = f"in region {quota.region}" if quota.region else "globally"
        raise CloudError(
            f"googleapi: Error 403: Quota '{quota.metric}' exceeded. Limit: {quota.limit:.1f} {where}., quotaExceeded"
        )


def _insufficient(short: list[tuple[Quota, float, float]], project: str) -> CloudError:
    texts = [
        f"Insufficient {'regional' if quota.region else 'project'} quota to satisfy request: "
        f"resource \"{quota.metric}\": request requires '{amount:.1f}' and is short '{amount - free:.1f}'. "
        f"project has a quota of '{quota.limit:.1f}' with '{free:.1f}' available. View and manage quotas at "
        f"https://console.cloud.google.com/iam-admin/quotas?usage=USED&project={project}."
        + (f" ({metrics()[quota.metric].dimension}: {quota.family})" if quota.family else "")
        for quota, amount, free in short
    ]
    listed = (f"\n\t({number}) {text[0].lower()}{text[1:]}" for number, text in enumerate(texts, 1))
    said = texts[0] if len(texts) == 1 else "".join(listed)
    return CloudError(f"googleapi: Error 403: {said}, forbidden")


def _used(simulation: Simulation, *, without: str = "") -> _Uses:
    used: _Uses = defaultdict(float)
    for record in simulation.ledger.everything():
        if record.id != without and record.type != CLUSTER:  # a cluster's default pool is gone once it exists
            for key, amount in _demand(record.type, record.location, record.inputs, simulation, record):
                used[key] += amount
    return used


def _demand(
    token: str, location: str, inputs: Mapping[str, Any], simulation: Simulation, record: Record | None = None
) -> Iterator[tuple[tuple[str, str, str], float]]:
    region = region_of(location) or ""
    for metric in metrics().values():
        if token in metric.of_types and inputs.get("addressType") != "INTERNAL":
            yield (metric.name, region if metric.scope == "region" else "", ""), 1
    if token in (NODE_POOL, CLUSTER):
        yield from _of_nodes(token, location, inputs, simulation, record)


def _of_nodes(
    token: str, location: str, inputs: Mapping[str, Any], simulation: Simulation, record: Record | None
) -> Iterator[tuple[tuple[str, str, str], float]]:
    cluster = _cluster(inputs, location, simulation, record) if token == NODE_POOL else None
    if token == NODE_POOL and cluster is None:
        return
    nodes = (
        sum(nodes_per_zone(inputs, cluster).values())
        if cluster
        else int(inputs.get("initialNodeCount") or 0) * len(cluster_zones(inputs, location))
    )
    config = inputs.get("nodeConfig") or {}
    made = machine(config.get("machineType", DEFAULT_MACHINE))
    if made is None:
        return
    for metric in metrics().values():
        amount = _per_node(metric, made, config)
        if metric.counts == "external_addresses" and not _is_private(inputs, cluster.inputs if cluster else inputs):
            amount = 1
        if amount:
            place = (region_of(location) or "") if metric.scope == "region" else ""
            yield (metric.name, place, _family(metric, made)), amount * nodes


def _per_node(metric: Metric, made: Machine, config: Mapping[str, Any]) -> float:
    """Return how much of a metric one node uses."""
    if metric.counts == "boot_disk_gb":
        block = config.get("bootDisk") or {}
        kind = config.get("diskType") or block.get("diskType") or "pd-balanced"
        return float(config.get("diskSizeGb") or block.get("sizeGb") or _DEFAULT_DISK_GB) * (kind in metric.of_disks)
    family = made.family
    counted = (
        (not metric.of_families or family.name in metric.of_families)
        and family.name not in metric.not_families
        and (not metric.of_gpus or family.gpu in metric.of_gpus)
        and metric.capacity in ("any", _capacity(config))
        and _capacity(config) != "reserved"
    )
    amounts = {
        "vcpus": made.vcpus,
        "gpus": made.gpus,
        "local_ssd_gb": family.local_ssd_gib * _local_ssds(made, config),
    }
    return float(amounts.get(metric.counts, 0)) if counted else 0.0


def _capacity(config: Mapping[str, Any]) -> str:
    """Say which kind of capacity a node is: its quota differs."""
    affinity = config.get("reservationAffinity") or {}
    if affinity.get("consumeReservationType") == "SPECIFIC_RESERVATION":
        return "reserved"
    preemptible = config.get("spot") or config.get("preemptible") or config.get("flexStart")
    return "preemptible" if preemptible else "standard"


def _local_ssds(made: Machine, config: Mapping[str, Any]) -> int:
    blocks = [config.get(key) or {} for key in ("ephemeralStorageLocalSsdConfig", "localNvmeSsdBlockConfig")]
    return max(made.bundled_ssds, *(int(block.get("localSsdCount") or 0) for block in blocks))


def _family(metric: Metric, made: Machine) -> str:
    """Return the family as the metric's dimension names it, such as NVIDIA_RTX_PRO_6000 or N4."""
    if metric.dimension == "gpu_family":
        return re.sub(r"-\d+gb$", "", made.family.gpu).upper().replace("-", "_")
    return made.family.name.upper().replace("-", "_") if metric.dimension else ""


def _is_private(inputs: Mapping[str, Any], cluster: Mapping[str, Any]) -> bool:
    own = (inputs.get("networkConfig") or {}).get("enablePrivateNodes")
    return bool((cluster.get("privateClusterConfig") or {}).get("enablePrivateNodes") if own is None else own)


def _cluster(inputs: Mapping[str, Any], location: str, simulation: Simulation, record: Record | None) -> Record | None:
    named = record.id.rpartition("/nodePools/")[0] if record else str(inputs["cluster"])
    if not named.startswith("projects/"):
        named = f"projects/{inputs.get('project') or simulation.project}/locations/{location}/clusters/{named}"
    return simulation.ledger.find(CLUSTER, named)
