"""Lookups find what any program has made, in the shape that the SDK reads, or say that it is not there."""

from __future__ import annotations

from typing import Any

import pytest
from pulumi.runtime import rpc
from pulumi_gcp.compute import GetNetworkResult, GetSubnetworkResult
from pulumi_gcp.container import GetClusterResult

from beamline.sandbox.cloud.errors import CloudError
from beamline.sandbox.cloud.functions import call_function
from beamline.sandbox.cloud.operations import Operations
from beamline.sandbox.cloud.values import from_struct, to_struct

from . import sdk_lookups
from .samples import CLUSTER_ID, NETWORK_ID, NODES_ID, PROJECT, REGION, VERSION, build, build_metal
from .test_data import FOLDER

NETWORK, SUBNETWORK = "gcp:compute/getNetwork:getNetwork", "gcp:compute/getSubnetwork:getSubnetwork"
CLUSTER = "gcp:container/getCluster:getCluster"
COMPUTE = "https://www.googleapis.com/compute/v1/"


def ask(cloud: Operations, token: str, /, **arguments: Any) -> dict[str, Any]:
    return from_struct(to_struct(call_function(token, arguments, cloud.simulation)))


def read(result: dict[str, Any], kind: type) -> Any:
    """Read a result as the SDK does: wrong types raise there."""
    return rpc.translate_output_properties(result, lambda name: name, typ=kind)


def test_result_types_are_those_of_the_installed_sdk() -> None:
    """After an SDK upgrade: python -m tests.cloud.sdk_lookups > beamline/sandbox/cloud/lookups.json."""
    assert (FOLDER / "lookups.json").read_text() == sdk_lookups.text()


def test_a_network_whole(cloud: Operations) -> None:
    build(cloud, "network", "nodes", "proxies")
    found = ask(cloud, NETWORK, name="beam")
    numbers = {key: found.pop(key) for key in ("networkId", "numericId")}
    assert numbers["networkId"] == pytest.approx(int(numbers["numericId"]))
    assert found == {
        "description": "",
        "gatewayIpv4": "",
        "id": NETWORK_ID,
        "internalIpv6Range": "",
        "name": "beam",
        "networkProfile": "",
        "project": PROJECT,
        "selfLink": COMPUTE + NETWORK_ID,
        "subnetworksSelfLinks": [COMPUTE + NODES_ID, COMPUTE + NODES_ID.replace("beam-nodes", "beam-proxy-only")],
    }
    assert read({**found, **numbers}, GetNetworkResult).self_link == COMPUTE + NETWORK_ID


def test_a_subnetwork_whole(cloud: Operations) -> None:
    build(cloud, "network", "nodes")
    found = ask(cloud, SUBNETWORK, name="beam-nodes", region=REGION)
    read(found, GetSubnetworkResult)
    assert found.pop("subnetworkId") > 0
    assert found == {
        "description": "",
        "externalIpv6Prefix": "",
        "gatewayAddress": "10.0.0.1",
        "id": NODES_ID,
        "internalIpv6Prefix": "",
        "ipCidrRange": "10.0.0.0/22",
        "ipv6AccessType": "",
        "name": "beam-nodes",
        "network": COMPUTE + NETWORK_ID,
        "privateIpGoogleAccess": True,
        "project": PROJECT,
        "region": REGION,
        "secondaryIpRanges": [
            {"rangeName": "pods", "ipCidrRange": "10.4.0.0/18"},
            {"rangeName": "services", "ipCidrRange": "10.8.0.0/22"},
        ],
        "selfLink": COMPUTE + NODES_ID,
        "stackType": "IPV4_ONLY",
    }


def test_names_links_and_defaults_lead_to_the_same(cloud: Operations) -> None:
    build(cloud, "network", "nodes")
    assert ask(cloud, NETWORK, selfLink=COMPUTE + NETWORK_ID) == ask(cloud, NETWORK, name="beam")
    expected = ask(cloud, SUBNETWORK, name="beam-nodes", region=REGION)
    assert ask(cloud, SUBNETWORK, selfLink=COMPUTE + NODES_ID) == expected
    assert ask(cloud, SUBNETWORK, name="beam-nodes", project=PROJECT) == expected


def test_a_cluster(cloud: Operations) -> None:
    build(cloud)
    found = ask(cloud, CLUSTER, name="beam", location=REGION)
    assert read(found, GetClusterResult).master_auths[0].cluster_ca_certificate == "Y2VydGlmaWNhdGU="
    expected = {
        "id": CLUSTER_ID,
        "name": "beam",
        "location": REGION,
        "network": NETWORK_ID,
        "subnetwork": NODES_ID,
        "endpoint": "127.0.0.1:6443",
        "masterVersion": VERSION,
        "datapathProvider": "ADVANCED_DATAPATH",
        "enableMultiNetworking": False,
        "enableShieldedNodes": True,
        "nodeLocations": ["us-central1-b"],
        "releaseChannels": [{"channel": "REGULAR"}],
        "workloadIdentityConfigs": [{"workloadPool": f"{PROJECT}.svc.id.goog"}],
        "gatewayApiConfigs": [{"channel": "CHANNEL_STANDARD"}],
        "databaseEncryptions": [],
        "resourceLabels": {},
    }
    assert {key: found[key] for key in expected} == expected
    (policy,) = found["ipAllocationPolicies"]
    assert policy["clusterSecondaryRangeName"] == "pods"
    (endpoints,) = found["controlPlaneEndpointsConfigs"]
    assert endpoints["dnsEndpointConfigs"][0]["endpoint"] == "127.0.0.1:6443"
    assert [(pool["name"], pool["nodeCount"]) for pool in found["nodePools"]] == [("beam-system", 2), ("beam-gpus", 1)]
    assert found["nodePools"][1]["nodeConfigs"][0]["machineType"] == "g4-standard-384"


def test_what_only_the_provider_knows_is_not_looked_up(cloud: Operations) -> None:
    build_metal(cloud, nodeCount=1)
    found = ask(cloud, CLUSTER, name="beam")
    assert (found["deletionProtection"], found["removeDefaultNodePool"], found["minMasterVersion"]) == (
        False,
        False,
        "",
    )
    assert found["enableShieldedNodes"] is False


@pytest.mark.parametrize(
    ("token", "arguments", "says"),
    [
        (NETWORK, {"name": "other"}, f"projects/{PROJECT}/global/networks/other not found"),
        (
            SUBNETWORK,
            {"name": "x", "region": "us-east4"},
            f"projects/{PROJECT}/regions/us-east4/subnetworks/x not found",
        ),
        (CLUSTER, {"name": "beam"}, f"{CLUSTER_ID} not found"),
        (CLUSTER, {"name": "beam", "location": "us-central1-b"}, "locations/us-central1-b/clusters/beam not found"),
        (NETWORK, {}, "one of name, self_link must be specified"),
        (NETWORK, {"name": "beam", "project": "other"}, "there is no project 'other' here"),
    ],
)
def test_what_is_not_there_is_said(cloud: Operations, token: str, arguments: dict[str, Any], says: str) -> None:
    build(cloud, "network")
    with pytest.raises(CloudError, match=says):
        ask(cloud, token, **arguments)


def test_what_is_gone_is_not_found(cloud: Operations) -> None:
    record = build(cloud, "network")["network"]
    cloud.delete(record.type, record.id)
    with pytest.raises(CloudError, match="not found"):
        ask(cloud, NETWORK, name="beam")
