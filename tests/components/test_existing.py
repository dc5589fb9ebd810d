"""Clusters, networks and namespaces that are there already: what is asked of them, and what is said of unfit ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import pytest
from google.protobuf import struct_pb2
from pulumi.runtime.proto import resource_pb2

from beamline.checks import graph_problems
from beamline.engine import UNKNOWN, Graph, Secret, runner
from beamline.engine.monitor import InMemoryMonitor
from components.cluster import Cluster
from components.existing_cluster import ExistingCluster
from components.existing_network import ExistingNetwork
from components.network import Network
from stacks import Problem, ProblemsFound
from tests.components.conftest import Run
from tests.components.plans import STACK, named, plan

VERSION = "1.35.8-gke.1036000"
EXISTING_CLUSTER = {
    "cluster": {"kind": "existing", "name": "shared", "version": VERSION},
    "network": {"kind": "of_cluster"},
}
EXISTING_NETWORK = {
    "network": {
        "kind": "existing",
        "network": "corp",
        "subnetwork": "corp-nodes",
        "pods_range": "gke-pods",
        "services_range": "gke-services",
    }
}
CLUSTER = """
from components.existing_cluster import ExistingCluster
cluster = ExistingCluster("cluster", {{
    "prefix": "beamline-dev", "project": "p", "region": "r", "cluster": "shared", "node_version": "1.35.8-gke.1036000",
    "shielded_nodes": {shielded}, "mounts_secrets": {secrets}, "mounts_buckets": {buckets},
    "managed_prometheus": {prometheus}, "scales_pods": {scaled},
}})
for key in ("name", "kubeconfig", "workload_pool"):
    pulumi.export(key, getattr(cluster, key))
"""
NETWORK = """
from components.existing_network import ExistingNetwork
network = ExistingNetwork("network", {
    "project": "p", "region": "r", "network": "corp", "subnetwork": "corp-nodes", "pods_range": "gke-pods",
    "services_range": "gke-services",
})
for key in ("network", "subnetwork", "pods_range", "services_range"):
    pulumi.export(key, getattr(network, key))
"""
FIT: Mapping[str, Any] = {
    "name": "shared",
    "datapathProvider": "ADVANCED_DATAPATH",
    "enableShieldedNodes": False,
    "endpoint": "203.0.113.4",
    "masterVersion": "1.35.9-gke.1000",
    "masterAuths": [{"clusterCaCertificate": "Q0E="}],
    "workloadIdentityConfigs": [{"workloadPool": "p.svc.id.goog"}],
    "gatewayApiConfigs": [{"channel": "CHANNEL_STANDARD"}],
    "secretManagerConfigs": [{"enabled": True}],
    "addonsConfigs": [{"gcsFuseCsiDriverConfigs": [{"enabled": True}]}],
    "monitoringConfigs": [{"managedPrometheuses": [{"enabled": True}]}],
    "podAutoscalings": [{"hpaProfile": "PERFORMANCE"}],
    "controlPlaneEndpointsConfigs": [
        {"dnsEndpointConfigs": [{"allowExternalTraffic": True, "endpoint": "gke-1.r.gke.goog"}]}
    ],
}
"""A cluster as Google describes it, with everything a stack of any kind needs."""
VPC = {"id": "projects/p/global/networks/corp", "name": "corp"}
SUBNET = {
    "id": "projects/p/regions/r/subnetworks/corp-nodes",
    "name": "corp-nodes",
    "network": "https://www.googleapis.com/compute/v1/projects/p/global/networks/corp",
    "secondaryIpRanges": [{"rangeName": "gke-pods"}, {"rangeName": "gke-services"}],
}

Answers = Mapping[str, Mapping[str, Any] | str]


def look_up(monkeypatch: pytest.MonkeyPatch, answers: Answers) -> None:
    """Answer lookups by the function's name: with its result, or with the text of a refusal."""

    class AnsweringMonitor(InMemoryMonitor):
        def Invoke(  # noqa: N802 - the protocol's name
            self, request: resource_pb2.ResourceInvokeRequest
        ) -> resource_pb2.ResourceInvokeResponse:
            super().Invoke(request)
            answer = answers[request.tok.rpartition(":")[2]]
            response = resource_pb2.ResourceInvokeResponse()
            if isinstance(answer, str):
                response.failures.add(reason=answer)
            else:
                result = struct_pb2.Struct()
                result.update(answer)
                getattr(response, "return").CopyFrom(result)  # the field's name is a keyword
            return response

    monkeypatch.setattr(runner, "InMemoryMonitor", AnsweringMonitor)


