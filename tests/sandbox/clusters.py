"""A cluster as its API server would list it, for what only reads."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from beamline.sandbox.kubernetes_api import KubernetesApi, Object, Resource

_PATHS = {
    "ConfigMap": "/api/v1/configmaps",
    "ClusterRole": "/apis/rbac.authorization.k8s.io/v1/clusterroles",
    "DaemonSet": "/apis/apps/v1/daemonsets",
    "Deployment": "/apis/apps/v1/deployments",
    "DynamoGraphDeployment": "/apis/nvidia.com/v1beta1/dynamographdeployments",
    "EndpointSlice": "/apis/discovery.k8s.io/v1/endpointslices",
    "Event": "/api/v1/events",
    "Job": "/apis/batch/v1/jobs",
    "LeaderWorkerSet": "/apis/leaderworkerset.x-k8s.io/v1/leaderworkersets",
    "Node": "/api/v1/nodes",
    "Pod": "/api/v1/pods",
    "ReplicaSet": "/apis/apps/v1/replicasets",
    "Secret": "/api/v1/secrets",
    "Service": "/api/v1/services",
    "StatefulSet": "/apis/apps/v1/statefulsets",
}


class Cluster(KubernetesApi):
    """Lists the objects it was made with."""

    def __init__(self, *objects: Object) -> None:
        self.objects = list(objects)

    def items(self, path: str, **_query: str) -> list[Object]:
        return [item for item in self.objects if _PATHS[item["kind"]] == path]

    def find(self, api_version: str, kind: str, namespace: str, name: str) -> Object | None:
        assert api_version
        there = [each for each in self.objects if each["kind"] == kind]
        return next((each for each in there if each["metadata"]["name"] == name and _in(each, namespace)), None)

    def resources(self) -> Iterator[Resource]:
        return (Resource(path, kind) for kind, path in _PATHS.items())


def _in(each: Object, namespace: str) -> bool:
    return bool(each["metadata"].get("namespace", "") == namespace)


def item(kind: str, name: str, *, namespace: str | None = "beam", **rest: Any) -> Object:
    """Return an object; ``labels``, ``ownerReferences`` and ``managedFields`` go into its metadata."""
    metadata = {"name": name, "namespace": namespace, "uid": f"uid-{name}"}
    metadata |= {key: rest.pop(key) for key in ("labels", "ownerReferences", "managedFields") if key in rest}
    return {"kind": kind, "metadata": {k: v for k, v in metadata.items() if v is not None}, "status": {}, **rest}


def pod(name: str, *conditions: tuple[str, str, str], owner: tuple[str, str] | None = None, **rest: Any) -> Object:
    """Return a pod with conditions (type, status, message), owned by (kind, name)."""
    status = {"phase": "Pending", "conditions": [{"type": t, "status": s, "message": m} for t, s, m in conditions]}
    status |= rest.pop("status", {})
    owners = {"ownerReferences": [{"kind": owner[0], "name": owner[1]}]} if owner else {}
    return item("Pod", name, status=status, spec=rest.pop("spec", {"containers": []}), **owners, **rest)
