"""SIMULATED LeaderWorkerSet controller: expands sets into groups of real pods and reports on them.

Names, labels, annotations and environment of the pods are those of lws 0.9. Abbreviated: pods are made directly instead
of through StatefulSets and an admission webhook; rollouts know no partition, and replace the first group first; no
exclusive topologies, no gang scheduling. The message of ``Progressing`` says why, which the real one does not.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from beamline.sandbox.operators.conditions import Condition, written
from beamline.sandbox.operators.pod_groups import REVISION, Group, Groups, Progress, revision_of
from beamline.sandbox.operators.pods import going, is_ready, ready_deployment, why_waiting
from beamline.sandbox.operators.world import Manifest, World
from beamline.sandbox.operators.writing import Writer, controls, digest, owner_of

__all__ = ["LeaderWorkerSets"]

_PREFIX = "leaderworkerset.sigs.k8s.io"
_PROGRAM = "--config=/controller_manager_config.yaml"
"""What the chart's manager is started with."""
_RECREATING = {"RecreateGroupOnPodRestart", "RecreateGroupAfterStart"}


@dataclass
class LeaderWorkerSets:
    """The controller of one cluster."""

    world: World
    writer: Writer
    _groups: Groups = field(init=False)

    def __post_init__(self) -> None:
        self._groups = Groups(self.writer)

    def run_once(self) -> float | None:
        """Bring every set's pods and status up to date, as long as the operator is installed and ready."""
        if ready_deployment(self.world, _PROGRAM) is None:
            return None
        for found in self.world.of_kind("LeaderWorkerSet"):
            if not going(found):
                self._reconcile(found)
        return None

    def _reconcile(self, found: Manifest) -> None:
        spec = found["spec"]
        for service in _services(found):
            self.writer.ensure(service)
        pods = [pod for pod in self.world.of_kind("Pod") if controls(found, pod)]
        update = (spec.get("rolloutStrategy") or {}).get("rollingUpdateConfiguration") or {}
        wanted = [_group(found, index) for index in range(spec["replicas"])]
        surge = _share(update.get("maxSurge", 0), spec["replicas"]) if _in_update(wanted, pods) else 0
        unavailable = _share(update.get("maxUnavailable", 1), spec["replicas"])
        wanted += [_group(found, spec["replicas"] + place) for place in range(surge)]
        progress = self._groups.reconcile(
            wanted,
            pods,
            together=spec["leaderWorkerTemplate"]["restartPolicy"] in _RECREATING,
            max_unavailable=surge + unavailable or 1,  # lws refuses both to be none; a percentage may come to that
        )
        for refusal in progress.refused:
            self.writer.warn(found, "FailedCreate", refusal, "leaderworkerset")
        self.writer.status(found, _status(found, progress, pods, surges=surge > 0))


def _in_update(wanted: Sequence[Group], pods: Sequence[Manifest]) -> bool:
    """Tell whether groups are being replaced: one is of another revision, or there are more, and not all are ready."""
    of = {name: group for group in wanted for name in (pod["metadata"]["name"] for pod in group.pods)}
    there = {pod["metadata"]["name"]: pod for pod in pods}
    stale = any(revision_of(there[name]) != group.revision for name, group in of.items() if name in there)
    return stale or (bool(there.keys() - of.keys()) and not all(name in there and is_ready(there[name]) for name in of))


def _status(found: Manifest, progress: Progress, pods: list[Manifest], *, surges: bool) -> dict[str, Any]:
    replicas = found["spec"]["replicas"]
    why = [*progress.refused, *filter(None, map(why_waiting, pods))]
    available = not surges and progress.ready >= replicas and progress.updated >= replicas
    updating = surges or (progress.updated < replicas and progress.ready > 0)
    text = "; ".join(dict.fromkeys(why))[:1000]
    conditions = [
        Condition("Available", status=available, reason="AllGroupsReady", message="All replicas are ready"),
        Condition(
            "Progressing",
            status=not available,
            reason="GroupsProgressing",
            message=f"Replicas are progressing: {text}" if text and not available else "Replicas are progressing",
        ),
        Condition(
            "UpdateInProgress", status=updating, reason="GroupsUpdating", message="Rolling Upgrade is in progress"
        ),
    ]
    before = (found.get("status") or {}).get("conditions") or []
    known = {condition["type"] for condition in before}
    said = [condition for condition in conditions if condition.status or condition.type in known]
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    generation = int(found["metadata"].get("generation", 0))
    return {
        "conditions": written(said, before, generation, now),
        "observedGeneration": generation,
        "replicas": len({pod["metadata"]["labels"][f"{_PREFIX}/group-index"] for pod in pods}),
        "readyReplicas": progress.ready,
        "updatedReplicas": progress.updated,
        "hpaPodSelector": f"{_PREFIX}/name={found['metadata']['name']},{_PREFIX}/worker-index=0",
    }


