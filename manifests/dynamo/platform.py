"""Dynamo's platform: one Helm chart with the operator, and Grove, which starts the pods of a graph together.

- The operator installs the kinds it serves, from an init container; a graph can only be written once the release is up.
- Grove is installed by the same chart, in the version that goes with it. A replica over several nodes needs it.
- No KAI scheduler: a graph of this kit fills its pool, so there is nothing to queue for, and Kubernetes' own scheduler
  places the pods. No etcd and no NATS: workers are found by way of the Kubernetes API, requests go by TCP, events by
  ZMQ. All are off by default; they are named here so that no release turns one on by itself.
- The operator's image is in the catalog row; Grove's is not, which plan says. Both run on the system nodes, where they
  find room whatever state the accelerators are in.
Source: ai-dynamo/dynamo, deploy/helm/charts/platform (README.md, values.yaml)
"""

from __future__ import annotations

from typing import Any

from manifests.chart_values import chart_values
from manifests.namespaces import DYNAMO
from manifests.objects import HelmRelease
from manifests.placement import system_labels, system_tolerations
from stacks.resolve import StackSpec

__all__ = ["PLATFORM", "dynamo_releases"]

PLATFORM = "dynamo-platform"
_BEFORE_RELEASE = ("dynamo-namespace", f"{DYNAMO}-network-policy")
_ABSENT = {"install": False}


def dynamo_releases(spec: StackSpec) -> tuple[HelmRelease, ...]:
    """The platform; none for a stack with another router."""
    chart = spec.charts.get("dynamo")
    if chart is None:
        return ()
    return (
        HelmRelease(
            area="serving",
            name=PLATFORM,
            chart=chart,
            values=chart_values(chart, _values(spec)),
            timeout_s=spec.derived.release_budget_s,
            after=_BEFORE_RELEASE,
        ),
    )


def _values(spec: StackSpec) -> dict[str, Any]:
    placed = {"tolerations": system_tolerations(spec), "affinity": _on_system_nodes(spec)}
    return {
        "global": {
            "grove": {"install": True, "enabled": True},
            "kai-scheduler": {**_ABSENT, "enabled": False},
            "etcd": _ABSENT,
            "nats": _ABSENT,
        },
        "dynamo-operator": {"controllerManager": placed},
        "grove": placed,
    }


def _on_system_nodes(spec: StackSpec) -> dict[str, Any]:
    """The chart has no nodeSelector."""
    expressions = [{"key": key, "operator": "In", "values": [value]} for key, value in system_labels(spec).items()]
    return {
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{"matchExpressions": expressions}]}
        }
    }
