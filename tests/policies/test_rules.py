"""Every rule finds its fault, says all of it, and lets the sound twin pass. All rules run on every graph."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from beamline.engine.graph import Graph, Resource
from beamline.engine.values import UNKNOWN, Secret
from policies import RULES, rule_problems
from stacks import to_text
from tests.policies.graphs import (
    GOOGLE,
    PROVIDER,
    ROOT,
    graph_of,
    registered,
    resource,
    sound,
    sound_bodies,
    with_values,
)

CASES: list[dict[str, Any]] = yaml.safe_load(Path(__file__).with_name("cases.yaml").read_text())


def _found(graph: Graph) -> list[dict[str, Any]]:
    """Return what all rules say, without the parts that are the same for each finding of a rule."""
    found = []
    for rule in RULES:
        for finding in rule.find(graph):
            said = {"path": finding.path, "value": finding.value, "detail": finding.detail, "allowed": finding.allowed}
            found.append({"rule": rule.id, **{key: text for key, text in said.items() if text not in (None, "")}})
    return found


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_fault_is_found_alone_and_the_sound_twin_passes(case: dict[str, Any]) -> None:
    assert _found(with_values(case["bad"])) == case["found"]
    assert _found(with_values(case["good"])) == []


def _provider(**inputs: Any) -> Graph:
    return graph_of(sound_bodies(), resource("pulumi:providers:kubernetes", "cluster", inputs, urn=PROVIDER))


def _namespace(**options: str) -> Graph:
    return graph_of(sound_bodies(), registered(sound_bodies()["Namespace"], **options))


def _secret(data: Any) -> Graph:
    body = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "token", "namespace": "qwen"}, "data": data}
    return graph_of({**sound_bodies(), "Secret": body})


_POOL = "gcp:container/nodePool:NodePool"


def _pool(changes: dict[str, Any]) -> Graph:
    (pool,) = (each for each in sound().resources if each.type == _POOL)
    return graph_of(sound_bodies(), replace(pool, inputs={**pool.inputs, **changes}))


def _node(changes: dict[str, Any]) -> Graph:
    (pool,) = (each for each in sound().resources if each.type == _POOL)
    config: Any = pool.inputs["nodeConfig"]
    return _pool({"nodeConfig": {**config, **changes}})


def _cluster_with(**inputs: Any) -> Resource:
    """The cluster of the sound stack's pool; nothing of the rules complains of it."""
    (pool,) = (each for each in sound().resources if each.type == _POOL)
    config: Any = pool.inputs["nodeConfig"]
    own = {
        "privateClusterConfig": {"enablePrivateNodes": True},
        "enableShieldedNodes": True,
        "nodeConfig": {k: v for k, v in config.items() if k not in ("machineType", "guestAccelerators")},
    }
    return resource("gcp:container/cluster:Cluster", "c", {**own, **inputs}, provider=GOOGLE)


def _cluster(*, metal: bool) -> Graph:
    """A cluster with the switch off; with bare metal in it, that is how it has to be."""
    (pool,) = (each for each in sound().resources if each.type == _POOL)
    config: Any = pool.inputs["nodeConfig"]
    cluster = _cluster_with(enableShieldedNodes=False)
    metal_pool = resource(
        _POOL,
        "metal",
        {
            "networkConfig": {"enablePrivateNodes": True},
            "nodeConfig": {
                **config,
                "machineType": "a4x-maxgpu-4g-metal",
                "shieldedInstanceConfig": {"enableSecureBoot": False},
            },
        },
        provider=GOOGLE,
    )
    return graph_of(sound_bodies(), cluster, *([metal_pool] if metal else []))


def _beside(machine_type: str, cluster: str = "beamline-t") -> Graph:
    """The sound stack's pool, and another of a machine type in some cluster."""
    (pool,) = (each for each in sound().resources if each.type == _POOL)
    config: Any = pool.inputs["nodeConfig"]
    other = {**config, "machineType": machine_type, "shieldedInstanceConfig": {"enableSecureBoot": True}}
    inputs = {**pool.inputs, "name": "other", "cluster": cluster, "nodeConfig": other}
    return graph_of(sound_bodies(), resource(_POOL, "other", inputs, provider=GOOGLE))


