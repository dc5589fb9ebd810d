"""What holds for the graph of every preset."""

from __future__ import annotations

import itertools
import re

import pytest
from pulumi import _types

from beamline.checks.sdk_inputs import sdk_input_problems
from beamline.engine import Graph, Resource, Secret
from beamline.engine.values import Value
from components.sdk import arguments_class, resource_class
from stacks.urns import STACK_TYPE
from tests.components.plans import PRESETS, STACK, ancestors, named, plan

RELEASE = "kubernetes:helm.sh/v3:Release"
NODE_POOL = "gcp:container/nodePool:NodePool"
FOR_TRYING = {"small-l4"}


@pytest.fixture(params=PRESETS)
def graph(request: pytest.FixtureRequest) -> Graph:
    return plan(request.param)


def of_type(graph: Graph, start: str) -> list[Resource]:
    return [resource for resource in graph.resources if resource.type.startswith(start)]


def test_every_resource_has_a_component_as_parent(graph: Graph) -> None:
    components = {r.urn for r in graph.resources if not r.custom and r.type != STACK_TYPE}
    stray = [r.name for r in graph.resources if r.custom and r.parent not in components]
    assert stray == []


def test_every_component_says_that_it_is_complete(graph: Graph) -> None:
    """Without ``register_outputs`` the engine would wait for more children."""
    silent = [r.name for r in graph.resources if not r.custom and r.registered_outputs is None]
    assert silent == []


def test_only_the_stacks_own_providers_are_used(graph: Graph) -> None:
    """A default provider would follow the machine's kubeconfig or gcloud settings to another cluster or project."""
    for package, provider in (("gcp:", "google"), ("kubernetes:", "kubernetes")):
        urn = named(graph, f"{STACK}-{provider}").urn
        assert {resource.provider for resource in of_type(graph, package)} == {urn}


def test_the_cluster_is_identified_by_a_literal(graph: Graph) -> None:
    """A new or unknown kubeconfig must not replace every object in the cluster."""
    provider = named(graph, f"{STACK}-kubernetes")
    identifier = "projects/your-project-id/locations/us-central1/clusters/beamline-dev"
    assert provider.inputs["clusterIdentifier"] == identifier
    assert "clusterIdentifier" not in provider.property_dependencies


def test_the_kubeconfig_is_secret_everywhere(graph: Graph) -> None:
    places = {
        "provider": named(graph, f"{STACK}-kubernetes").inputs["kubeconfig"],
        "cluster": (named(graph, f"{STACK}-cluster").registered_outputs or {})["kubeconfig"],
        "stack": (named(graph, STACK).registered_outputs or {})["kubeconfig"],
        "output": graph.outputs["kubeconfig"],
    }
    assert [place for place, value in places.items() if not isinstance(value, Secret)] == []


def test_names_at_google_are_literals(graph: Graph) -> None:
    """A name that is only known later would make each preview look like a replacement."""
    google = of_type(graph, "gcp:")
    names = {r.name: r.inputs[key] for r in google for key in ("name", "accountId") if key in r.inputs}
    assert {name: value for name, value in names.items() if not str(value).startswith("beamline-dev")} == {}


def test_node_pools_come_one_after_the_other(graph: Graph) -> None:
    """GKE runs one operation of a cluster at a time and refuses a second."""
    system, accelerator = named(graph, f"{STACK}-system-pool"), named(graph, f"{STACK}-main-pool")
    assert {system.urn, accelerator.urn} == {resource.urn for resource in of_type(graph, NODE_POOL)}
    assert system.urn in ancestors(graph, accelerator.urn)


def test_every_object_comes_after_the_nodes_and_goes_before_them(graph: Graph) -> None:
    pools = {resource.urn for resource in of_type(graph, NODE_POOL)}
    early = [r.name for r in of_type(graph, "kubernetes:") if not pools <= ancestors(graph, r.urn)]
    assert early == []


def test_the_stack_is_composed_forward_only(graph: Graph) -> None:
    """Each part comes after everything of the part before it."""
    order = ["network", "cluster", "system", "main", "fabric", "weights", "serving", "gateway", "monitoring"]
    made = {resource.name for resource in graph.resources}
    order = [part for part in order if f"{STACK}-{part}" in made]
    assert set(order) >= {"network", "cluster", "main", "weights", "serving", "gateway"}
    for first, then in itertools.pairwise(order):
        before = {r.urn for r in graph.resources if r.custom and r.parent == named(graph, f"{STACK}-{first}").urn}
        after = [r for r in graph.resources if r.custom and r.parent == named(graph, f"{STACK}-{then}").urn]
        objects = [r for r in after if then != "weights" or r.type.startswith("kubernetes:")]
        assert objects
        assert [r.name for r in objects if not before <= ancestors(graph, r.urn)] == [], f"{then} after {first}"


def test_charts_are_pinned_and_come_after_a_namespace_of_ours(graph: Graph) -> None:
    """Helm makes no namespace, every chart has a name and an exact version, and nothing secret is in its values."""
    for release in of_type(graph, RELEASE):
        before = {r.urn: r for r in graph.resources if r.urn in ancestors(graph, release.urn)}
        namespaces = [r for r in before.values() if r.type == "kubernetes:core/v1:Namespace"]
        assert release.inputs["namespace"] in [r.inputs["metadata"]["name"] for r in namespaces]  # type: ignore[index,call-overload]
        assert (release.inputs["createNamespace"], release.inputs["skipAwait"]) == (False, False)
        assert release.inputs["name"]
        assert re.fullmatch(r"v?\d+\.\d+\.\d+", str(release.inputs["version"]))
        assert not _has_secret(release.inputs["values"])


