"""The table of exceptions says of every rendered pod exactly what it has beyond the level ``restricted``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from manifests.exceptions import EXCEPTIONS, level_for
from manifests.namespaces import own_namespaces
from manifests.pod_security import loosest

from .cases import EVERY, spec_of
from .cluster_objects import Body, Objects, objects_of
from .dynamo.graphs import components

_VOLUMES = {"configMap", "csi", "downwardAPI", "emptyDir", "ephemeral", "persistentVolumeClaim", "projected", "secret"}
"""What ``restricted`` lets a pod mount (Pod Security Standards, Volume Types)."""
_LEVELS = ("restricted", "baseline", "privileged")


def departures(pod: Body) -> Iterator[str]:
    """Yield what a pod has that the Pod Security Standards do not admit at ``restricted``."""
    context = pod.get("securityContext", {})
    for field in ("hostNetwork", "hostPID", "hostIPC"):
        if pod.get(field):
            yield f"{field}: true"
    for volume in pod.get("volumes", []):
        for kind in volume.keys() - {"name"} - _VOLUMES:
            yield f"volumes: {kind}"
    for container in [*pod.get("initContainers", []), *pod["containers"]]:
        yield from _of_container(container, context)


def _of_container(container: Body, pod: Body) -> Iterator[str]:
    own = container.get("securityContext", {})
    if own.get("privileged"):
        yield "privileged: true"
        return  # all the rest follows from it
    if own.get("allowPrivilegeEscalation") is not False:
        yield "allowPrivilegeEscalation: not false"
    for added in own.get("capabilities", {}).get("add", []):
        if added != "NET_BIND_SERVICE":
            yield f"capabilities.add: {added}"
    if own.get("capabilities", {}).get("drop") != ["ALL"]:
        yield "capabilities.drop: not ALL"
    if own.get("runAsUser", pod.get("runAsUser")) == 0:
        yield "runAsUser: 0"
    elif not own.get("runAsNonRoot", pod.get("runAsNonRoot")):
        yield "runAsNonRoot: not true"
    profile = own.get("seccompProfile", pod.get("seccompProfile", {})).get("type")
    if profile not in ("RuntimeDefault", "Localhost"):
        yield "seccompProfile: not set"
    if any("hostPort" in port for port in container.get("ports", [])):
        yield "hostPort: set"


def pods(objects: Objects) -> Iterator[tuple[str, str, Body]]:
    """Yield what a pod is, its namespace and its spec."""
    for workload in objects.workloads():
        yield workload["metadata"]["name"], workload["metadata"]["namespace"], workload["spec"]["template"]["spec"]
    for graph in objects.kind("DynamoGraphDeployment"):
        for component in components(objects):
            name = "frontend" if component["type"] == "frontend" else "engine"
            yield name, graph["metadata"]["namespace"], component["podTemplate"]["spec"]


def _kind(name: str) -> str:
    """Engines of every role, leaders and workers, are one kind of pod."""
    return name.partition("-")[0] if name.startswith("engine-") else name


def _listed(name: str, objects: Objects) -> set[str]:
    """What the table says of a pod: an engine's exceptions only where its transport needs them."""
    kind = _kind(name)
    if kind == "engine" and not objects.capabilities:
        return set()
    return {row.field for row in EXCEPTIONS if row.pods == kind and not row.chart}


@pytest.mark.parametrize("case", EVERY)
def test_every_pod_departs_from_restricted_as_listed_and_no_further(case: str) -> None:
    objects = objects_of(case)
    for name, _, pod in pods(objects):
        assert set(departures(pod)) == _listed(name, objects), name


@pytest.mark.parametrize("case", EVERY)
def test_a_namespace_is_as_strict_as_its_pods_allow(case: str) -> None:
    objects, found = objects_of(case), {}
    for name, namespace, _ in pods(objects):
        rows = [r for r in EXCEPTIONS if r.field in _listed(name, objects) and r.pods in name]
        found[namespace] = loosest([found.get(namespace, "restricted"), *(r.level for r in rows)])
    for home in own_namespaces(spec_of(case)):
        assert home.level == found.get(home.name, level_for([home.component]))
        (body,) = (n for n in objects.kind("Namespace") if n["metadata"]["name"] == home.name)
        labels = body["metadata"]["labels"]
        assert labels["pod-security.kubernetes.io/enforce"] == home.level
        assert labels["pod-security.kubernetes.io/enforce-version"].startswith("v1.")


def test_every_exception_is_some_pods() -> None:
    """A row that no rendered pod needs would be a door left open; of charts' pods the sandbox's API server judges."""
    needed = {
        (_kind(name), field) for case in EVERY for name, _, pod in pods(objects_of(case)) for field in departures(pod)
    }
    assert {(row.pods, row.field) for row in EXCEPTIONS if not row.chart} == needed


def test_every_exception_says_why_and_who_says_so() -> None:
    assert [row for row in EXCEPTIONS if not (row.why and row.source and row.level in _LEVELS)] == []


@pytest.mark.parametrize("case", EVERY)
def test_every_kind_of_pod_has_an_account_of_its_own(case: str) -> None:
    """A graph's pods get theirs from Dynamo's operator."""
    objects = objects_of(case)
    accounts = {
        (workload["metadata"]["namespace"], workload["spec"]["template"]["spec"]["serviceAccountName"])
        for workload in objects.workloads()
    }
    kinds = {_kind(workload["metadata"]["name"]) for workload in objects.workloads()}
    assert len(accounts) == len(kinds)
    made: dict[tuple[str, str], Any] = {
        (a["metadata"]["namespace"], a["metadata"]["name"]): a["automountServiceAccountToken"]
        for a in objects.kind("ServiceAccount")
    }
    assert made.keys() == accounts
    assert {name for (_, name), mounted in made.items() if mounted} <= {"router"}


MISTAKES: dict[str, tuple[dict[str, Any], str]] = {
    "a host port": ({"ports": [{"containerPort": 1, "hostPort": 1}]}, "hostPort: set"),
    "a capability": (
        {"securityContext": {"capabilities": {"drop": ["ALL"], "add": ["SYS_PTRACE"]}}},
        "capabilities.add: SYS_PTRACE",
    ),
    "nothing dropped": ({"securityContext": {"capabilities": {}}}, "capabilities.drop: not ALL"),
    "escalation at its default": ({"securityContext": {}}, "allowPrivilegeEscalation: not false"),
    "privileged": ({"securityContext": {"privileged": True}}, "privileged: true"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_departure_is_noticed(mistake: str) -> None:
    change, said = MISTAKES[mistake]
    pod = objects_of("g4-llmd").pod("engine")
    assert list(departures(pod)) == []
    pod["containers"][0] |= change
    assert said in set(departures(pod))


def test_a_departure_of_the_pod_is_noticed() -> None:
    pod = objects_of("g4-llmd").pod("engine")
    pod["securityContext"] = {}
    pod["hostPID"] = True
    pod["volumes"].append({"name": "node", "hostPath": {"path": "/"}})
    assert {"runAsNonRoot: not true", "seccompProfile: not set", "hostPID: true", "volumes: hostPath"} == set(
        departures(pod)
    )