def _mounting(*, driver: bool) -> Graph:
    """A pod that mounts a bucket, and a cluster whose add-on for that is on or off."""
    bodies = sound_bodies()
    template = bodies["Deployment"]["spec"]["template"]
    template["metadata"]["annotations"] = {"gke-gcsfuse/volumes": "true"}
    template["spec"]["volumes"].append({"name": "weights", "csi": {"driver": "gcsfuse.csi.storage.gke.io"}})
    return graph_of(bodies, _cluster_with(addonsConfig={"gcsFuseCsiDriverConfig": {"enabled": driver}}))


def _granting(kind: str, role: str) -> Graph:
    return graph_of(sound_bodies(), resource(kind, "grant", {"role": role, "member": UNKNOWN}, provider=GOOGLE))


def _contexts(*names: str, **inputs: Any) -> Graph:
    """A provider with a kubeconfig of these contexts."""
    kubeconfig = {"contexts": [{"name": name, "context": {"cluster": name}} for name in names]}
    return _provider(clusterIdentifier="p/z/c", kubeconfig=Secret(json.dumps(kubeconfig)), **inputs)


def _asks_for_pages() -> Graph:
    """The sound stack, of which the pool has huge pages and the pod takes them."""
    bodies = sound_bodies()
    (container,) = bodies["Deployment"]["spec"]["template"]["spec"]["containers"]
    container["resources"]["limits"]["hugepages-2Mi"] = "512Mi"
    (pool,) = (each for each in sound().resources if each.type == _POOL)
    config: Any = pool.inputs["nodeConfig"]
    pages = {"linuxNodeConfig": {"hugepagesConfig": {"hugepageSize2m": 256}}}
    return graph_of(bodies, replace(pool, inputs={**pool.inputs, "nodeConfig": {**config, **pages}}))


DEFAULT_PROVIDER = "urn:pulumi:t::beamline::pulumi:providers:kubernetes::default_4_34_2"

