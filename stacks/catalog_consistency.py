"""Figures of one catalog row that contradict each other: a typing error that no type can see.

A wrong weight size or version floor would pass every schema and then size a node pool.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator
from functools import singledispatch
from itertools import combinations

from stacks.network_variables import NVLINK_BETWEEN_NODES, RDMA
from stacks.problems import Problem
from stacks.rows import (
    ChartRow,
    ClientRow,
    DynamoRelease,
    EngineRow,
    GkeSupport,
    HardwareRow,
    HelperCharts,
    KeyPath,
    ModelRow,
    Strict,
    SystemMachineRow,
    TransportRow,
)
from stacks.versions import minor
from stacks.wording import some

__all__ = ["inconsistencies"]

_BYTES_PER_PARAMETER = {"bf16": (1.98, 2.1), "fp8": (0.99, 1.2), "nvfp4": (0.5, 0.75)}
"""Smallest and largest share: quantized checkpoints keep scales and some layers at higher precision."""
_TENSOR_CORES = {"fp8": "fp8_tensor_cores", "nvfp4": "fp4_tensor_cores"}

Say = Callable[[str, object, str, str], Problem]


def inconsistencies(row: Strict, where: str) -> list[Problem]:
    """Return what contradicts itself in ``row``, a row of the catalog read from the file ``where``."""

    def say(path: str, value: object, why: str, allowed: str) -> Problem:
        return Problem(
            rule="catalog-figures",
            path=path,
            value=value,
            why=why,
            allowed=allowed,
            remedy="read the source of the figure again and correct the row",
            where=where,
            source="stacks/catalog_consistency.py",
        )

    return list(_found(row, say))


@singledispatch
def _found(_row: Strict, _say: Say) -> Iterator[Problem]:
    yield from ()


def _floors(gke: GkeSupport, say: Say) -> Iterator[Problem]:
    for key, floor in gke.min_version_by_minor.items():
        if minor(floor) != key:
            yield say(f'gke.min_version_by_minor["{key}"]', floor, f"the floor is of minor {minor(floor)}", f"{key}.*")


@_found.register
def _of_system_machine(row: SystemMachineRow, say: Say) -> Iterator[Problem]:
    yield from _floors(row.gke, say)


@_found.register
def _of_hardware(row: HardwareRow, say: Say) -> Iterator[Problem]:
    yield from _floors(row.gke, say)
    gpu = row.gpu
    sold_mb, reported_mb = gpu.memory_gb_per_gpu * 1000, gpu.memory_mib_per_gpu * 1.048576
    if not 0.9 * sold_mb <= reported_mb <= 1.1 * sold_mb:
        why = f"it is more than a tenth away from memory_gb_per_gpu, which is {gpu.memory_gb_per_gpu}"
        yield say("gpu.memory_mib_per_gpu", gpu.memory_mib_per_gpu, why, "the same memory in MiB")
    if gpu.count == 1 and gpu.nccl_p2p_level is not None:
        yield say("gpu.nccl_p2p_level", gpu.nccl_p2p_level, "one GPU has no peer", "null")
    if gpu.fp4_tensor_cores and not gpu.fp8_tensor_cores:
        yield say("gpu.fp8_tensor_cores", "false", "tensor cores that read FP4 read FP8 too", "true")
    taint = f"kubernetes.io/arch={row.machine.arch}:NoSchedule"
    if row.machine.arch != "amd64" and taint not in row.gke.taints:
        yield say("gke.taints", row.gke.taints, f"GKE taints {row.machine.arch} nodes; no pod would tolerate it", taint)
    if row.gke.reservation_scope == "sub_block" and "reservation" not in row.gke.provisioning:
        yield say("gke.reservation_scope", "sub_block", "these nodes do not come from reservations", "reservation")
    for disk in row.gke.boot_disk_types:
        if disk not in row.data_disks.types:
            yield say("data_disks.types", row.data_disks.types, f"the nodes boot from {disk}", f"with {disk}")
    if row.local_ssd.count and not row.local_ssd.modes:
        yield say("local_ssd.modes", [], "a disk that no pool can have is none", "ephemeral, raw_block")
    yield from _of_fabric(row, say)
    yield from _of_network(row, say)
    yield from _of_sale(row, say)


def _of_fabric(row: HardwareRow, say: Say) -> Iterator[Problem]:
    """Nodes of one NVLink domain are placed together and told apart from other domains."""
    fabric, nodes = row.fabric, row.fabric.nvlink_domain_nodes
    for key, value in (("placement", fabric.placement), ("domain_label", fabric.domain_label)):
        if (value is not None) != (nodes > 1):
            why = f"an NVLink domain has {nodes} nodes" if nodes > 1 else "no NVLink domain spans nodes"
            yield say(f"fabric.{key}", value, why, "null exactly where a domain is one node")
    if fabric.placement and nodes > 1:
        topology, gpus = fabric.placement.accelerator_topology, nodes * row.gpu.count
        if math.prod(map(int, topology.split("x"))) != gpus:
            why = f"{nodes} nodes of {row.gpu.count} GPUs are {gpus} GPUs"
            yield say("fabric.placement.accelerator_topology", topology, why, f"1x{gpus}")
    if (fabric.network_profile is None) != (not fabric.profile_labels):
        why = "GKE gives nodes these labels for a network profile, and workloads select them"
        yield say("fabric.profile_labels", fabric.profile_labels, why, "empty exactly without a network_profile")
    if (fabric.network_profile is None) != (fabric.network_profile_from is None):
        why = "a profile has a first version of GKE"
        yield say("fabric.network_profile_from", fabric.network_profile_from, why, "null exactly without a profile")
    rdma = row.network.rdma_interfaces
    if rdma and fabric.network_profile is None:
        why = "without a profile GKE makes no RDMA network, and these interfaces are no devices"
        yield say("fabric.network_profile", None, why, "a profile, for nodes with RDMA interfaces")
    if bool(rdma) != (fabric.roce_network_profile is not None):
        why = f"a node has {some(rdma, 'RDMA interface')}"
        yield say("fabric.roce_network_profile", fabric.roce_network_profile, why, "null exactly without RDMA")


def _of_network(row: HardwareRow, say: Say) -> Iterator[Problem]:
    """The interfaces add up to what the cloud states, and one of them is the node's own."""
    if row.network.gbps != row.machine.network_gbps:
        why = f"machine.network_gbps is {row.machine.network_gbps}, the interfaces have {row.network.gbps}"
        yield say("network.nics", row.network.gbps, why, "interfaces that add up to it")
    if not any(group.purpose == "general" for group in row.network.nics):
        yield say("network.nics", "accelerator", "a node needs an interface of its own", "one group that is general")


