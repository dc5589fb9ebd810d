"""Routes, pools, policies and PodMonitorings say whether what they refer to is there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from .cluster import Cluster, conditions, obj, serving

Objects = dict[str, dict[str, Any]]


def parent(cluster: Cluster, kind: str) -> dict[str, Any]:
    found = cluster.get_object(kind)
    assert found is not None
    (entry,) = found["status"]["parents"]
    result: dict[str, Any] = entry
    return result


def test_a_whole_stack_is_fine(cluster: Cluster) -> None:
    cluster.put(*serving().values())
    cluster.settle()
    assert conditions(parent(cluster, "HTTPRoute")) == {
        "Accepted": ("True", "Accepted"),
        "ResolvedRefs": ("True", "ResolvedRefs"),
        "Reconciled": ("True", "ReconciliationSucceeded"),
    }
    assert parent(cluster, "InferencePool")["parentRef"] == {
        "group": "gateway.networking.k8s.io",
        "kind": "Gateway",
        "name": "beam",
        "namespace": "serving",
    }
    assert conditions(parent(cluster, "InferencePool")) == {
        "Accepted": ("True", "Accepted"),
        "ResolvedRefs": ("True", "ResolvedRefs"),
    }
    for kind in ("HealthCheckPolicy", "GCPBackendPolicy", "GCPGatewayPolicy"):
        assert conditions((cluster.get_object(kind) or {})["status"]) == {"Attached": ("True", "Attached")}
    (created,) = (cluster.get_object("PodMonitoring") or {})["status"]["conditions"]
    assert (created["type"], created["status"]) == ("ConfigurationCreateSuccess", "True")
    assert conditions((cluster.get_object("GatewayClass", "gke-l7-rilb") or {})["status"])["Accepted"][0] == "True"


def drop(kind: str) -> Callable[[Objects], None]:
    return lambda objects: objects.pop(kind) and None


def change(kind: str, *path: str | int, to: Any) -> Callable[[Objects], None]:
    def apply(objects: Objects) -> None:
        place: Any = objects[kind]["spec"]
        for part in path[:-1]:
            place = place[part]
        place[path[-1]] = to

    return apply


@pytest.mark.parametrize(
    ("broken", "condition", "reason", "says"),
    [
        (drop("Gateway"), "Accepted", "NoMatchingParent", 'Gateway "serving/beam" was not found'),
        (
            change("HTTPRoute", "parentRefs", 0, "sectionName", to="https"),
            "Accepted",
            "NoMatchingParent",
            'has no listener "https"',
        ),
        (
            change("Gateway", "listeners", 0, "allowedRoutes", to={"kinds": [{"kind": "GRPCRoute"}]}),
            "Accepted",
            "NotAllowedByListeners",
            "allows routes",
        ),
        (drop("InferencePool"), "ResolvedRefs", "BackendNotFound", 'InferencePool "serving/beam" was not found'),
        (
            change("HTTPRoute", "rules", to=[{"backendRefs": [{"kind": "Service", "name": "beam-epp", "port": 1}]}]),
            "ResolvedRefs",
            "BackendNotFound",
            'Service "serving/beam-epp" has no port 1',
        ),
        (
            change("HTTPRoute", "rules", 0, "backendRefs", 0, "namespace", to="other"),
            "ResolvedRefs",
            "RefNotPermitted",
            "is in another namespace",
        ),
        (
            change("HTTPRoute", "rules", 0, "backendRefs", 0, "kind", to="Bucket"),
            "ResolvedRefs",
            "InvalidKind",
            "cannot be a backend",
        ),
    ],
)
def test_a_route_says_what_is_missing(
    cluster: Cluster, broken: Callable[[Objects], None], condition: str, reason: str, says: str
) -> None:
    objects = serving()
    broken(objects)
    cluster.put(*objects.values())
    cluster.settle()
    entry = parent(cluster, "HTTPRoute")
    assert conditions(entry)[condition] == ("False", reason)
    assert conditions(entry)["Reconciled"] == ("False", "ReconciliationFailed")
    assert says in next(c["message"] for c in entry["conditions"] if c["type"] == condition)


def test_hostnames_must_meet(cluster: Cluster) -> None:
    objects = serving()
    objects["Gateway"]["spec"]["listeners"][0]["hostname"] = "*.example.com"
    objects["HTTPRoute"]["spec"]["hostnames"] = ["beam.example.org"]
    cluster.put(*objects.values())
    cluster.settle()
    assert conditions(parent(cluster, "HTTPRoute"))["Accepted"] == ("False", "NoMatchingListenerHostname")
    objects["HTTPRoute"]["spec"]["hostnames"] = ["beam.example.com"]
    cluster.put(objects["HTTPRoute"])
    cluster.settle()
    assert conditions(parent(cluster, "HTTPRoute"))["Accepted"] == ("True", "Accepted")


@pytest.mark.parametrize(
    ("allowed", "accepted"),
    [
        ({"from": "Same"}, False),
        ({"from": "All"}, True),
        ({"from": "Selector", "selector": {"matchLabels": {"routes": "yes"}}}, True),
        ({"from": "Selector", "selector": {"matchLabels": {"routes": "no"}}}, False),
    ],
)
def test_routes_of_other_namespaces(cluster: Cluster, allowed: dict[str, Any], accepted: bool) -> None:
    objects = serving()
    objects["Gateway"]["spec"]["listeners"][0]["allowedRoutes"] = {"namespaces": allowed}
    route = objects["HTTPRoute"]
    route["metadata"]["namespace"] = "tenant"
    route["spec"]["parentRefs"][0]["namespace"] = "serving"
    namespace = obj("Namespace", "tenant", {}, namespace="")
    namespace["metadata"]["labels"] = {"routes": "yes"}
    cluster.put(*objects.values(), namespace)
    cluster.settle()
    assert (conditions(parent(cluster, "HTTPRoute"))["Accepted"][0] == "True") is accepted
    gateway = cluster.get_object("Gateway")
    assert gateway is not None
    assert gateway["status"]["listeners"][0]["attachedRoutes"] == int(accepted)


def test_what_arrives_later_is_noticed(cluster: Cluster) -> None:
    objects = serving()
    pool = objects.pop("InferencePool")
    cluster.put(*objects.values())
    cluster.settle()
    before = parent(cluster, "HTTPRoute")["conditions"]
    cluster.put(pool)
    cluster.settle()
    after = parent(cluster, "HTTPRoute")["conditions"]
    assert [c["status"] for c in before] == ["True", "False", "False"]
    assert [c["status"] for c in after] == ["True", "True", "True"]
    assert after[0]["lastTransitionTime"] == before[0]["lastTransitionTime"]


@pytest.mark.parametrize(
    ("broken", "says"),
    [
        (drop("Service"), 'Service "serving/beam-epp" was not found'),
        (change("Service", "ports", to=[{"port": 9090}]), 'Service "serving/beam-epp" has no port 9002'),
        (change("InferencePool", "endpointPickerRef", to=None), "GKE needs one"),
    ],
)
def test_a_pool_says_what_is_wrong_with_its_picker(
    cluster: Cluster, broken: Callable[[Objects], None], says: str
) -> None:
    objects = serving()
    broken(objects)
    cluster.put(*objects.values())
    cluster.settle()
    entry = parent(cluster, "InferencePool")
    assert conditions(entry)["ResolvedRefs"] == ("False", "InvalidExtensionRef")
    assert says in entry["conditions"][1]["message"]


def test_a_pool_that_no_route_uses_has_no_parents(cluster: Cluster) -> None:
    objects = serving()
    route = objects["HTTPRoute"]
    cluster.put(*objects.values())
    cluster.settle()
    cluster.drop(route)
    cluster.settle()
    assert (cluster.get_object("InferencePool") or {})["status"] == {"parents": []}


def test_other_controllers_gateways_are_theirs(cluster: Cluster) -> None:
    objects = serving()
    objects["GatewayClass"]["spec"]["controllerName"] = "example.com/gateway"
    cluster.put(*objects.values())
    cluster.settle()
    for kind in ("Gateway", "HTTPRoute", "InferencePool", "GatewayClass"):
        assert "status" not in (cluster.get_object(kind, "gke-l7-rilb" if kind == "GatewayClass" else "beam") or {})


@pytest.mark.parametrize(
    ("target", "reason"),
    [
        ({"group": "inference.networking.k8s.io", "kind": "InferencePool", "name": "none"}, "TargetNotFound"),
        ({"group": "", "kind": "Service", "name": "beam-epp"}, "Attached"),
        ({"group": "apps", "kind": "Deployment", "name": "beam"}, "Invalid"),
        (
            {"group": "inference.networking.k8s.io", "kind": "InferencePool", "name": "beam", "namespace": "other"},
            "RefNotPermitted",
        ),
    ],
)
def test_a_policy_says_what_it_is_attached_to(cluster: Cluster, target: dict[str, str], reason: str) -> None:
    objects = serving()
    objects["HealthCheckPolicy"]["spec"]["targetRef"] = target
    cluster.put(*objects.values())
    cluster.settle()
    found = conditions((cluster.get_object("HealthCheckPolicy") or {})["status"])
    assert found == {"Attached": (str(reason == "Attached"), reason)}


_IAP = {"enabled": True, "clientID": "1-a.apps.googleusercontent.com", "oauth2ClientSecret": {"name": "iap"}}


@pytest.mark.parametrize(
    ("iap", "secret", "reason"),
    [
        (_IAP, "iap", "Attached"),
        (_IAP, "other", "Invalid"),
        ({"enabled": True}, "iap", "Invalid"),
        ({"enabled": False}, "other", "Attached"),
    ],
)
def test_identity_aware_proxy_needs_its_client_and_its_secret(
    cluster: Cluster, iap: dict[str, Any], secret: str, reason: str
) -> None:
    objects = serving()
    objects["GCPBackendPolicy"]["spec"]["default"] = {"iap": iap}
    cluster.put(*objects.values(), obj("Secret", secret, {}))
    cluster.settle()
    found = conditions((cluster.get_object("GCPBackendPolicy") or {})["status"])
    assert found == {"Attached": (str(reason == "Attached"), reason)}


def test_of_two_policies_for_one_target_the_older_counts(cluster: Cluster) -> None:
    objects = serving()
    objects["GCPBackendPolicy"]["metadata"]["creationTimestamp"] = "2026-01-02T00:00:00Z"
    other = obj("GCPBackendPolicy", "older", objects["GCPBackendPolicy"]["spec"])
    other["metadata"]["creationTimestamp"] = "2026-01-01T00:00:00Z"
    cluster.put(*objects.values(), other)
    cluster.settle()
    assert conditions((cluster.get_object("GCPBackendPolicy") or {})["status"])["Attached"] == ("False", "Conflicted")
    assert conditions((cluster.get_object("GCPBackendPolicy", "older") or {})["status"])["Attached"][0] == "True"


def test_a_changed_monitoring_is_taken_again(cluster: Cluster) -> None:
    objects = serving()
    cluster.put(*objects.values())
    cluster.settle()
    monitoring = cluster.get_object("PodMonitoring")
    assert monitoring is not None
    monitoring["metadata"]["generation"] = 2
    cluster.put(monitoring)
    cluster.settle()
    assert monitoring["status"]["observedGeneration"] == 2
