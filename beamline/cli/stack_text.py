"""How a checked stack reads: summary, evidence and derived numbers, for people and for programs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from rich.console import RenderableType
from rich.table import Table

from beamline.cli.output import pairs, table
from stacks import Problem, StackSpec
from stacks.memory import GIB
from stacks.pools import Pool
from stacks.spec import (
    Bucket,
    DynamoRouter,
    ExistingCluster,
    ExistingNetwork,
    GcsFuse,
    HuggingFace,
    HyperdiskMl,
    LocalSsd,
    PrefixAndLoad,
    Preset,
)
from stacks.wording import some

__all__ = ["amount", "counted", "derived_table", "evidence_json", "evidence_table", "summary"]


def counted(problems: Sequence[Problem]) -> str:
    """Count problems by severity: ``1 error, 2 notes``."""
    found = Counter(problem.severity for problem in problems)
    parts = [f"{found[s]} {s}{'' if found[s] == 1 else 's'}" for s in ("error", "warning", "note") if found[s]]
    return ", ".join(parts) or "no problems"


def summary(spec: StackSpec) -> Table:
    """Return what the stack is, in a few lines: hardware, nodes, price first."""
    preset, rows, serving = spec.preset, spec.rows, spec.preset.serving
    engine = serving.engine
    lines = [
        ("preset", f"{spec.settings.preset}: {preset.description}"),
        ("place", f"project {spec.settings.project}, {spec.settings.zone}"),
        ("cluster", _cluster(preset)),
        ("hardware", _hardware(spec)),
        ("capacity", _capacity(spec)),
        ("price", _price(spec)),
        ("model", f"{rows.model.title}, {rows.checkpoint.precision}, context of {serving.context_tokens:,} tokens"),
        ("weights", _weights(preset)),
        ("engine", f"{engine.kind} {engine.version}"),
        ("replicas", _replicas(spec)),
        *([("transport", _transport(spec))] if rows.transport else []),
        ("kv cache", _kv_cache(spec)),
        ("router", _router(spec)),
        ("routing", _routing(spec)),
    ]
    return pairs(lines)


def _cluster(preset: Preset) -> str:
    cluster, network = preset.cluster, preset.network
    place = {"new": "in a VPC of its own", "of_cluster": "in the VPC it is in"}.get(network.kind)
    if isinstance(network, ExistingNetwork):
        place = f"in VPC {network.network}, subnet {network.subnetwork}"
    if isinstance(cluster, ExistingCluster):
        return f"{cluster.name}, which exists, {place}; new nodes have GKE {cluster.version}"
    return f"new, GKE {cluster.version}, {cluster.release_channel}, {place}"


def _weights(preset: Preset) -> str:
    """Return where the model's weights come from, and where engines read them."""
    match preset.model.weights:
        case Bucket(bucket=bucket, prefix=prefix):
            source = f"gs://{bucket}/{prefix}"
        case HuggingFace(repository=repository, revision=revision):
            source = f"{repository} at {revision}"
    match preset.model.storage:
        case LocalSsd():
            return f"{source}, copied to each node's local SSD"
        case GcsFuse():
            return f"{source}, mounted by each pod with Cloud Storage FUSE"
        case HyperdiskMl(disk=disk, throughput_mib_per_s=throughput):
            return f"as {source} has them, on the Hyperdisk ML volume {disk} ({throughput:,} MiB/s for all nodes)"


def _replicas(spec: StackSpec) -> str:
    """Return how many replicas of which size, by role where there are several, and how they lie on nodes."""
    derived, shape = spec.derived, spec.preset.serving.shape
    size = some(derived.gpus_per_replica, "GPU")
    several = len(spec.roles) > 1
    scaling = spec.preset.serving.scaling
    least = f"{scaling.least_replicas} to " if scaling else ""
    parts = [f"{f'{role.name} ' if several else ''}{least}{role.replicas} x {size}" for role in spec.roles]
    parts += ["expert parallel"] if shape.expert_parallel else []
    if derived.nodes_per_replica > 1:
        return ", ".join((*parts, f"each over {derived.nodes_per_replica} nodes"))
    a_node = min(derived.replicas_per_node, derived.replicas)
    return ", ".join((*parts, f"{a_node if a_node > 1 else 'one'} a node"))


def _kv_cache(spec: StackSpec) -> str:
    """Return what a replica holds: tokens in GPU memory, and in the tier below."""
    cache, derived = spec.preset.serving.kv_cache, spec.derived
    tokens, decode = derived.kv_tokens_per_replica, derived.decode_kv_tokens_per_replica
    whole = decode is None or decode == tokens
    parts = [
        cache.dtype if cache.dtype != "auto" else "as computed",
        f"{tokens:,} tokens a replica"
        if whole
        else f"{tokens:,} tokens a prefill replica, {decode:,} a decode replica",
    ]
    tiers = {"host memory": cache.offload.host_dram_gib, "local SSD": cache.offload.local_ssd_gib}
    whose = " of each prefill replica" if len(spec.roles) > 1 else ""
    parts += [f"{gib:,} GiB more in {tier}{whose}" for tier, gib in tiers.items() if gib]
    return ", ".join(parts)


_AUTHENTICATION = {"none": "no authentication", "iap": "Identity-Aware Proxy"}