def _group(found: Manifest, index: int) -> Group:
    template = found["spec"]["leaderWorkerTemplate"]
    size, worker = template["size"], template["workerTemplate"]
    revision = digest([template, found["spec"].get("networkConfig")])
    pods = tuple(
        _pod(found, template.get("leaderTemplate", worker) if place == 0 else worker, index, place, revision)
        for place in range(size)
    )
    first = found["spec"].get("startupPolicy") == "LeaderReady"
    return Group(f"{found['metadata']['uid']}/{index}", revision, pods, leader_first=first)


def _pod(found: Manifest, template: Manifest, index: int, place: int, revision: str) -> dict[str, Any]:
    name, namespace = found["metadata"]["name"], found["metadata"]["namespace"]
    leader, own = f"{name}-{index}", template.get("metadata") or {}
    size = found["spec"]["leaderWorkerTemplate"]["size"]
    subdomain = _subdomain(found, index)
    variables = {
        "LWS_LEADER_ADDRESS": f"{leader}.{subdomain}.{namespace}",
        "LWS_GROUP_SIZE": str(size),
        "LWS_WORKER_INDEX": str(place),
    }
    labels = {
        **own.get("labels", {}),
        f"{_PREFIX}/name": name,
        f"{_PREFIX}/group-index": str(index),
        f"{_PREFIX}/group-key": digest(f"{namespace}/{leader}"),
        f"{_PREFIX}/worker-index": str(place),
        f"{_PREFIX}/template-revision-hash": revision,
    }
    annotations = {**own.get("annotations", {}), f"{_PREFIX}/size": str(size), REVISION: revision}
    if place:
        annotations[f"{_PREFIX}/leader-name"] = leader
    subgroup = _subgroup(found, place)
    spec = {**template["spec"], "hostname": leader if place == 0 else f"{leader}-{place}", "subdomain": subdomain}
    for key in ("containers", "initContainers"):
        if key in spec:
            spec[key] = [_with_variables(entry, variables) for entry in spec[key]]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": spec["hostname"],
            "namespace": namespace,
            "labels": {**labels, **subgroup},
            "annotations": annotations,
            "ownerReferences": [owner_of(found)],
        },
        "spec": spec,
    }


def _subgroup(found: Manifest, place: int) -> dict[str, str]:
    policy = found["spec"]["leaderWorkerTemplate"].get("subGroupPolicy")
    if policy is None:
        return {}
    size, of_subgroup = found["spec"]["leaderWorkerTemplate"]["size"], policy["subGroupSize"]
    alone = policy.get("subGroupPolicyType") == "LeaderExcluded"
    if place == 0:
        return {} if alone else {f"{_PREFIX}/subgroup-index": "0"}
    # With one pod too many the leader joins the first subgroup.
    number = (place - 1) // of_subgroup if alone or (size - 1) % of_subgroup == 0 else place // of_subgroup
    return {f"{_PREFIX}/subgroup-index": str(number)}


def _services(found: Manifest) -> list[dict[str, Any]]:
    """Return the headless Services that give pods their names: one, or one for each group."""
    name, namespace = found["metadata"]["name"], found["metadata"]["namespace"]
    policy = (found["spec"].get("networkConfig") or {}).get("subdomainPolicy", "Shared")
    selectors: dict[str, dict[str, str]] = {name: {f"{_PREFIX}/name": name}}
    if policy == "UniquePerReplica":
        selectors = {
            f"{name}-{index}": {f"{_PREFIX}/name": name, f"{_PREFIX}/group-index": str(index)}
            for index in range(found["spec"]["replicas"])
        }
    return [
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": service, "namespace": namespace, "ownerReferences": [owner_of(found)]},
            "spec": {"clusterIP": "None", "publishNotReadyAddresses": True, "selector": selector},
        }
        for service, selector in selectors.items()
    ]


def _subdomain(found: Manifest, index: int) -> str:
    policy = (found["spec"].get("networkConfig") or {}).get("subdomainPolicy", "Shared")
    name = str(found["metadata"]["name"])
    return f"{name}-{index}" if policy == "UniquePerReplica" else name


def _with_variables(container: Manifest, variables: dict[str, str]) -> dict[str, Any]:
    """Put the group's variables first, so that the container's own can refer to them."""
    own = [entry for entry in container.get("env", []) if entry["name"] not in variables]
    return {**container, "env": [*({"name": key, "value": value} for key, value in variables.items()), *own]}


def _share(value: int | str, replicas: int) -> int:
    """Return a number of groups from a number or a percentage."""
    return int(value.rstrip("%")) * replicas // 100 if isinstance(value, str) else value
