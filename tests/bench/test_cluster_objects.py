"""Which objects are timed on both sides, and what kubectl waits for."""

from __future__ import annotations

from typing import Any

from bench.cluster_objects import identity, is_definition, split_after_definitions, timed_objects, wait_commands
from manifests import KubernetesObject


def body(kind: str, name: str, api_version: str = "v1", namespace: str = "beam") -> dict[str, Any]:
    metadata = {"name": name, "namespace": namespace} if namespace else {"name": name}
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, "spec": {}}


def thing(kind: str, name: str, api_version: str = "v1", namespace: str = "beam", **more: Any) -> KubernetesObject:
    return KubernetesObject("serving", name, body(kind, name, api_version, namespace), **more)


def resource(urn: str, kind: str, parent: str = "", dependencies: tuple[str, ...] = ()) -> dict[str, Any]:
    found = {"urn": urn, "type": kind, "inputs": body("K", urn), "parent": parent, "dependencies": list(dependencies)}
    return {key: value for key, value in found.items() if value}  # the state leaves out what is empty


STACK = resource("stack", "beamline:stack:InferenceStack")
PROVIDER = resource("provider", "pulumi:providers:kubernetes", "stack")


def test_every_kubernetes_object_is_timed_and_nothing_else() -> None:
    state = [STACK, PROVIDER, resource("bucket", "gcp:storage/bucket:Bucket"), resource("a", "kubernetes:core/v1:Pod")]
    assert timed_objects(state) == {"a": ("v1", "K", "beam", "a")}


def test_a_release_and_what_it_stands_on_stay() -> None:
    """Directly, through another resource, and through the component it is in; what stands on the release is timed."""
    state = [
        STACK,
        resource("quota-of-fabric", "kubernetes:core/v1:ResourceQuota"),
        resource("namespace", "kubernetes:core/v1:Namespace"),
        resource("unrelated", "kubernetes:core/v1:ConfigMap"),
        resource("serving", "beamline:serving:DynamoServing", "stack", ("quota-of-fabric",)),
        resource("secret", "kubernetes:core/v1:Secret", "serving", ("namespace",)),
        resource("release", "kubernetes:helm.sh/v3:Release", "serving", ("secret",)),
        resource("graph", "kubernetes:nvidia.com/v1:Graph", "serving", ("release",)),
    ]
    assert set(timed_objects(state)) == {"unrelated", "graph"}


def test_identity_tells_namespaces_apart() -> None:
    assert identity(body("Namespace", "beam", namespace="")) == ("v1", "Namespace", "", "beam")
    assert identity(body("Pod", "a", namespace="x")) != identity(body("Pod", "a", namespace="y"))


def test_objects_are_split_behind_the_last_definition() -> None:
    objects = [
        thing("Namespace", "beam", namespace=""),
        thing("CustomResourceDefinition", "one", "apiextensions.k8s.io/v1", ""),
        thing("ConfigMap", "between"),
        thing("CustomResourceDefinition", "two", "apiextensions.k8s.io/v1", ""),
        thing("Queue", "of-kind-one", "example.com/v1"),
    ]
    assert [[item.name for item in part] for part in split_after_definitions(objects)] == [
        ["beam", "one", "between", "two"],
        ["of-kind-one"],
    ]
    assert [item.name for item in objects if is_definition(item)] == ["one", "two"]


def test_without_definitions_all_is_applied_at_once() -> None:
    objects = [thing("ConfigMap", "a"), thing("ConfigMap", "b")]
    assert split_after_definitions(objects) == [objects]
    assert split_after_definitions([]) == []


def test_waits() -> None:
    """The stack's own conditions, what the provider knows of a kind, nothing for the rest; alike waits together."""
    commands = wait_commands(
        [
            thing("Deployment", "engine", "apps/v1"),
            thing("Deployment", "unwaited", "apps/v1", await_ready=False),
            thing("ConfigMap", "config"),
            thing("Service", "router"),
            thing("Gateway", "gateway", "g.example/v1", wait_for=("condition=Programmed",)),
            thing("Route", "route", "g.example/v1", wait_for=("condition=Accepted", "jsonpath={.a}=b")),
            thing("PersistentVolumeClaim", "one"),
            thing("PersistentVolumeClaim", "two"),
            thing("PersistentVolumeClaim", "elsewhere", namespace="other"),
            thing("CustomResourceDefinition", "queues", "apiextensions.k8s.io/v1", ""),
        ]
    )
    bound = "--for=jsonpath={.status.phase}=Bound"
    assert [" ".join(command[1:]) for command in commands] == [
        "rollout status Deployment.v1.apps/engine --namespace beam --timeout=600s",
        "wait --for=condition=Programmed Gateway.v1.g.example/gateway --namespace beam --timeout=600s",
        "wait --for=condition=Accepted Route.v1.g.example/route --namespace beam --timeout=600s",
        "wait --for=jsonpath={.a}=b Route.v1.g.example/route --namespace beam --timeout=600s",
        f"wait {bound} PersistentVolumeClaim/one PersistentVolumeClaim/two --namespace beam --timeout=600s",
        f"wait {bound} PersistentVolumeClaim/elsewhere --namespace other --timeout=600s",
        "wait --for=condition=Established CustomResourceDefinition.v1.apiextensions.k8s.io/queues --timeout=600s",
    ]
    assert {command[0] for command in commands} == {"kubectl"}