REGISTRATIONS: dict[str, tuple[Graph, Graph, tuple[str, str]]] = {
    "an object without a provider": (
        _namespace(provider=""),
        _namespace(),
        ("default-provider", "Namespace/qwen.provider"),
    ),
    "a cloud resource without a provider": (
        graph_of(sound_bodies(), resource("gcp:compute/network:Network", "vpc", {})),
        graph_of(sound_bodies(), resource("gcp:compute/network:Network", "vpc", {}, provider=GOOGLE)),
        ("default-provider", "Network/vpc.provider"),
    ),
    "an object with Pulumi's default provider": (
        _namespace(provider=DEFAULT_PROVIDER),
        _namespace(),
        ("default-provider", "Namespace/qwen.provider"),
    ),
    "a cluster identifier that only an apply knows": (
        _provider(clusterIdentifier=UNKNOWN, kubeconfig=Secret(UNKNOWN)),
        _provider(clusterIdentifier="p/z/c", kubeconfig=Secret(UNKNOWN)),
        ("cluster-identifier", "pulumi:providers:kubernetes/cluster.clusterIdentifier"),
    ),
    "a kubeconfig that is not marked secret": (
        _provider(clusterIdentifier="p/z/c", kubeconfig="{}"),
        _provider(clusterIdentifier="p/z/c", kubeconfig=Secret("{}")),
        ("secret-not-marked", "kubernetes/cluster.kubeconfig"),
    ),
    "a kubeconfig of two clusters, and none of them chosen": (
        _contexts("mine", "theirs"),
        _contexts("mine", "theirs", context="mine"),
        ("kubeconfig-context", "pulumi:providers:kubernetes/cluster.context"),
    ),
    "a context that the kubeconfig has not": (
        _contexts("mine", "theirs", context="hers"),
        _contexts("mine"),
        ("kubeconfig-context", "pulumi:providers:kubernetes/cluster.context"),
    ),
    "a CPU quota period in microseconds": (
        _node({"kubeletConfig": {"insecureKubeletReadonlyPortEnabled": "FALSE", "cpuCfsQuotaPeriod": "100us"}}),
        _node({"kubeletConfig": {"insecureKubeletReadonlyPortEnabled": "FALSE", "cpuCfsQuotaPeriod": "100ms"}}),
        ("cpu-quota-period", "NodePool/gpu.nodeConfig.kubeletConfig.cpuCfsQuotaPeriod"),
    ),
    "a CPU quota period of a minute": (
        _node({"kubeletConfig": {"insecureKubeletReadonlyPortEnabled": "FALSE", "cpuCfsQuotaPeriod": "60s"}}),
        _node({"kubeletConfig": {"insecureKubeletReadonlyPortEnabled": "FALSE", "cpuCfsQuotaPeriod": "1s"}}),
        ("cpu-quota-period", "NodePool/gpu.nodeConfig.kubeletConfig.cpuCfsQuotaPeriod"),
    ),
    "pages of a gigabyte": (
        _node({"linuxNodeConfig": {"hugepagesConfig": {"hugepageSize1g": 2}}}),
        _asks_for_pages(),
        ("huge-pages-size", "NodePool/gpu.nodeConfig.linuxNodeConfig.hugepagesConfig.hugepageSize1g"),
    ),
    "a number of nodes beside an autoscaler": (
        _pool({"autoscaling": {"totalMinNodeCount": 0, "totalMaxNodeCount": 4}}),
        _pool({"autoscaling": {"totalMinNodeCount": 0, "totalMaxNodeCount": 4}, "nodeCount": None}),
        ("node-count-and-autoscaler", "NodePool/gpu.nodeCount"),
    ),
    "huge pages copied from another pool": (
        _node({"linuxNodeConfig": {"hugepagesConfig": {"hugepageSize2m": 4096}}}),
        _asks_for_pages(),
        ("huge-pages-idle", "NodePool/gpu.nodeConfig.linuxNodeConfig.hugepagesConfig.hugepageSize2m"),
    ),
    "a Secret whose values are not marked secret": (
        _secret({"token": "abc"}),
        _secret({"token": Secret("abc")}),
        ("secret-not-marked", "Secret/token.data"),
    ),
    "an output that is not marked secret": (
        replace(sound(), outputs={"kubeconfig": "{}"}),
        replace(sound(), outputs={"kubeconfig": Secret("{}"), "endpoint": "http://10.0.0.2"}),
        ("secret-not-marked", "outputs.kubeconfig"),
    ),
    "a token in an output": (
        replace(sound(), outputs={"note": "use hf_" + "a" * 34}),
        replace(sound(), outputs={"note": Secret("use hf_" + "a" * 34)}),
        ("secret-in-plain-text", "outputs.note"),
    ),
    "nodes with public addresses": (
        _pool({"networkConfig": {"enablePrivateNodes": False}}),
        _pool({"networkConfig": {"enablePrivateNodes": True, "podRange": "pods"}}),
        ("node-public-address", "NodePool/gpu.networkConfig.enablePrivateNodes"),
    ),
    "nodes that act as the default account": (
        _node({"serviceAccount": None}),
        _node({"serviceAccount": UNKNOWN}),
        ("node-default-account", "NodePool/gpu.nodeConfig.serviceAccount"),
    ),
    "nodes that act as the default account, by its name": (
        _node({"serviceAccount": "123-compute@developer.gserviceaccount.com"}),
        _node({"serviceAccount": "gpu@acme-inference.iam.gserviceaccount.com"}),
        ("node-default-account", "NodePool/gpu.nodeConfig.serviceAccount"),
    ),
    "nodes with the kubelet's read-only port": (
        _node({"kubeletConfig": {"cpuManagerPolicy": "static"}}),
        _node({"kubeletConfig": {"cpuManagerPolicy": "static", "insecureKubeletReadonlyPortEnabled": "FALSE"}}),
        ("node-not-hardened", "NodePool/gpu.nodeConfig.kubeletConfig.insecureKubeletReadonlyPortEnabled"),
    ),
    "nodes that give pods their own token": (
        _node({"workloadMetadataConfig": {"mode": "GCE_METADATA"}}),
        _node({"workloadMetadataConfig": {"mode": "GKE_METADATA"}}),
        ("node-not-hardened", "NodePool/gpu.nodeConfig.workloadMetadataConfig.mode"),
    ),
    "nodes with the old metadata endpoints": (
        _node({"metadata": {}}),
        _node({"metadata": {"disable-legacy-endpoints": "true", "team": "inference"}}),
        ("node-not-hardened", "NodePool/gpu.nodeConfig.metadata.disable-legacy-endpoints"),
    ),
    "virtual machines without verified boot": (
        _node({"shieldedInstanceConfig": {"enableSecureBoot": False}}),
        _node({"shieldedInstanceConfig": {"enableSecureBoot": True}}),
        ("node-not-shielded", "NodePool/gpu.nodeConfig.shieldedInstanceConfig.enableSecureBoot"),
    ),
    "a cluster that shields no nodes, without a reason": (
        _cluster(metal=False),
        _cluster(metal=True),
        ("node-not-shielded", "Cluster/c.enableShieldedNodes"),
    ),
    "machines with and without a virtual TPM in one cluster": (
        _beside("a4x-maxgpu-4g-metal"),
        _beside("a4x-maxgpu-4g-metal", cluster="another"),
        ("pools-share-cluster", "NodePool/other.nodeConfig.machineType"),
    ),
    "a bucket that the cluster cannot mount": (
        _mounting(driver=False),
        _mounting(driver=True),
        ("csi-driver-off", "Deployment/engine.spec.template.spec.volumes[1].csi.driver"),
    ),
    "a role that nothing is known to need": (
        _granting("gcp:projects/iAMMember:IAMMember", "roles/editor"),
        _granting("gcp:projects/iAMMember:IAMMember", "roles/container.defaultNodeServiceAccount"),
        ("google-role-not-listed", "IAMMember/grant.role"),
    ),
    "a listed role, granted on the whole project": (
        _granting("gcp:projects/iAMMember:IAMMember", "roles/storage.objectViewer"),
        _granting("gcp:storage/bucketIAMMember:BucketIAMMember", "roles/storage.objectViewer"),
        ("google-role-not-listed", "IAMMember/grant.role"),
    ),
    "a role on a thing of which no grant is listed": (
        _granting("gcp:pubsub/topicIAMBinding:TopicIAMBinding", "roles/pubsub.publisher"),
        _granting("gcp:kms/cryptoKeyIAMMember:CryptoKeyIAMMember", "roles/cloudkms.cryptoKeyEncrypterDecrypter"),
        ("google-role-not-listed", "TopicIAMBinding/grant.role"),
    ),
    "a key of a service account": (
        graph_of(sound_bodies(), resource("gcp:serviceaccount/key:Key", "key", {}, provider=GOOGLE)),
        graph_of(sound_bodies(), resource("gcp:serviceaccount/account:Account", "key", {}, provider=GOOGLE)),
        ("service-account-key", "Key/key"),
    ),
    "a resource directly under the stack": (
        _namespace(parent=ROOT),
        _namespace(),
        ("parented", "kubernetes:core/v1:Namespace/qwen.parent"),
    ),
}


