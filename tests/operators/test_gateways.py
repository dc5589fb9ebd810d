"""A Gateway gets an address if, and only if, GKE would give it one."""

from __future__ import annotations

from typing import Any

import pytest

from beamline.sandbox.cloud.ledger import Ledger, Record
from beamline.sandbox.operators.controller import FINALIZER

from .cluster import PROJECT, Cluster, conditions, obj, serving

LOAD_BALANCER = "simulated:compute/forwardingRule:ForwardingRule"
PROXIES = f"projects/{PROJECT}/regions/us-central1/subnetworks/proxies"


def status(cluster: Cluster, kind: str = "Gateway") -> dict[str, Any]:
    found = cluster.get_object(kind)
    assert found is not None
    result: dict[str, Any] = found["status"]
    return result


def test_a_gateway_is_programmed_once_its_load_balancer_is_there(cluster: Cluster, ledger: Ledger) -> None:
    cluster.put(*serving().values())
    assert cluster.settle() == 75.0
    assert conditions(status(cluster)) == {
        "Scheduled": ("True", "Scheduled"),
        "Accepted": ("True", "Accepted"),
        "Programmed": ("False", "Pending"),
        "Ready": ("False", "NotReady"),
        "networking.gke.io/GatewayHealthy": ("Unknown", "Pending"),
    }
    assert "addresses" not in status(cluster)
    cluster.now_s = 75.0
    assert cluster.settle() is None
    assert conditions(status(cluster)) == {
        "Scheduled": ("True", "Scheduled"),
        "Accepted": ("True", "Accepted"),
        "Programmed": ("True", "Programmed"),
        "Ready": ("True", "Ready"),
        "networking.gke.io/GatewayHealthy": ("True", "Healthy"),
    }
    (rule,) = ledger.of_type(LOAD_BALANCER)
    assert status(cluster)["addresses"] == [{"type": "IPAddress", "value": rule.outputs["ipAddress"]}]
    assert rule.outputs["ipAddress"].startswith("10.128.14.")
    (listener,) = status(cluster)["listeners"]
    assert (listener["name"], listener["attachedRoutes"]) == ("http", 1)
    assert conditions(listener)["Programmed"] == ("True", "Programmed")


def test_it_carries_gkes_finalizer_and_nothing_of_ours(cluster: Cluster) -> None:
    cluster.put(*serving().values())
    cluster.settle()
    gateway = cluster.get_object("Gateway")
    assert gateway is not None
    assert gateway["metadata"]["finalizers"] == [FINALIZER]
    assert list(gateway["metadata"]["annotations"]) == ["networking.gke.io/last-reconcile-time"]
    for kind in ("HTTPRoute", "InferencePool", "HealthCheckPolicy", "PodMonitoring"):
        found = cluster.get_object(kind)
        assert found is not None
        assert {"finalizers", "annotations"} & found["metadata"].keys() == set()


def test_a_settled_gateway_is_left_alone(cluster: Cluster) -> None:
    cluster.put(*serving().values())
    cluster.now_s = 0
    cluster.settle()
    cluster.now_s = 75.0
    cluster.settle()
    cluster.writes.clear()
    cluster.now_s = 1e6
    assert cluster.settle() is None
    assert cluster.writes == []


def test_an_external_gateway_has_an_address_that_reaches_nobody(cluster: Cluster) -> None:
    objects = serving()
    name = "gke-l7-regional-external-managed"
    objects["GatewayClass"]["metadata"]["name"] = name
    objects["Gateway"]["spec"]["gatewayClassName"] = name
    cluster.put(*objects.values())
    cluster.settle()
    cluster.now_s = 75.0
    cluster.settle()
    assert status(cluster)["addresses"][0]["value"].startswith("198.51.100.")


@pytest.mark.parametrize("class_name", ["gke-l7-rilb", "gke-l7-regional-external-managed"])
def test_without_a_proxy_only_subnet_it_is_never_programmed(cluster: Cluster, ledger: Ledger, class_name: str) -> None:
    ledger.remove("gcp:compute/subnetwork:Subnetwork", PROXIES)
    objects = serving()
    objects["GatewayClass"]["metadata"]["name"] = objects["Gateway"]["spec"]["gatewayClassName"] = class_name
    cluster.put(*objects.values())
    assert cluster.settle() == 2.0  # the cloud is asked again
    assert conditions(status(cluster))["Programmed"] == ("False", "Invalid")
    (message,) = {c["message"] for c in status(cluster)["conditions"] if c["type"] == "Programmed"}
    assert "An active proxy-only subnetwork is required in the same region and VPC" in message