def _has_secret(value: Value) -> bool:
    if isinstance(value, dict):
        return any(_has_secret(item) for item in value.values())
    return any(_has_secret(item) for item in value) if isinstance(value, list) else isinstance(value, Secret)


KINDS_OF_CHARTS = {
    "kubernetes:leaderworkerset.x-k8s.io/v1:LeaderWorkerSet": "lws",
    "kubernetes:nvidia.com/v1beta1:DynamoGraphDeployment": "dynamo-platform",
    "kubernetes:resource.nvidia.com/v1beta1:ComputeDomain": "dra-driver",
}
"""Kind that a chart brings -> name of the chart's release in the component."""


def test_what_needs_a_chart_comes_after_it(graph: Graph) -> None:
    """Its kind does not exist before, and its controller has to outlive it, or finalizers hang."""
    for kind, release in KINDS_OF_CHARTS.items():
        for resource in of_type(graph, kind):
            (chart,) = [r.urn for r in of_type(graph, RELEASE) if r.name.endswith(f"-{release}")]
            assert chart in ancestors(graph, resource.urn)


def test_the_right_to_make_networks_comes_before_the_pool_that_needs_it(graph: Graph) -> None:
    """GKE makes the networks of an accelerator network profile as its service agent."""
    pool = named(graph, f"{STACK}-main-pool")
    network = pool.inputs["networkConfig"]
    grants = [r.urn for r in graph.resources if r.inputs.get("role") == "roles/compute.networkAdmin"]
    assert isinstance(network, dict)
    assert len(grants) == ("acceleratorNetworkProfile" in network)
    assert set(grants) <= ancestors(graph, pool.urn)


def test_the_identity_comes_after_the_cluster(graph: Graph) -> None:
    """The pool of Workload Identities exists only once the project has a cluster that uses it."""
    identity = named(graph, f"{STACK}-weights-reader-identity")
    assert named(graph, f"{STACK}-cluster-gke").urn in ancestors(graph, identity.urn)


def test_inputs_fit_the_sdks_types(graph: Graph) -> None:
    assert sdk_input_problems(graph) == []


def test_ignored_changes_name_inputs_that_exist(graph: Graph) -> None:
    """The engine takes any path, and one in Python's spelling ignores nothing."""
    ignored = [(r.type, path) for r in graph.resources for path in r.ignore_changes]
    assert {path for _, path in ignored} == {"initialNodeCount", "nodeConfig", "nodeConfig.resourceLabels"}
    for type_token, path in ignored:
        arguments = arguments_class(resource_class(type_token))
        for key in path.split("."):
            arguments = _types.input_type_types(arguments)[key]


def test_nothing_is_left_to_the_cluster_to_delete(graph: Graph) -> None:
    """The engine hands ``deleted_with`` from a component to its children; it would reach the load balancer."""
    assert [resource.name for resource in graph.resources if resource.deleted_with] == []


@pytest.mark.parametrize("preset", PRESETS)
def test_production_presets_protect_what_cannot_be_had_again(preset: str) -> None:
    """Cluster and pools; nothing else, and nothing where it would be in the way."""
    precious = {f"{STACK}-cluster-gke", f"{STACK}-system-pool", f"{STACK}-main-pool"}
    protected = {resource.name for resource in plan(preset).resources if resource.protect}
    assert protected == (set() if preset in FOR_TRYING else precious)


def test_a_destroy_is_stopped_by_protect_alone(graph: Graph) -> None:
    """The provider's deletion_protection (its default is true) would stop it when all but the cluster is gone."""
    assert named(graph, f"{STACK}-cluster-gke").inputs["deletionProtection"] is False


def test_what_the_plan_notes_is_logged_once() -> None:
    """Placeholders and unresolved digests are one message, not one per resource."""
    (note,) = plan("g4-llmd").logs
    assert note.severity == "info"
    assert "note[placeholder-project] project = your-project-id" in note.message


def test_every_stack_says_the_same_things_about_itself(graph: Graph) -> None:
    """Whoever uses a stack's outputs need not know which router or machine is behind it."""
    assert set(graph.outputs) == {"clients", "cluster", "connect", "endpoint", "kubeconfig", "model", "namespace"}
    connect = graph.outputs["connect"]
    assert isinstance(connect, dict)
    assert set(connect) == {"base_url", "client_timeout_s", "clients", "kubeconfig", "pods", "reachable_from", "try_it"}


def test_outputs() -> None:
    """What a stack exports, and what of it a first preview already knows."""
    assert plan("g4-llmd").to_json()["outputs"] == {
        "clients": {"$unknown": True},
        "cluster": "beamline-dev",
        "connect": {
            "base_url": {"$unknown": True},
            "client_timeout_s": "1830",
            "clients": "pulumi stack output clients --json",
            "kubeconfig": "pulumi stack output kubeconfig --show-secrets > kubeconfig.json",
            "pods": "kubectl --kubeconfig kubeconfig.json -n beam get pods",
            "reachable_from": "the stack's VPC and networks connected to it",
            "try_it": {"$unknown": True},
        },
        "endpoint": {"$unknown": True},
        "kubeconfig": {"$secret": True},
        "model": "reflection/Beam-1.0-501B-A23B",
        "namespace": "beam",
    }
