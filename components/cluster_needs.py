"""What a cluster has to have before a stack can use it: one row per need, with what to do about it.

The texts are filled in with the names of the lookup's arguments and with ``master_version``.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from stacks.problems import Problem
from stacks.versions import older

__all__ = ["unmet_needs"]

_UPDATE = "gcloud container clusters update {cluster} --region={region} --project={project} "


@dataclass(frozen=True)
class _Need:
    rule: str
    met: Callable[[Mapping[str, Any], Any], bool]
    """Arguments of the component and the cluster as Google describes it -> whether the cluster will do."""
    why: str
    allowed: str
    remedy: str
    source: str


def _some(blocks: Iterable[Any] | None, holds: Callable[[Any], bool]) -> bool:
    """Tell whether any block does; Google leaves out blocks that were never set."""
    return any(holds(block) for block in blocks or ())


def _enabled(blocks: Iterable[Any] | None) -> bool:
    return _some(blocks, lambda block: bool(block.enabled))


_NEEDS = (
    _Need(
        "dataplane-v2",
        lambda _, cluster: bool(cluster.datapath_provider == "ADVANCED_DATAPATH"),
        "it has no Dataplane V2: no NetworkPolicy is enforced, and accelerator networks need it",
        "a cluster with datapathProvider ADVANCED_DATAPATH",
        "choose another cluster: it cannot be changed",
        "GKE docs, Dataplane V2",
    ),
    _Need(
        "workload-identity",
        lambda _, cluster: _some(cluster.workload_identity_configs, lambda config: bool(config.workload_pool)),
        "it has no Workload Identity: pods could read no bucket without a key",
        "workload pool {project}.svc.id.goog",
        _UPDATE + "--workload-pool={project}.svc.id.goog",
        "GKE docs, Workload Identity",
    ),
    _Need(
        "gateway-api",
        lambda _, cluster: _some(
            cluster.gateway_api_configs, lambda config: bool(config.channel == "CHANNEL_STANDARD")
        ),
        "it has no Gateway API: the kinds and GKE's controller of Gateways are missing",
        "Gateway API channel standard",
        _UPDATE + "--gateway-api=standard",
        "GKE docs, deploying Gateways",
    ),
    _Need(
        "shielded-nodes",
        lambda args, cluster: args["shielded_nodes"] or not cluster.enable_shielded_nodes,
        "its nodes are shielded, and bare metal has no virtual TPM: GKE refuses the pool",
        "a cluster with Shielded GKE nodes off, which holds for all its nodes",
        _UPDATE + "--no-enable-shielded-nodes",
        "AI Hypercomputer docs, A4X Max with GKE",
    ),
    _Need(
        "shielded-nodes",
        lambda args, cluster: not args["shielded_nodes"] or bool(cluster.enable_shielded_nodes),
        "Shielded GKE nodes are off in it, as bare metal needs them: these would join without proof of who they are",
        "a cluster with Shielded GKE nodes on, which has no bare metal",
        "choose another cluster, or if it has no bare metal: " + _UPDATE + "--enable-shielded-nodes",
        "GKE docs, Shielded GKE nodes; AI Hypercomputer docs, A4X Max with GKE",
    ),
    _Need(
        "node-version",
        lambda args, cluster: not older(cluster.master_version, args["node_version"]),
        "its control plane is at {master_version} and new nodes would be at {node_version}; nodes cannot be newer",
        "a control plane at {node_version} or later",
        "lower cluster.version, or upgrade the control plane first",
        "GKE docs, version skew",
    ),
    _Need(
        "secret-manager-addon",
        lambda args, cluster: not args["mounts_secrets"] or _enabled(cluster.secret_manager_configs),
        "pods mount a secret of Secret Manager, and it lacks the add-on for that",
        "the Secret Manager add-on, or weights that need no token",
        _UPDATE + "--enable-secret-manager",
        "GKE docs, Secret Manager add-on",
    ),
    _Need(
        "gcs-fuse-addon",
        lambda args, cluster: (
            not args["mounts_buckets"]
            or _some(cluster.addons_configs, lambda config: _enabled(config.gcs_fuse_csi_driver_configs))
        ),
        "pods mount a bucket with weights, and it lacks the add-on for that: they would wait for their volume for ever",
        "the Cloud Storage FUSE CSI driver, or model.storage.kind: local_ssd",
        _UPDATE + "--update-addons=GcsFuseCsiDriver=ENABLED",
        "GKE docs, Cloud Storage FUSE CSI driver",
    ),
    _Need(
        "managed-prometheus",
        lambda args, cluster: (
            not args["managed_prometheus"]
            or _some(cluster.monitoring_configs, lambda config: _enabled(config.managed_prometheuses))
        ),
        "engine and router are to be scraped, and it has no managed collection: the kinds for it are missing",
        "managed Prometheus, or monitoring.kind: none",
        _UPDATE + "--enable-managed-prometheus",
        "GKE docs, managed collection",
    ),
    _Need(
        "hpa-profile",
        lambda args, cluster: (
            not args["scales_pods"]
            or _some(cluster.pod_autoscalings, lambda config: bool(config.hpa_profile == "PERFORMANCE"))
        ),
        "replicas are scaled by gauges that GKE reads from pods, and it lacks the performance profile for that",
        "the performance profile of horizontal pod autoscaling, or serving.scaling: null",
        _UPDATE + "--hpa-profile=performance",
        "GKE docs, expose custom metrics for autoscaling",
    ),
)


def unmet_needs(args: Mapping[str, Any], cluster: Any) -> list[Problem]:
    """Return a problem for everything that the cluster lacks for this use, all at once."""
    words = {**args, "master_version": cluster.master_version}
    return [
        Problem(
            rule=need.rule,
            path="cluster.name",
            value=args["cluster"],
            why=need.why.format_map(words),
            allowed=need.allowed.format_map(words),
            remedy=need.remedy.format_map(words),
            source=f"Google Cloud, asked now; {need.source}",
        )
        for need in _NEEDS
        if not need.met(args, cluster)
    ]
