"""The project itself: its policy, its APIs, the quotas that have a limit for each family."""

from __future__ import annotations

from typing import Any
from urllib.parse import unquote

from beamline.sandbox.cloud.access import roles_of
from beamline.sandbox.cloud.quota_metrics import metrics
from beamline.sandbox.cloud.quota_use import quota_uses
from beamline.sandbox.google_api.routes import Call, Route, not_found

__all__ = ["ROUTES"]

_RESOURCES, _USAGE, _MONITORING = (
    "cloudresourcemanager.googleapis.com",
    "serviceusage.googleapis.com",
    "monitoring.googleapis.com",
)
_QUOTA_METRICS = {
    "gpus_per_gpu_family": "GPUS_PER_GPU_FAMILY",
    "cpus_per_vm_family": "CPUS_PER_VM_FAMILY",
    "local_ssd_total_storage_per_vm_family": "LOCAL_SSD_TOTAL_GB_PER_VM_FAMILY",
}
"""What Service Usage and Cloud Monitoring call a metric that Compute Engine's messages call otherwise."""


def _project(call: Call) -> dict[str, Any]:
    return {
        "name": f"projects/{call.inventory.number}",
        "projectId": call.simulation.project,
        "displayName": "SIMULATED",
        "state": "ACTIVE",
    }


def _policy(call: Call) -> dict[str, Any]:
    members = [f"serviceAccount:{call.inventory.gke_service_agent}"]
    members += [f"serviceAccount:{call.inventory.compute_default_account}"]
    by_role: dict[str, list[str]] = {}
    for member in members:
        for role in sorted(roles_of(member, call.simulation)):
            by_role.setdefault(role, []).append(member)
    return {"version": 1, "bindings": [{"role": role, "members": by_role[role]} for role in sorted(by_role)]}


def _services(call: Call) -> dict[str, Any]:
    parent = f"projects/{call.inventory.number}"
    return {
        "services": [
            {"name": f"{parent}/services/{api}", "parent": parent, "state": "ENABLED"}
            for api in sorted(call.inventory.apis)
        ]
    }


def _family_quota(call: Call) -> dict[str, Any]:
    """Answer with the limit for all families and regions, and every one that is said apart."""
    name = unquote(call.parts["metric"])
    metric = _QUOTA_METRICS.get(name.partition("/")[2], "")
    limits = [quota for quota in call.inventory.quotas if quota.metric == metric]
    if not limits:
        raise not_found(name)
    dimension = metrics()[metric].dimension
    buckets = [
        {
            "effectiveLimit": str(int(quota.limit)),
            "dimensions": {key: value for key, value in (("region", quota.region), (dimension, quota.family)) if value},
        }
        for quota in limits
    ]
    return {"metric": name, "consumerQuotaLimits": [{"metric": name, "quotaBuckets": buckets}]}


def _usage(call: Call) -> dict[str, Any]:
    """Answer with the last usage; of a family that nobody uses there is a record, of nothing."""
    metric = call.filtered(r'metric\.type = "compute\.googleapis\.com/quota/(\w+)/usage"')
    region = call.filtered(r'resource\.labels\.location = "([^"]+)"')
    family = call.filtered(r'metric\.labels\.\w+ = "([^"]+)"')
    used = [
        use.used
        for use in quota_uses(call.simulation, region)
        if (use.quota.metric, use.quota.family) == (_QUOTA_METRICS.get(metric), family) and use.used
    ]
    return {"timeSeries": [{"points": [{"value": {"int64Value": str(int(amount))}}]} for amount in used or [0]]}


ROUTES = (
    Route("GET", _RESOURCES, "v3/projects/{project}", "resourcemanager.projects.get", _project),
    Route(
        "POST",
        _RESOURCES,
        "v3/projects/{project}:getIamPolicy",
        "resourcemanager.projects.getIamPolicy",
        _policy,
    ),
    Route(
        "POST",
        _RESOURCES,
        "v3/projects/{project}:testIamPermissions",
        "",
        lambda call: call.held(call.body.get("permissions", [])),
    ),
    Route("GET", _USAGE, "v1/projects/{project}/services", "serviceusage.services.list", _services),
    Route(
        "GET",
        _USAGE,
        "v1beta1/projects/{project}/services/compute.googleapis.com/consumerQuotaMetrics/{metric}",
        "serviceusage.quotas.get",
        _family_quota,
    ),
    Route("GET", _MONITORING, "v3/projects/{project}/timeSeries", "monitoring.timeSeries.list", _usage),
)