@pytest.mark.parametrize("name", REGISTRATIONS)
def test_fault_in_a_registration_is_found_alone_and_the_sound_twin_passes(name: str) -> None:
    bad, good, found = REGISTRATIONS[name]
    assert [(each["rule"], each["path"]) for each in _found(bad)] == [found]
    assert _found(good) == []


def test_every_rule_has_a_case() -> None:
    cases = {each["rule"] for case in CASES for each in case["found"]}
    assert {rule.id for rule in RULES} == cases | {found[0] for _, _, found in REGISTRATIONS.values()}


def test_every_rule_explains_itself() -> None:
    """Ids are unique, and no text that a user needs is empty."""
    assert len({rule.id for rule in RULES}) == len(RULES)
    assert [rule.id for rule in RULES if not (rule.why and rule.remedy and rule.source)] == []


def test_a_problem_says_everything() -> None:
    bad = with_values({"Service.spec.ports.0.targetPort": "grpc"})
    assert to_text(rule_problems(bad)) == (
        "error[port-not-declared] Service/router.spec.ports[0] = grpc\n"
        "  why:     no container of Deployment/engine declares this port; "
        "connections to it would be refused or never made\n"
        "  allowed: 8000, http\n"
        "  remedy:  name a port that the pods declare\n"
        f"  where:   {registered(sound_bodies()['Service']).urn}\n"
        "  source:  Kubernetes docs, Services; GKE docs, managed collection"
    )


def test_a_problem_never_shows_the_secret_it_found() -> None:
    token = "hf_" + "a" * 34
    bad = with_values({"Deployment.spec.template.spec.containers.0.env.0": {"name": "HF_TOKEN", "value": token}})
    assert len(rule_problems(bad)) == 2
    assert token not in to_text(rule_problems(bad))


def test_components_may_stand_at_the_root_of_a_program_without_the_whole_stack() -> None:
    """Each component is usable alone; only the complete stack owns everything."""
    alone = tuple(
        replace(each, type="beamline:network:Network") if each.type == "beamline:stack:InferenceStack" else each
        for each in sound().resources
    )
    assert rule_problems(Graph(resources=alone, outputs={})) == []