@contextmanager
def refused() -> Iterator[Callable[[], list[Problem]]]:
    """Run the body, which has to be refused; give its problems afterwards."""
    with pytest.raises(ProblemsFound) as caught:
        yield lambda: caught.value.problems


def cluster_program(
    *,
    shielded: bool = False,
    secrets: bool = True,
    buckets: bool = True,
    prometheus: bool = True,
    scaled: bool = True,
) -> str:
    return CLUSTER.format(shielded=shielded, secrets=secrets, buckets=buckets, prometheus=prometheus, scaled=scaled)


def test_a_fit_cluster_is_used(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Name, workload pool and the way in are what Google says."""
    look_up(monkeypatch, {"getCluster": FIT})
    outputs = run(cluster_program()).outputs
    kubeconfig = outputs["kubeconfig"]
    assert (outputs["name"], outputs["workload_pool"]) == ("shared", "p.svc.id.goog")
    assert isinstance(kubeconfig, Secret)
    assert "https://gke-1.r.gke.goog" in str(kubeconfig.value)
    assert "certificate-authority-data" not in str(kubeconfig.value)


@pytest.mark.parametrize("dns", [[], [{"dnsEndpointConfigs": [{"allowExternalTraffic": False, "endpoint": "x"}]}]])
def test_without_a_dns_name_that_answers_from_outside_the_address_is_used(
    run: Run, monkeypatch: pytest.MonkeyPatch, dns: list[Any]
) -> None:
    look_up(monkeypatch, {"getCluster": {**FIT, "controlPlaneEndpointsConfigs": dns}})
    kubeconfig = run(cluster_program()).outputs["kubeconfig"]
    assert isinstance(kubeconfig, Secret)
    assert '"server": "https://203.0.113.4"' in str(kubeconfig.value)
    assert '"certificate-authority-data": "Q0E="' in str(kubeconfig.value)


LACKING: Mapping[str, tuple[Mapping[str, Any], str]] = {
    "dataplane-v2": ({"datapathProvider": "LEGACY_DATAPATH"}, "cannot be changed"),
    "workload-identity": ({"workloadIdentityConfigs": []}, "--workload-pool=p.svc.id.goog"),
    "gateway-api": ({"gatewayApiConfigs": [{"channel": "CHANNEL_DISABLED"}]}, "--gateway-api=standard"),
    "shielded-nodes": ({"enableShieldedNodes": True}, "--no-enable-shielded-nodes"),
    "node-version": ({"masterVersion": "1.35.8-gke.1035000"}, "upgrade the control plane first"),
    "secret-manager-addon": ({"secretManagerConfigs": []}, "--enable-secret-manager"),
    "gcs-fuse-addon": ({"addonsConfigs": []}, "--update-addons=GcsFuseCsiDriver=ENABLED"),
    "managed-prometheus": (
        {"monitoringConfigs": [{"managedPrometheuses": [{"enabled": False}]}]},
        "--enable-managed-prometheus",
    ),
    "hpa-profile": ({"podAutoscalings": [{"hpaProfile": "NONE"}]}, "--hpa-profile=performance"),
}


def test_blocks_that_google_leaves_out_count_as_lacking(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    blocks = {key for key in FIT if key.endswith(("Configs", "Autoscalings"))}
    look_up(monkeypatch, {"getCluster": {key: value for key, value in FIT.items() if key not in blocks}})
    with refused() as found:
        run(cluster_program())
    assert {p.rule for p in found()} == {
        "workload-identity",
        "gateway-api",
        "secret-manager-addon",
        "gcs-fuse-addon",
        "managed-prometheus",
        "hpa-profile",
    }


@pytest.mark.parametrize("rule", LACKING)
def test_each_thing_a_cluster_lacks_is_a_problem(run: Run, monkeypatch: pytest.MonkeyPatch, rule: str) -> None:
    """With the command that would put it right, where there is one."""
    change, remedy = LACKING[rule]
    look_up(monkeypatch, {"getCluster": {**FIT, **change}})
    with refused() as found:
        run(cluster_program())
    (problem,) = found()
    assert (problem.rule, problem.path, problem.value) == (rule, "cluster.name", "shared")
    assert remedy in problem.remedy
    assert "{" not in problem.why + problem.allowed + problem.remedy


def test_everything_a_cluster_lacks_comes_at_once(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    changes: dict[str, Any] = {key: value for change, _ in LACKING.values() for key, value in change.items()}
    look_up(monkeypatch, {"getCluster": {**FIT, **changes}})
    with refused() as found:
        run(cluster_program())
    assert {problem.rule for problem in found()} == set(LACKING)


def test_what_a_stack_does_not_need_is_not_asked_for(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Virtual machines may be shielded; without token, bucket, scraping and scaling their add-ons do not matter."""
    changes = {"enableShieldedNodes": True, "secretManagerConfigs": [], "addonsConfigs": [], "monitoringConfigs": []}
    changes["podAutoscalings"] = []
    look_up(monkeypatch, {"getCluster": {**FIT, **changes}})
    program = cluster_program(shielded=True, secrets=False, buckets=False, prometheus=False, scaled=False)
    assert run(program).outputs["name"] == "shared"


def test_virtual_machines_do_not_join_bare_metal(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """G4 in a cluster of A4X Max, whose Shielded Nodes are off, is refused by name."""
    look_up(monkeypatch, {"getCluster": {**FIT, "enableShieldedNodes": False}})
    with refused() as found:
        run(cluster_program(shielded=True))
    (problem,) = found()
    assert problem.rule == "shielded-nodes"
    assert "as bare metal needs them" in problem.why


def test_a_cluster_that_is_not_there(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    look_up(monkeypatch, {"getCluster": "projects/p/locations/r/clusters/shared not found"})
    with refused() as found:
        run(cluster_program())
    (problem,) = found()
    assert (problem.rule, problem.path, problem.value) == ("not-found", "cluster.name", "shared")
    assert "clusters/shared not found" in problem.why


def test_a_fit_network_is_used(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    look_up(monkeypatch, {"getNetwork": VPC, "getSubnetwork": SUBNET})
    assert run(NETWORK).outputs == {
        "network": VPC["id"],
        "subnetwork": SUBNET["id"],
        "pods_range": "gke-pods",
        "services_range": "gke-services",
    }


UNFIT_NETWORKS: Mapping[str, tuple[Answers, dict[str, str]]] = {
    "neither is there": (
        {"getNetwork": "corp not found", "getSubnetwork": "corp-nodes not found"},
        {"network.network": "not-found", "network.subnetwork": "not-found"},
    ),
    "a subnet of another VPC": (
        {"getNetwork": VPC, "getSubnetwork": {**SUBNET, "network": "projects/p/global/networks/other-corp"}},
        {"network.subnetwork": "subnetwork-network"},
    ),
    "no ranges": (
        {"getNetwork": VPC, "getSubnetwork": {**SUBNET, "secondaryIpRanges": []}},
        {"network.pods_range": "secondary-range", "network.services_range": "secondary-range"},
    ),
    "another range": (
        {"getNetwork": VPC, "getSubnetwork": {**SUBNET, "secondaryIpRanges": [{"rangeName": "gke-pods"}]}},
        {"network.services_range": "secondary-range"},
    ),
}


@pytest.mark.parametrize("case", UNFIT_NETWORKS)
def test_an_unfit_network(run: Run, monkeypatch: pytest.MonkeyPatch, case: str) -> None:
    answers, expected = UNFIT_NETWORKS[case]
    look_up(monkeypatch, answers)
    with refused() as found:
        run(NETWORK)
    assert {problem.path: problem.rule for problem in found()} == expected


def test_found_and_made_can_stand_for_each_other() -> None:
    """Whatever takes the outputs of the one takes those of the other."""
    assert ExistingNetwork.__annotations__ == Network.__annotations__
    assert ExistingCluster.__annotations__ == Cluster.__annotations__


def types(graph: Graph) -> set[str]:
    return {resource.type for resource in graph.resources}


def test_a_stack_in_a_cluster_that_is_there() -> None:
    """Neither cluster nor network are made, the nodes' account is; nothing is asked in a plan, and nothing is wrong."""
    graph = plan("g4-llmd", overrides=EXISTING_CLUSTER)
    made = types(graph)
    assert not made & {
        "gcp:container/cluster:Cluster",
        "gcp:compute/network:Network",
        "gcp:compute/subnetwork:Subnetwork",
        "gcp:compute/routerNat:RouterNat",
    }
    assert made >= {"gcp:container/nodePool:NodePool", "gcp:serviceaccount/account:Account"}
    asked = [invoke.token for invoke in graph.invokes]
    assert asked == ["pulumi:pulumi:readStackResourceOutputs", "gcp:container/getCluster:getCluster"]
    assert named(graph, f"{STACK}-system-pool").inputs["cluster"] == UNKNOWN
    assert str(named(graph, f"{STACK}-kubernetes").inputs["clusterIdentifier"]).endswith("/clusters/shared")
    assert graph_problems(graph, VERSION) == []


def test_a_stack_in_a_network_that_is_there() -> None:
    """The cluster is put into it; its addresses, its NAT and its proxies are its owner's."""
    graph = plan("g4-llmd", overrides=EXISTING_NETWORK)
    cluster = named(graph, f"{STACK}-cluster-gke")
    assert not {token for token in types(graph) if token.startswith("gcp:compute/")}
    assert cluster.inputs["ipAllocationPolicy"] == {
        "clusterSecondaryRangeName": "gke-pods",
        "servicesSecondaryRangeName": "gke-services",
    }
    assert (cluster.inputs["network"], cluster.inputs["subnetwork"]) == (UNKNOWN, UNKNOWN)
    assert graph_problems(graph, VERSION) == []


def test_a_stack_in_a_namespace_that_is_there() -> None:
    """It is looked up before anything is put into it, and not made."""
    graph = plan("g4-llmd", overrides={**EXISTING_CLUSTER, "serving": {"existing_namespace": True}})
    (read,) = graph.reads
    assert (read.type, read.id) == ("kubernetes:core/v1:Namespace", "beam")
    made = [r.inputs["metadata"] for r in graph.resources if r.type == "kubernetes:core/v1:Namespace"]
    assert [metadata["name"] for metadata in made if isinstance(metadata, dict)] == ["beam-weights"]
    assert graph_problems(graph, VERSION) == []


def test_a_stack_without_monitoring() -> None:
    """GKE runs no collectors for it, and nothing is scraped."""
    graph = plan("g4-llmd", overrides={"monitoring": {"kind": "none"}})
    monitoring = named(graph, f"{STACK}-cluster-gke").inputs["monitoringConfig"]
    assert isinstance(monitoring, dict)
    assert monitoring["managedPrometheus"] == {"enabled": False}
    assert "kubernetes:monitoring.googleapis.com/v1:PodMonitoring" not in types(graph)
    assert "beamline:monitoring:Monitoring" not in types(graph)
