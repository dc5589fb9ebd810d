"""What must be in the cluster before pods can reach GPUs of other nodes: a node agent for RDMA, a driver for NVLink.

NVIDIA's DRA driver brings ComputeDomains: it starts an IMEX daemon on every node of one and hands out the channels
through which GPUs of other nodes are mapped. Only that half of it is switched on; GPUs stay GKE's device plugin's,
which refuses to share a node with the other half.

- Its own pods have system priority, which GKE admits outside kube-system only where a ResourceQuota names it.
- Its namespace has the Pod Security level ``privileged``: the kubelet plugin and the IMEX daemons are privileged
  containers that mount the kubelet's folders, the driver's and device nodes.
- Its webhook is off: it converts between versions of ComputeDomain, of which the kit uses one, and would need a
  certificate authority in the cluster.
- Placement is ours: the chart's own rules look for labels of node feature discovery, which GKE does not set.

Value keys: kubernetes-sigs/dra-driver-nvidia-gpu, deployments/helm (read 2026-08-07); settings for GKE: AI
Hypercomputer docs, create a custom AI-optimized GKE cluster which uses A4X Max.
"""

from __future__ import annotations

from typing import Any

from manifests.chart_values import chart_values
from manifests.namespaces import DRA_DRIVER
from manifests.naming import metadata
from manifests.node_agent import node_agent
from manifests.objects import HelmRelease, KubernetesObject
from manifests.placement import accelerator_tolerations, agent_pools, system_labels, system_tolerations
from stacks.charts import ChartReference
from stacks.resolve import StackSpec

__all__ = ["fabric", "fabric_releases"]

_NAMESPACE, _QUOTA, _POLICY = "dra-driver-namespace", "dra-driver-quota", f"{DRA_DRIVER}-network-policy"
_DRIVER_ROOT = "/home/kubernetes/bin/nvidia"
"""Where GKE installs NVIDIA's driver on Container-Optimized OS."""
_SYSTEM_PRIORITIES = ["system-node-critical", "system-cluster-critical"]
_PODS_PER_NODE = 2
"""The kubelet plugin, and room for the IMEX daemon, as Google's guide counts; chart 0.5.0 gives that no priority."""
_CONTROLLERS = 2
"""There is one; a quota without room for its successor would stop the controller's own update."""


def fabric(spec: StackSpec) -> tuple[KubernetesObject, ...]:
    """The node agent, and the driver's quota; of these, what the stack's transport needs."""
    chart = spec.charts.get("dra_driver")
    return (*node_agent(spec), *((_quota(spec, chart),) if chart else ()))


def fabric_releases(spec: StackSpec) -> tuple[HelmRelease, ...]:
    """NVIDIA's DRA driver; none where pods claim no ComputeDomain."""
    chart = spec.charts.get("dra_driver")
    if chart is None:
        return ()
    return (
        HelmRelease(
            area="fabric",
            name="dra-driver",
            chart=chart,
            values=chart_values(chart, _values(spec)),
            timeout_s=spec.derived.release_budget_s,
            after=(_NAMESPACE, _POLICY, _QUOTA),
        ),
    )


def _quota(spec: StackSpec, chart: ChartReference) -> KubernetesObject:
    pods = _PODS_PER_NODE * sum(pool.plan.nodes for pool in agent_pools(spec)) + _CONTROLLERS
    scope = {"scopeName": "PriorityClass", "operator": "In", "values": _SYSTEM_PRIORITIES}
    quota = {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": metadata(spec, "system-priority", component=DRA_DRIVER, namespace=chart.namespace),
        "spec": {"hard": {"pods": str(pods)}, "scopeSelector": {"matchExpressions": [scope]}},
    }
    return KubernetesObject(area="fabric", name=_QUOTA, body=quota, after=(_NAMESPACE,))


def _values(spec: StackSpec) -> dict[str, Any]:
    hardware = spec.rows.hardware
    nodes = {
        "cloud.google.com/gke-accelerator": [hardware.gpu.accelerator_type],
        "kubernetes.io/arch": [hardware.machine.arch],
        "cloud.google.com/gke-nodepool": [spec.pool_name(pool) for pool in agent_pools(spec)],
    }
    expressions = [{"key": key, "operator": "In", "values": values} for key, values in nodes.items()]
    required = {"nodeSelectorTerms": [{"matchExpressions": expressions}]}
    return {
        "nvidiaDriverRoot": _DRIVER_ROOT,
        "resources": {"gpus": {"enabled": False}, "computeDomains": {"enabled": True}},
        "webhook": {"enabled": False},
        "controller": {"nodeSelector": system_labels(spec), "tolerations": system_tolerations(spec)},
        "kubeletPlugin": {
            "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}},
            "tolerations": accelerator_tolerations(spec),
        },
    }