def _of_sale(row: HardwareRow, say: Say) -> Iterator[Problem]:
    """Quotas and prices are of the ways in which the machine type is sold."""
    sold, quota, price = set(row.gke.provisioning), row.quota, row.price
    ways = {"gpus": {"on_demand", "reservation"}, "preemptible_gpus": {"spot", "flex_start"}}
    for key, kinds in ways.items():
        if getattr(quota, key) is not None and not sold & kinds:
            yield say(f"quota.{key}", getattr(quota, key), f"it is not sold {_listed(kinds)}", "null")
    if quota.preemptible_gpus is None and sold & ways["preemptible_gpus"]:
        why = f"it is sold {_listed(sold & ways['preemptible_gpus'])}, which counts against a quota"
        yield say("quota.preemptible_gpus", None, why, "the quota's name")
    if price.spot_usd_per_hour is not None and "spot" not in sold:
        yield say("price.spot_usd_per_hour", price.spot_usd_per_hour, "it is not sold as spot", "null")
    discounts = (price.spot_usd_per_hour, price.one_year_usd_per_hour, price.three_years_usd_per_hour)
    if price.usd_per_hour is not None and any(other and other >= price.usd_per_hour for other in discounts):
        why = "one of the discounted prices is not lower"
        yield say("price.usd_per_hour", price.usd_per_hour, why, "the highest price of the row")


def _listed(kinds: Collection[str]) -> str:
    return " or ".join(f"as {kind}" for kind in sorted(kinds))


@_found.register
def _of_engine(row: EngineRow, say: Say) -> Iterator[Problem]:
    if (row.image is None) != (row.user is None):
        yield say("user", row.user and row.user.name, "it is the user of the image", "null exactly without an image")


@_found.register
def _of_helper_charts(row: HelperCharts, say: Say) -> Iterator[Problem]:
    yield from _of_chart("dra_driver", row.dra_driver, say)
    yield from _of_chart("leader_worker_set", row.leader_worker_set, say)


@_found.register
def _of_dynamo(row: DynamoRelease, say: Say) -> Iterator[Problem]:
    yield from _of_chart("platform", row.platform, say)


def _of_chart(key: str, row: ChartRow, say: Say) -> Iterator[Problem]:
    """An OCI reference names the chart itself, an https repository is a folder of charts."""
    named = row.repository.rpartition("/")[2] == row.name
    if named != (row.protocol == "oci"):
        why = f"Helm would look for {row.name} elsewhere: {row.protocol} repositories are written "
        why += "with the chart's name last" if row.protocol == "oci" else "without the chart's name"
        allowed = f".../{row.name}" if row.protocol == "oci" else row.repository.rpartition("/")[0]
        yield say(f"{key}.repository", row.repository, why, allowed)


