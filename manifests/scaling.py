"""Elastic scaling of engines: GKE reads a gauge of each pod, and Kubernetes' own autoscaler sets the replicas by it.

- The gauges are the engine's own (the engine's row names them), read from its port by GKE's agent on the node: no
  adapter, no detour by monitoring, so that scaling works where nothing is monitored.
- ``maxReplicas`` is what the shape says, and what there are nodes for: never beyond the pool or its reservation.
- A replica goes only after the load has been lower for as long as one takes to come back, and one at a time: sessions
  stick to replicas, and what they have cached goes with them. Up there is no wait: pods that start count as idle,
  so the autoscaler does not ask again for those it has asked for.
- GKE takes selectors of plain labels only, so the pods carry one.

Source: https://docs.cloud.google.com/kubernetes-engine/docs/how-to/expose-custom-metrics-autoscaling
"""

from __future__ import annotations

from typing import Any

from manifests.engine_roles import engine_port, workload_name
from manifests.naming import ENGINE, metadata
from manifests.objects import KubernetesObject
from stacks.resolve import StackSpec
from stacks.spec import Scaling

__all__ = ["plain_label", "scaling"]

_LABEL = "autoscaled"
"""Letters, digits, hyphens and underscores are all that GKE takes in it."""
_RUNNING = "running-requests"
_WAITING = "waiting-requests"


def plain_label(spec: StackSpec) -> dict[str, str]:
    """The label by which GKE finds the pods whose gauges it reads; none where nothing is scaled."""
    return {_LABEL: spec.name} if spec.preset.serving.scaling else {}


def scaling(spec: StackSpec) -> tuple[KubernetesObject, ...]:
    """Which gauges are read, and what follows from them; nothing where the replicas are as many as written."""
    plan, gauges = spec.preset.serving.scaling, spec.rows.engine.gauges
    if plan is None:
        return ()
    if gauges is None:
        raise TypeError(f"{spec.name} is scaled by gauges that its engine does not have, which its checks refuse")
    (role,) = spec.roles
    targets = _targets(spec, plan)
    exported = {_RUNNING: gauges.running, _WAITING: gauges.waiting}
    read = [{"gauge": {"name": name, "prometheusMetricName": exported[name]}} for name in targets]
    endpoint = {"port": engine_port(spec, role), "path": spec.rows.engine.metrics_path}
    return (_gauges(spec, endpoint, read), _autoscaler(spec, plan, workload_name(role), targets))


def _targets(spec: StackSpec, plan: Scaling) -> dict[str, int]:
    """Gauges by the name that the autoscaler knows them by, with what they are to be on average."""
    found = {_RUNNING: spec.derived.scaling_running_requests, _WAITING: plan.waiting_requests}
    return {name: value for name, value in found.items() if value is not None}


def _gauges(spec: StackSpec, endpoint: dict[str, Any], read: list[dict[str, Any]]) -> KubernetesObject:
    return KubernetesObject(
        area="serving",
        name="engine-gauges",
        body={
            "apiVersion": spec.rows.autoscaling.pod_metrics.api_version,
            "kind": "AutoscalingMetric",
            "metadata": metadata(spec, ENGINE, component=ENGINE),
            "spec": {
                "metrics": [
                    {
                        "pod": {
                            "selector": {"matchLabels": plain_label(spec)},
                            "containers": [{"endpoint": endpoint, "metrics": read}],
                        }
                    }
                ]
            },
        },
    )


def _autoscaler(spec: StackSpec, plan: Scaling, deployment: str, targets: dict[str, int]) -> KubernetesObject:
    derived = spec.derived
    group = spec.rows.autoscaling.pod_metrics.api_version.partition("/")[0]
    return KubernetesObject(
        area="serving",
        name="engine-autoscaler",
        body={
            "apiVersion": "autoscaling/v2",
            "kind": "HorizontalPodAutoscaler",
            "metadata": metadata(spec, ENGINE, component=ENGINE),
            "spec": {
                "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": deployment},
                "minReplicas": plan.least_replicas,
                "maxReplicas": derived.replicas,
                "metrics": [
                    {
                        "type": "Pods",
                        "pods": {
                            "metric": {"name": f"{group}|{ENGINE}|{name}"},
                            "target": {"type": "AverageValue", "averageValue": str(value)},
                        },
                    }
                    for name, value in targets.items()
                ],
                "behavior": {
                    "scaleDown": {
                        "stabilizationWindowSeconds": derived.scale_down_window_s,
                        "policies": [{"type": "Pods", "value": 1, "periodSeconds": derived.scale_down_period_s}],
                    }
                },
            },
        },
        after=("engine-gauges",),
    )
