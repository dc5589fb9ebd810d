"""In what engine pods differ where prefill and decode are apart: a name, a label, a port, a proxy. In nothing else.

Prefill and decode must run the same engine with the same settings, or they refuse each other's KV cache: both come from
one description, and only what is here depends on the role.

- The router, and the proxy before decode engines, tell roles by a label.
- A decode pod is reached at the port where other engines listen, but the proxy is there, and the engine behind it.
- Prefill hands KV cache to decode, so with NVLink between nodes both are in one NVLink domain: pods of all roles that
  were rendered for the same pools are kept together, and those of the next pools can be in another domain.
Source: llm-d-router v0.10.0, docs/disaggregation.md; vLLM 0.33.0, nixl compatibility hash
"""

from __future__ import annotations

from manifests.chosen import llmd_release
from manifests.naming import ENGINE, ENGINE_WORKER, content_name, labels, selector
from stacks.resolve import StackSpec
from stacks.roles import Role

__all__ = ["apart", "engine_port", "pod_labels", "ranks_name", "revision_label", "role_selector", "workload_name"]

_ROLE = "llm-d.ai/role"
_POOLS = "beamline/pools"
_REVISION = {"Deployment": "pod-template-hash", "LeaderWorkerSet": "leaderworkerset.sigs.k8s.io/template-revision-hash"}
"""The label by which each marks the pods of a revision: these are kept together, so that the next can be elsewhere.
Kubernetes ignores a key that a pod has not, and would keep all revisions together."""


def apart(role: Role) -> bool:
    """Whether prefill and decode are on pods of their own."""
    return role.name != "worker"


def workload_name(role: Role) -> str:
    """Name of what makes the pods of a role."""
    return f"{ENGINE}-{role.name}" if apart(role) else ENGINE


def ranks_name(role: Role) -> str:
    """What all pods of a role are called together, where a replica has several."""
    return f"ranks-{role.name}" if apart(role) else "ranks"


def engine_port(spec: StackSpec, role: Role) -> int:
    """Where the engine itself listens; requests come to ``derived.engine_port`` whoever is there."""
    return llmd_release(spec).routing_sidecar.engine_port if role.name == "decode" else spec.derived.engine_port


def role_selector(spec: StackSpec, role: Role) -> dict[str, str]:
    """Labels that find the pods of a role that serve."""
    return {**selector(spec, ENGINE), **({_ROLE: role.name} if apart(role) else {})}


def pod_labels(spec: StackSpec, role: Role, *, serves: bool) -> dict[str, str]:
    """Labels of a role's pods."""
    found = labels(spec, ENGINE if serves else ENGINE_WORKER)
    if not apart(role):
        return found
    pools = [spec.pool_name(pool) for pool in spec.pools if pool.serves]
    return {**found, _ROLE: role.name, _POOLS: content_name("pools", pools)}


def revision_label(spec: StackSpec, role: Role) -> str:
    """Key of the label whose value is the same in pods that are to be near each other."""
    workload = "Deployment" if spec.derived.nodes_per_replica == 1 else "LeaderWorkerSet"
    return _POOLS if apart(role) else _REVISION[workload]