def _router(spec: StackSpec) -> str:
    router = spec.preset.serving.router
    parts = [f"{router.kind} {router.release}"]
    if isinstance(router, DynamoRouter):
        parts.append(some(router.frontends, "frontend"))
    return ", ".join((*parts, router.gateway.gateway_class, _AUTHENTICATION[router.gateway.authentication.kind]))


def _routing(spec: StackSpec) -> str:
    """Return who takes a request, what is remembered of sessions, and where requests wait."""
    routing = spec.preset.serving.routing
    policy, affinity, flow = routing.policy, routing.session_affinity, routing.flow_control
    parts = [
        f"by cached prefix ({policy.cache_view}) and load" if isinstance(policy, PrefixAndLoad) else "in turn",
        *([f"sessions {'stay' if affinity.strict else 'preferably stay'} on their replica"] if affinity else []),
        *([f"{some(len(flow.bands), 'band')} ({', '.join(flow.bands)}), {_ORDERS[flow.order]}"] if flow else []),
    ]
    return ", ".join(parts)


_ORDERS = {
    "arrival": "first come, first served",
    "turn_priority": "deeper sessions first",
    "shortest_uncached": "least left to compute first",
}


def _transport(spec: StackSpec) -> str:
    """Return what joins pods of different nodes, and what each of them claims for it."""
    transport, chosen = spec.rows.transport, spec.preset.serving.transport
    if transport is None or chosen is None:
        return "none"
    claims = []
    if transport.compute_domain:
        nodes = chosen.compute_domain_nodes
        claims.append(f"ComputeDomain of {some(nodes, 'node')}" if nodes else "ComputeDomain that grows with its pods")
    if transport.rdma_device_class:
        claims.append(f"{some(spec.derived.rdma_devices_per_pod, 'RDMA device')} a pod")
    return ", ".join((transport.name, *claims))


def _hardware(spec: StackSpec) -> str:
    system = spec.preset.system_pool
    pools = [
        _pool(pool) if len(spec.pools) == 1 else f"{pool.name} ({pool.plan.use}): {_pool(pool)}" for pool in spec.pools
    ]
    return f"{'; '.join(pools)}; {system.nodes} x {system.machine_type} for routers"


def _pool(pool: Pool) -> str:
    gpu = pool.row.gpu
    gpus = f"{gpu.count} x {gpu.model}, {gpu.memory_gb_per_gpu} GB each"
    return f"{pool.plan.nodes} x {pool.plan.machine_type} ({gpus})"


def _capacity(spec: StackSpec) -> str:
    """Return where the accelerator nodes come from."""
    found: dict[str, list[str]] = {}
    for pool in spec.pools:
        found.setdefault(_capacity_of(spec, pool), []).append(pool.name)
    return next(iter(found)) if len(found) == 1 else "; ".join(f"{', '.join(n)}: {kind}" for kind, n in found.items())


def _capacity_of(spec: StackSpec, pool: Pool) -> str:
    reservation = spec.reservation_of(pool)
    return f"reservation {reservation}" if reservation else _kind(pool)


def _kind(pool: Pool) -> str:
    return str(pool.plan.provisioning.kind).replace("_", " ")


def _price(spec: StackSpec) -> str:
    """Return the price as the nodes are had, and with commitments where those are known."""
    derived = spec.derived
    if derived.usd_per_hour is None:
        lacking = [
            f"{_kind(pool)} price of {pool.plan.machine_type}" for pool in spec.pools if pool.node_usd_per_hour is None
        ]
        return f"unknown: the catalog has no {', no '.join(dict.fromkeys(lacking))}"
    committed = {"a year": derived.usd_per_hour_one_year, "three years": derived.usd_per_hour_three_years}
    parts = [f"{derived.usd_per_hour:.2f} USD/h for the GPU nodes"]
    parts += [f"{usd:.2f} committed for {term}" for term, usd in committed.items() if usd is not None]
    prices = [pool.row.price for pool in spec.pools]
    sources = dict.fromkeys(f"{price.region} ({price.source}, {price.as_of})" for price in prices)
    return f"{', '.join(parts)}, {'; '.join(sources)}; all else comes on top"


def evidence_json(spec: StackSpec) -> list[dict[str, Any]]:
    """Return every feature with its standing."""
    return [
        {"feature": f.name, "status": f.status, "as_of": f.as_of, "source": f.source, "note": f.note}
        for f in spec.features
    ]


def evidence_table(spec: StackSpec) -> RenderableType:
    """Return every feature and how it is known to work."""
    rows = [(f.name, f.status, f.as_of, "; ".join(filter(None, (f.source, f.note)))) for f in spec.features]
    return table(("feature", "status", "as of", "source"), rows)


def derived_table(spec: StackSpec) -> RenderableType:
    """Return every derived number with unit and formula."""
    rows = [
        (str(line["name"]), amount(line["value"], str(line["unit"])), str(line["unit"]), str(line["formula"]))
        for line in spec.derived.explained()
    ]
    return table(("number", "value", "unit", "formula"), rows, right=("value",))


def amount(value: object, unit: str) -> str:
    """Write a derived number; bytes with their GiB."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        return str(value) if value is not None else "unknown" if unit == "USD/h" else "none"
    text = str(value) if unit == "port" else f"{value:,}"
    return f"{text} ({value / GIB:,.1f} GiB)" if unit == "bytes" and value >= GIB else text
