"""What Google's Managed Prometheus scrapes: engines and router or frontends, one object and one endpoint each.

Two endpoints with one port name in one object are refused (GoogleCloudPlatform/prometheus-engine#479). The operator of
Managed Prometheus reports in the object's status whether it has taken it, and ``up`` waits for that.
Source: https://cloud.google.com/stackdriver/docs/managed-prometheus/setup-managed
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from manifests.dynamo import FRONTEND, FRONTEND_PORT_NAME, SYSTEM_PORT_NAME, member_selector
from manifests.engine_pod import PORT_NAME
from manifests.engine_roles import role_selector
from manifests.llmd.envoy import ENVOY_METRICS_PORT_NAME, has_envoy
from manifests.llmd.envoy_bootstrap import METRICS_PATH
from manifests.llmd.router import METRICS_PORT_NAME
from manifests.naming import ENGINE, ROUTER, metadata, selector
from manifests.objects import KubernetesObject
from manifests.tier_evictor import EVICTOR_PORT_NAME, needs_evictor
from stacks.resolve import StackSpec
from stacks.spec import ManagedPrometheus

__all__ = ["monitoring"]

_TAKEN_WITHIN_S = 300
"""Its operator reads changes within seconds; it may itself be starting in a cluster this young."""
_METRICS = "/metrics"


@dataclass(frozen=True)
class _Scraped:
    """One component: the labels that find its pods, and the port's name and path."""

    component: str
    pods: dict[str, str]
    port: str
    path: str


def _llmd(spec: StackSpec) -> tuple[_Scraped, ...]:
    return (
        _Scraped(ENGINE, selector(spec, ENGINE), PORT_NAME, spec.rows.engine.metrics_path),
        _Scraped(ROUTER, selector(spec, ROUTER), METRICS_PORT_NAME, _METRICS),
        *([_Scraped("router-envoy", selector(spec, ROUTER), ENVOY_METRICS_PORT_NAME, METRICS_PATH)] * has_envoy(spec)),
    )


def _dynamo(spec: StackSpec) -> tuple[_Scraped, ...]:
    """A worker's system port has the engine's metrics as well as Dynamo's: the engine's own server does not run."""
    return (
        _Scraped(ENGINE, member_selector(spec, ENGINE), SYSTEM_PORT_NAME, _METRICS),
        _Scraped(FRONTEND, member_selector(spec, FRONTEND), FRONTEND_PORT_NAME, _METRICS),
    )


def _evictors(spec: StackSpec) -> Iterator[_Scraped]:
    """One role at most has tiers: decode replicas keep no prefixes."""
    for role in spec.roles:
        if needs_evictor(spec, role):
            of_dynamo = spec.preset.serving.router.kind == "dynamo"
            pods = member_selector(spec, ENGINE, role=role.name) if of_dynamo else role_selector(spec, role)
            yield _Scraped(EVICTOR_PORT_NAME, pods, EVICTOR_PORT_NAME, _METRICS)


_SCRAPED: dict[str, Callable[[StackSpec], tuple[_Scraped, ...]]] = {"llm-d": _llmd, "dynamo": _dynamo}
"""By router stack."""


def monitoring(spec: StackSpec) -> tuple[KubernetesObject, ...]:
    """One PodMonitoring for each component; none if nobody is to scrape them."""
    if not isinstance(spec.preset.monitoring, ManagedPrometheus):
        return ()
    interval_s = spec.preset.monitoring.scrape_interval_s
    scraped = (*_SCRAPED[spec.preset.serving.router.kind](spec), *_evictors(spec))
    return tuple(_pod_monitoring(spec, item, interval_s) for item in scraped)


def _pod_monitoring(spec: StackSpec, scraped: _Scraped, interval_s: int) -> KubernetesObject:
    return KubernetesObject(
        area="monitoring",
        name=scraped.component,
        body={
            "apiVersion": "monitoring.googleapis.com/v1",
            "kind": "PodMonitoring",
            "metadata": metadata(spec, scraped.component, component=scraped.component),
            "spec": {
                "selector": {"matchLabels": scraped.pods},
                "endpoints": [{"port": scraped.port, "path": scraped.path, "interval": f"{interval_s}s"}],
            },
        },
        timeout_s=_TAKEN_WITHIN_S,
        wait_for=("condition=ConfigurationCreateSuccess",),
    )