@_found.register
def _of_transport(row: TransportRow, say: Say) -> Iterator[Problem]:
    """Variables of a network without the claim that brings it crash the engine; the claim without them does nothing."""
    sections = {"environment": row.environment}
    sections |= {f"environment_by_engine.{kind}": values for kind, values in row.environment_by_engine.items()}
    sections |= {f"kv_environment.{backend}": values for backend, values in row.kv_environment.items()}
    for names, claim, has in (
        (RDMA, "rdma_device_class", row.rdma_device_class is not None),
        (NVLINK_BETWEEN_NODES, "compute_domain", row.compute_domain),
    ):
        found = [(section, name) for section, values in sections.items() for name in names if name in values]
        if has and not found:
            why = "no variable makes an engine use it"
            yield say(claim, getattr(row, claim), why, f"together with one of {', '.join(names)}")
        for section, name in [] if has else found:
            why = f"the pod has no claim for it: {claim}"
            yield say(f"{section}.{name}", sections[section][name], why, "no such line")
    if (row.node_agent is None) != (row.hugepages_2mi_per_node == 0):
        why = "the pages are for the node agent, and it does not start without them"
        yield say("hugepages_2mi_per_node", row.hugepages_2mi_per_node, why, "0 exactly without a node agent")
    if row.node_agent and row.rdma_device_class is None:
        yield say("node_agent", row.node_agent, "it brings up RDMA devices, and nothing claims them", "null")
    if row.collectives and not (row.compute_domain or row.rdma_device_class):
        yield say("collectives", "true", "nothing fast enough for them is claimed", "false")


@_found.register
def _of_model(row: ModelRow, say: Say) -> Iterator[Problem]:
    yield from _of_architecture(row, say)
    for name, checkpoint in row.checkpoints.items():
        low, high = (int(share * row.architecture.parameters) for share in _BYTES_PER_PARAMETER[checkpoint.precision])
        if not low <= checkpoint.weights_bytes <= high:
            why = f"{row.architecture.parameters} parameters in {checkpoint.precision} take another size"
            yield say(f"checkpoints.{name}.weights_bytes", checkpoint.weights_bytes, why, f"{low} to {high}")
        needed = _TENSOR_CORES.get(checkpoint.precision)
        if needed and needed not in checkpoint.needs:
            why = f"{checkpoint.precision} needs them; without the line a GPU that has none would be accepted"
            yield say(f"checkpoints.{name}.needs", checkpoint.needs, why, needed)


def _of_architecture(row: ModelRow, say: Say) -> Iterator[Problem]:
    model = row.architecture
    if model.active_parameters > model.parameters:
        why = "more than the model has"
        yield say("architecture.active_parameters", model.active_parameters, why, f"up to {model.parameters}")
    if model.attention_heads % model.kv_heads:
        why = f"attention heads ({model.attention_heads}) share KV heads in equal groups"
        yield say("architecture.kv_heads", model.kv_heads, why, f"a divisor of {model.attention_heads}")
    if (model.sliding_attention_layers == 0) != (model.sliding_window_tokens == 0):
        why = f"there are {model.sliding_attention_layers} sliding layers"
        yield say("architecture.sliding_window_tokens", model.sliding_window_tokens, why, "0 exactly without them")
    for engine, support in row.engines.items():
        for size in support.tensor_parallel:
            if model.attention_heads % size or (model.kv_heads % size and size % model.kv_heads):
                why = f"{model.attention_heads} attention and {model.kv_heads} KV heads do not divide over {size} GPUs"
                yield say(f"engines.{engine}.tensor_parallel", size, why, "sizes that divide them")


@_found.register
def _of_client(row: ClientRow, say: Say) -> Iterator[Problem]:
    """What is written inside of what is written elsewhere would take its place, and nobody would see it go."""
    for (column, one), (other, another) in combinations(row.paths, 2):
        if _meet(one, another):
            yield say(other, ".".join(another), f"{column} is written to the same place", "a place of its own")
    is_call = row.file.format == "python"
    if is_call != (row.file.call is not None):
        yield say("file.call", row.file.call, f"the format is {row.file.format}", "null exactly without format python")
    for column, path in row.paths if is_call else []:
        if len(path) != 1:
            yield say(column, ".".join(path), "a call has arguments, and nothing inside of them", "one name")


def _meet(one: KeyPath, other: KeyPath) -> bool:
    shorter = min(len(one), len(other))
    return one[:shorter] == other[:shorter]