def test_a_global_class_needs_no_proxy_only_subnet(cluster: Cluster, ledger: Ledger) -> None:
    ledger.remove("gcp:compute/subnetwork:Subnetwork", PROXIES)
    objects = serving()
    name = "gke-l7-global-external-managed"
    objects["GatewayClass"]["metadata"]["name"] = objects["Gateway"]["spec"]["gatewayClassName"] = name
    cluster.put(*objects.values())
    cluster.settle()
    cluster.now_s = 75.0
    cluster.settle()
    assert conditions(status(cluster))["Programmed"] == ("True", "Programmed")


def test_a_class_nobody_has_is_nobodys(cluster: Cluster) -> None:
    objects = serving()
    objects["Gateway"]["spec"]["gatewayClassName"] = "gke-l7-rlib"
    cluster.put(*objects.values())
    assert cluster.settle() is None
    gateway = cluster.get_object("Gateway")
    assert gateway is not None
    assert "status" not in gateway
    assert "finalizers" not in gateway["metadata"]


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (
            {"addresses": [{"type": "IPAddress", "value": "10.0.0.9"}]},
            (
                'Error GWCER106: Gateway "serving/beam" is invalid, err: unsupported address type "IPAddress", '
                'only "NamedAddress" is supported..'
            ),
        ),
        ({"addresses": [{"type": "NamedAddress", "value": "none"}]}, 'NamedAddress "none" was not found'),
        ({"listeners": [{"name": "tcp", "port": 80, "protocol": "TCP"}]}, 'listener "tcp": unsupported protocol'),
        (
            {
                "listeners": [
                    {"name": "tls", "port": 443, "protocol": "HTTPS", "tls": {"certificateRefs": [{"name": "none"}]}}
                ]
            },
            'Secret "serving/none" of listener "tls" was not found',
        ),
    ],
)
def test_what_gke_does_not_take(cluster: Cluster, change: dict[str, Any], says: str) -> None:
    objects = serving()
    objects["Gateway"]["spec"] |= change
    cluster.put(*objects.values())
    cluster.settle()
    assert conditions(status(cluster))["Programmed"] == ("False", "Invalid")
    assert conditions(status(cluster))["networking.gke.io/GatewayHealthy"] == ("False", "Error")
    (programmed,) = [c for c in status(cluster)["conditions"] if c["type"] == "Programmed"]
    assert says in programmed["message"]


def test_a_named_address_and_a_certificate_that_exist(cluster: Cluster, ledger: Ledger) -> None:
    address_id = f"projects/{PROJECT}/regions/us-central1/addresses/beam"
    ledger.add(
        Record("gcp:compute/address:Address", address_id, PROJECT, "us-central1", "beam", {}, {"address": "10.0.0.9"})
    )
    objects = serving()
    objects["Gateway"]["spec"]["addresses"] = [{"type": "NamedAddress", "value": "beam"}]
    tls = {"name": "https", "port": 443, "protocol": "HTTPS", "tls": {"certificateRefs": [{"name": "beam-tls"}]}}
    objects["Gateway"]["spec"]["listeners"].append(tls)
    cluster.put(*objects.values(), obj("Secret", "beam-tls", {}))
    cluster.settle()
    cluster.now_s = 75.0
    cluster.settle()
    assert status(cluster)["addresses"] == [{"type": "IPAddress", "value": "10.0.0.9"}]


def test_deleting_a_gateway_takes_its_load_balancer_away(cluster: Cluster, ledger: Ledger) -> None:
    cluster.put(*serving().values())
    cluster.settle()
    cluster.now_s = 75.0
    cluster.settle()
    assert len(ledger.of_type(LOAD_BALANCER)) == 1
    gateway = cluster.get_object("Gateway")
    assert gateway is not None
    gateway["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    cluster.put(gateway)
    cluster.settle()
    assert ledger.of_type(LOAD_BALANCER) == []
    assert cluster.get_object("Gateway") is None


def test_a_cluster_that_goes_with_its_gateways_leaves_load_balancers_behind(cluster: Cluster, ledger: Ledger) -> None:
    """As at Google: whoever deletes the cluster first has to clean up the VPC by hand."""
    cluster.put(*serving().values())
    cluster.settle()
    cluster.now_s = 75.0
    cluster.settle()
    gateway = cluster.get_object("Gateway")
    assert gateway is not None
    cluster.drop(gateway)
    cluster.settle()
    (rule,) = ledger.of_type(LOAD_BALANCER)
    assert rule.inputs["network"] == f"projects/{PROJECT}/global/networks/beam"


def test_secrets_are_kept_without_their_data(cluster: Cluster) -> None:
    secret = {**obj("Secret", "beam-tls", {}), "data": {"tls.key": "c2VjcmV0"}}
    cluster.put(secret)
    assert "data" not in (cluster.controller.world.find("Secret", "serving", "beam-tls") or {"data": 1})
