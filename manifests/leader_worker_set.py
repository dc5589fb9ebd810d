"""Replicas of vLLM that span nodes: a LeaderWorkerSet, and the controller that makes pods of it.

A replica is a group of pods, one on each of its nodes. The first, the leader, serves the API and starts its part of the
ranks; the others start theirs without an API (``--headless``).

- Ranks cannot join a running group, so a group whose pod restarts is made anew as a whole.
- A pod takes all GPUs of its node, so no two share one; which nodes form a group does not matter within one NVLink
  domain, and the pods' affinity keeps them in one. Exclusive placement would add nothing.
- Groups are replaced one at a time, without surge: there are no spare GPUs. While a pool is drained there are. Groups
  of one revision are kept in one NVLink domain, so that those of the next one can be in another pool's.
- A worker has no requests of its own and ends at once when it is told to. If one is evicted, as in a node's drain, the
  requests that its leader is serving fail.

``Available`` says that all groups are there, up to date and ready.
Source: https://lws.sigs.k8s.io/docs/concepts/ ; vLLM 0.33.0, vllm/entrypoints/cli/serve.py (run_headless)
"""

from __future__ import annotations

from manifests.chart_values import chart_values
from manifests.engine_pod import pod_template
from manifests.engine_roles import ranks_name, workload_name
from manifests.fabric_claims import claim_objects
from manifests.namespaces import LEADER_WORKER_SET
from manifests.naming import ENGINE, metadata
from manifests.objects import HelmRelease, KubernetesObject
from manifests.placement import system_labels, system_tolerations
from manifests.rollout import one_at_a_time
from manifests.tier_evictor import evictor_objects
from stacks.resolve import StackSpec
from stacks.roles import Role

__all__ = ["leader_worker_set", "leader_worker_set_releases"]

_RELEASE = "lws"
_BEFORE_RELEASE = ("lws-namespace", f"{LEADER_WORKER_SET}-network-policy")


def leader_worker_set(spec: StackSpec, role: Role) -> KubernetesObject:
    """The set of engines; its kind comes with the controller."""
    derived = spec.derived
    return KubernetesObject(
        area="serving",
        name=workload_name(role),
        body={
            "apiVersion": "leaderworkerset.x-k8s.io/v1",
            "kind": "LeaderWorkerSet",
            # The size of a group cannot be changed; of another size it is another set.
            "metadata": metadata(spec, f"{workload_name(role)}-nodes{derived.nodes_per_replica}", component=ENGINE),
            "spec": {
                "replicas": role.replicas,
                "startupPolicy": "LeaderCreated",  # the leader is ready only once its workers' ranks have joined
                "rolloutStrategy": {
                    "type": "RollingUpdate",
                    "rollingUpdateConfiguration": one_at_a_time(spec),
                },
                "leaderWorkerTemplate": {
                    "size": derived.nodes_per_replica,
                    "restartPolicy": "RecreateGroupOnPodRestart",
                    "leaderTemplate": pod_template(spec, role),
                    "workerTemplate": pod_template(spec, role, serves=False),
                },
            },
        },
        timeout_s=derived.workload_budget_s,
        update_timeout_s=derived.rollout_budget_s,
        wait_for=("condition=Available",),
        alone=True,
        after=(
            "engine-service-account",
            f"{workload_name(role)}-network-policy",
            f"{ranks_name(role)}-network-policy",
            *(item.name for item in (*claim_objects(spec), *evictor_objects(spec))),
            _RELEASE,
        ),
    )


def leader_worker_set_releases(spec: StackSpec) -> tuple[HelmRelease, ...]:
    """The controller, on system nodes; none where every replica is one pod."""
    chart = spec.charts.get("leader_worker_set")
    if chart is None:
        return ()
    values = {
        "image": {"manager": {"pullPolicy": "IfNotPresent"}},
        "podSecurityContext": {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}},
        "nodeSelector": system_labels(spec),
        "tolerations": system_tolerations(spec),
    }
    return (
        HelmRelease(
            area="serving",
            name=_RELEASE,
            chart=chart,
            values=chart_values(chart, values),
            timeout_s=spec.derived.release_budget_s,
            after=_BEFORE_RELEASE,
        ),
    )
