"""Policies let through what the rendered arguments make a stack's parts say, and nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import ip_network

import pytest

from .cases import EVERY, spec_of
from .cluster_objects import Objects, objects_of
from .traffic import (
    ANY_PORT,
    API,
    COLLECTOR,
    DNS,
    HEALTH_CHECKERS,
    INTERNET,
    METADATA,
    STRANGER,
    VM,
    Address,
    Flow,
    allowed,
    dynamo_flows,
    llmd_flows,
    pods,
    shared_flows,
)


def proxy_of(case: str) -> Address:
    """A proxy in the proxy-only subnet; any machine of the VPC where the stack does not know that."""
    cidr = spec_of(case).preset.network.proxy_only_cidr
    return Address("proxy", str(ip_network(cidr)[9])) if cidr else VM


def needed(case: str, objects: Objects) -> set[Flow]:
    proxy = proxy_of(case)
    dynamo = bool(objects.kind("DynamoGraphDeployment"))
    own = dynamo_flows(objects) if dynamo else llmd_flows(objects, proxy)
    return {*shared_flows(objects, proxy), *own, *_of_driver(objects)}


def _of_driver(objects: Objects) -> Iterator[Flow]:
    """IMEX daemons of a ComputeDomain find each other by pod address."""
    if objects.kind("ComputeDomain"):
        driver = pods(objects)["operator of dra-driver-nvidia-gpu"]
        yield driver, driver, "TCP", ANY_PORT


def universe(case: str, objects: Objects, wanted: set[Flow]) -> Iterator[Flow]:
    """Every pair of parties, one of them a pod of the stack, on every port anybody uses and some that nobody does."""
    own = [*pods(objects).values()]
    others = [COLLECTOR, STRANGER, *DNS, API, INTERNET, *HEALTH_CHECKERS, proxy_of(case), VM, *(a for a, _ in METADATA)]
    ports = {(protocol, port) for _, _, protocol, port in wanted} | {("TCP", 22), ("TCP", 8443), ("TCP", ANY_PORT)}
    for pod in own:
        for other in [*own, *others]:
            for protocol, port in ports:
                yield pod, other, protocol, port
                yield other, pod, protocol, port


@pytest.mark.parametrize("case", EVERY)
def test_whoever_has_to_talk_may(case: str) -> None:
    objects = objects_of(case)
    assert [flow for flow in needed(case, objects) if not allowed(objects, flow)] == []


@pytest.mark.parametrize("case", EVERY)
def test_nobody_else_may(case: str) -> None:
    """A pair that talks on every port is let through on each; of all others, exactly what is needed."""
    objects = objects_of(case)
    wanted = needed(case, objects)
    free = {(caller, callee) for caller, callee, _, port in wanted if port == ANY_PORT}
    granted = {f for f in universe(case, objects, wanted) if allowed(objects, f)}
    unasked = {f for f in granted - wanted if (f[0], f[1]) not in free}
    assert {f for f in unasked if not _known_to_be_wide(case, objects, f)} == set()


def _known_to_be_wide(case: str, objects: Objects, flow: Flow) -> bool:
    """What cannot be told apart by address.

    The control plane's and Google's addresses are unknown, so 443 is open to both and to the rest of the world; an
    admission port to any caller; and with a proxy-only subnet of somebody else's, so is everything the proxies call.
    """
    _, callee, protocol, port = flow
    if isinstance(callee, Address) and (protocol, port) == ("TCP", 443):
        return True
    if (protocol, port) in (("TCP", 8080), ("TCP", 987)):
        return isinstance(callee, Address)
    if port == 9443 and callee.name in ("operator of lws-system", "operator of dynamo-system"):
        return True
    unknown_proxies = spec_of(case).preset.network.proxy_only_cidr is None
    return unknown_proxies and any(f[0] == proxy_of(case) and f[1:] == flow[1:] for f in needed(case, objects))


@pytest.mark.parametrize("case", EVERY)
def test_every_namespace_of_the_stack_denies_by_default_both_ways(case: str) -> None:
    objects = objects_of(case)
    own = {n["metadata"]["name"] for n in objects.kind("Namespace")}
    denied = {
        p["metadata"]["namespace"]
        for p in objects.kind("NetworkPolicy")
        if p["spec"] == {"podSelector": {}, "policyTypes": ["Ingress", "Egress"]}
    }
    assert denied == own


@pytest.mark.parametrize("case", EVERY)
def test_every_pod_is_closed_by_a_policy_of_its_own_wherever_it_runs(case: str) -> None:
    """In a namespace that was there before there is no denial for all, and must not be: its other pods are others'."""
    objects = objects_of(case)
    for pod in pods(objects).values():
        kinds = [
            set(p["spec"]["policyTypes"])
            for p in objects.kind("NetworkPolicy")
            if p["metadata"]["namespace"] == pod.namespace
            and p["metadata"]["name"] != "default-deny"
            and pod.matches(p["spec"]["podSelector"])
        ]
        assert {"Ingress", "Egress"} in kinds, pod


@pytest.mark.parametrize("case", EVERY)
def test_only_the_node_agent_is_outside_of_policies(case: str) -> None:
    outside = [
        w["metadata"]["name"] for w in objects_of(case).workloads() if w["spec"]["template"]["spec"].get("hostNetwork")
    ]
    assert outside in ([], ["asapd-lite"])


def test_an_opening_that_is_taken_away_is_missed() -> None:
    """The test can fail: without each of its rules, something that has to talk cannot."""
    for case in ("g4-llmd", "a4x-max-llmd", "a4x-max-dynamo", "small-l4"):
        wanted = needed(case, objects_of(case))
        for number, policy in enumerate(objects_of(case).kind("NetworkPolicy")):
            for rules in ("ingress", "egress"):
                for index in range(len(policy["spec"].get(rules, []))):
                    objects = objects_of(case)
                    del objects.kind("NetworkPolicy")[number]["spec"][rules][index]
                    assert not all(allowed(objects, flow) for flow in wanted), (
                        case,
                        policy["metadata"]["name"],
                        rules,
                        index,
                    )
