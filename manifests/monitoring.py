"""What Google's Managed Prometheus scrapes: the engines and the router, one object and one endpoint each.

Two endpoints with one port name in one object are refused (GoogleCloudPlatform/prometheus-engine#479). The operator of
Managed Prometheus reports in the object's status whether it has taken it, and ``up`` waits for that.
Source: https://cloud.google.com/stackdriver/docs/managed-prometheus/setup-managed
"""

from __future__ import annotations

from manifests.engine import PORT_NAME
from manifests.naming import ENGINE, ROUTER, metadata, selector
from manifests.objects import KubernetesObject
from manifests.router import METRICS_PORT_NAME
from stacks.resolve import StackSpec
from stacks.spec import ManagedPrometheus

__all__ = ["monitoring"]

_TAKEN_WITHIN_S = 300
"""Its operator reads changes within seconds; it may itself be starting in a cluster this young."""


def monitoring(spec: StackSpec) -> tuple[KubernetesObject, ...]:
    """One PodMonitoring for the engines, one for the router; none if nobody is to scrape them."""
    if not isinstance(spec.preset.monitoring, ManagedPrometheus):
        return ()
    interval_s = spec.preset.monitoring.scrape_interval_s
    return (
        _pod_monitoring(spec, ENGINE, PORT_NAME, path=spec.rows.engine.metrics_path, interval_s=interval_s),
        _pod_monitoring(spec, ROUTER, METRICS_PORT_NAME, path="/metrics", interval_s=interval_s),
    )


def _pod_monitoring(spec: StackSpec, component: str, port: str, *, path: str, interval_s: int) -> KubernetesObject:
    return KubernetesObject(
        area="monitoring",
        name=component,
        body={
            "apiVersion": "monitoring.googleapis.com/v1",
            "kind": "PodMonitoring",
            "metadata": metadata(spec, component, component=component),
            "spec": {
                "selector": {"matchLabels": selector(spec, component)},
                "endpoints": [{"port": port, "path": path, "interval": f"{interval_s}s"}],
            },
        },
        timeout_s=_TAKEN_WITHIN_S,
        wait_for=("condition=ConfigurationCreateSuccess",),
    )
