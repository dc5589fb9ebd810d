"""What components give out once the cloud has answered."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest
from google.protobuf import struct_pb2
from pulumi.runtime.proto import resource_pb2

from beamline.engine import Secret, runner
from beamline.engine.monitor import InMemoryMonitor
from stacks.clients import client_settings
from tests.components.conftest import Run
from tests.manifests.cases import spec_of

CLUSTER = """
from components.cluster import Cluster
cluster = Cluster("cluster", {
    "prefix": "beamline-dev", "project": "p", "region": "us-central1", "zone": "us-central1-b",
    "network": "net", "subnetwork": "sub", "pods_range": "pods", "services_range": "services",
    "release_channel": "REGULAR", "version": "1.35.8-gke.1036000", "mounts_secrets": False, "mounts_buckets": False,
    "shielded_nodes": True, "gpu_metrics": True, "managed_prometheus": True, "binary_authorization": False,
    "protected": False, "scales_pods": False,
    "maintenance": {"days": ["SA"], "start_hour_utc": 2, "hours": 8, "exclusions": []},
    "control_plane": {"dns_endpoint": True},
})
pulumi.export("kubeconfig", cluster.kubeconfig)
"""
GATEWAY = """
from components.gateway import Gateway
body = {"apiVersion": "gateway.networking.k8s.io/v1", "kind": "Gateway", "metadata": {"name": "g"}, "spec": {}}
pulumi.export("address", Gateway("gateway", {"objects": [{"name": "gateway", "body": body}]}).address)
"""


def let_the_cloud_answer(monkeypatch: pytest.MonkeyPatch, answers: Mapping[str, Mapping[str, Any]]) -> None:
    """Lay outputs over those of a first preview, by resource type."""

    class AnsweringMonitor(InMemoryMonitor):
        def RegisterResource(  # noqa: N802 - the protocol's name
            self, request: resource_pb2.RegisterResourceRequest
        ) -> resource_pb2.RegisterResourceResponse:
            response = super().RegisterResource(request)
            known = struct_pb2.Struct()
            known.CopyFrom(response.object)
            known.update(answers.get(request.type, {}))
            return resource_pb2.RegisterResourceResponse(urn=response.urn, object=known)

    monkeypatch.setattr(runner, "InMemoryMonitor", AnsweringMonitor)


CONTROL_PLANES = {
    "at Google": ("gke-0123.us-central1.gke.goog", None),
    "in the sandbox": ("127.0.0.1:6443", "Q0E="),
}


@pytest.mark.parametrize("case", CONTROL_PLANES)
def test_the_kubeconfig_names_the_dns_endpoint(run: Run, monkeypatch: pytest.MonkeyPatch, case: str) -> None:
    """It is secret, and speaks of the cluster's own authority only where that is who vouches."""
    endpoint, authority = CONTROL_PLANES[case]
    answer = {
        "controlPlaneEndpointsConfig": {
            "dnsEndpointConfig": {"endpoint": endpoint, "allowExternalTraffic": True},
            "ipEndpointsConfig": {"enabled": False},
        },
        "masterAuth": {"clusterCaCertificate": "Q0E="},
        "endpoint": "10.0.0.2",
    }
    let_the_cloud_answer(monkeypatch, {"gcp:container/cluster:Cluster": answer})
    kubeconfig = run(CLUSTER).outputs["kubeconfig"]
    assert isinstance(kubeconfig, Secret)
    server = {"server": f"https://{endpoint}"} | ({"certificate-authority-data": authority} if authority else {})
    assert json.loads(str(kubeconfig.value))["clusters"] == [{"name": "beamline-dev", "cluster": server}]


ADDRESSES = {
    "programmed": ({"addresses": [{"type": "IPAddress", "value": "10.0.0.9"}]}, "10.0.0.9"),
    "not yet": ({"conditions": []}, ""),
}


@pytest.mark.parametrize("case", ADDRESSES)
def test_the_gateways_address(run: Run, monkeypatch: pytest.MonkeyPatch, case: str) -> None:
    """Nothing waits for it with ``wait: accepted``, so that it may be missing."""
    status, address = ADDRESSES[case]
    let_the_cloud_answer(monkeypatch, {"kubernetes:gateway.networking.k8s.io/v1:Gateway": {"status": status}})
    assert run(GATEWAY).outputs == {"address": address}


def test_endpoint_and_connection(run: Run) -> None:
    """The URL once there is an address; words where there is none."""
    text = """
    from types import SimpleNamespace as Some
    from components.connection import connection, endpoint

    def spec(certificate, gateway_class, authentication):
        gateway = Some(certificate=certificate, gateway_class=gateway_class, authentication=authentication)
        serving = Some(router=Some(gateway=gateway), namespace="beam")
        return Some(
            preset=Some(serving=serving), rows=Some(model=Some(served_name="m")), derived=Some(client_timeout_s=630)
        )

    inside = spec(None, "gke-l7-rilb", Some(kind="none"))
    iap = Some(kind="iap", client_id="1-a.apps.googleusercontent.com")
    outside = spec("cert", "gke-l7-regional-external-managed", iap)
    url = endpoint(outside, pulumi.Output.from_input("34.1.2.3"))
    pulumi.export("none", endpoint(inside, pulumi.Output.from_input("")))
    pulumi.export("inside", endpoint(inside, pulumi.Output.from_input("10.0.0.9")))
    pulumi.export("outside", connection(outside, url))
    """
    token = (
        "gcloud auth print-identity-token --include-email --impersonate-service-account=CALLER "
        "--audiences=1-a.apps.googleusercontent.com"
    )
    question = '{"model": "m", "messages": [{"role": "user", "content": "Hello"}]}'
    assert run(text).outputs == {
        "none": "(no address yet: kubectl -n beam get gateways)",
        "inside": "http://10.0.0.9",
        "outside": {
            "base_url": "https://34.1.2.3/v1",
            "client_timeout_s": "630",
            "reachable_from": "the internet",
            "try_it": f'curl https://34.1.2.3/v1/chat/completions -H "Authorization: Bearer $({token})" '
            f"-H 'Content-Type: application/json' -d '{question}'",
            "clients": "pulumi stack output clients --json",
            "kubeconfig": "pulumi stack output kubeconfig --show-secrets > kubeconfig.json",
            "pods": "kubectl --kubeconfig kubeconfig.json -n beam get pods",
        },
    }


def test_clients_wait_for_the_address(run: Run) -> None:
    """Their settings are the pure function's, for the address once it is there and for words where there is none."""
    text = """
    from components.connection import client_outputs
    from tests.manifests.cases import spec_of

    spec = spec_of("g4-llmd")
    pulumi.export("known", client_outputs(spec, pulumi.Output.from_input("10.0.0.9")))
    pulumi.export("none", client_outputs(spec, pulumi.Output.from_input("")))
    """
    outputs = run(text).outputs
    spec = spec_of("g4-llmd")
    for name, address in (("known", "10.0.0.9"), ("none", "ADDRESS")):
        assert outputs[name] == {one.client: one.to_output() for one in client_settings(spec, address)}
