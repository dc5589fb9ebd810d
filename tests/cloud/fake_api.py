"""An API server made of a dictionary, as far as the simulated cloud uses one. Nodes are ready at once."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from beamline.sandbox.cloud.api_server import ApiServer, Kind

BUILT_IN = [
    Kind("v1", "Namespace", "namespaces", namespaced=False),
    Kind("v1", "Node", "nodes", namespaced=False),
    Kind("v1", "Pod", "pods", namespaced=True),
    Kind("v1", "Event", "events", namespaced=True),
    Kind("storage.k8s.io/v1", "StorageClass", "storageclasses", namespaced=False),
    Kind("storage.k8s.io/v1", "CSIDriver", "csidrivers", namespaced=False),
    Kind("resource.k8s.io/v1", "DeviceClass", "deviceclasses", namespaced=False),
    Kind("resource.k8s.io/v1", "ResourceSlice", "resourceslices", namespaced=False),
    Kind("apiextensions.k8s.io/v1", "CustomResourceDefinition", "customresourcedefinitions", namespaced=False),
]


class FakeApi(ApiServer):
    """Objects by path. ``late`` nodes never become ready."""

    def __init__(self) -> None:
        self.objects: dict[str, dict[str, Any]] = {}
        self.late: set[str] = set()
        self.writes: list[str] = []
        for name in ("default", "kube-system"):
            self.objects[f"/api/v1/namespaces/{name}"] = {"kind": "Namespace", "metadata": {"name": name}}

    def get(self, path: str) -> dict[str, Any] | None:
        return self.objects.get(path)

    def items(self, kind: Kind, *, selector: str = "", namespace: str = "", fields: str = "") -> list[dict[str, Any]]:  # noqa: ARG002
        found = [item for item in self.objects.values() if item["kind"] == kind.kind]
        if selector:
            key, _, value = selector.partition("%3D")
            found = [item for item in found if item["metadata"].get("labels", {}).get(key) == value]
        if fields:
            found = [item for item in found if item["spec"].get("nodeName") == fields.partition("%3D")[2]]
        return [json.loads(json.dumps(item)) for item in found]

    def apply(self, kind: Kind, manifest: Mapping[str, Any]) -> dict[str, Any]:
        metadata = manifest["metadata"]
        path = kind.path(metadata.get("namespace", ""), metadata["name"])
        self.objects[path] = {**manifest, "kind": kind.kind}
        return self.objects[path]

    def create(self, kind: Kind, manifest: Mapping[str, Any]) -> dict[str, Any] | None:
        metadata = manifest["metadata"]
        path = kind.path(metadata.get("namespace", ""), metadata["name"])
        if path in self.objects:
            return None
        self.writes.append(f"create {metadata['name']}")
        self.objects[path] = json.loads(json.dumps({**manifest, "kind": kind.kind}))
        boots = "sandbox.beamline.dev/capacity" in metadata.get("annotations", {})
        if kind.kind == "Node" and boots and metadata["name"] not in self.late:
            allocatable = json.loads(metadata["annotations"]["sandbox.beamline.dev/allocatable"])
            if "sandbox.beamline.dev/driver-s" not in metadata["annotations"]:
                allocatable.pop("nvidia.com/gpu", None)
            self.objects[path]["status"] |= {
                "allocatable": allocatable,
                "conditions": [{"type": "Ready", "status": "True"}],
            }
        return self.objects[path]

    def merge(self, path: str, change: Mapping[str, Any]) -> None:
        self.writes.append(f"change {path.rpartition('/')[2]}")
        part = path.endswith("/status")
        found = self.objects.get(path.removesuffix("/status"))
        if found is not None:
            _merge(found, change if not part else {"status": change["status"]})

    def replace(self, path: str, manifest: Mapping[str, Any]) -> None:  # noqa: ARG002
        self.objects.pop(path.removesuffix("/finalize"), None)

    def delete(self, path: str, *, grace_s: int | None = None) -> None:  # noqa: ARG002
        self.writes.append(f"delete {path.rpartition('/')[2]}")
        self.objects.pop(path, None)

    def serves(self, group_version: str, kind: str) -> bool:
        return any((k.group_version, k.kind) == (group_version, kind) for k in self.kinds())

    def kind(self, group_version: str, kind: str) -> Kind:
        return next(k for k in self.kinds() if (k.group_version, k.kind) == (group_version, kind))

    def kinds(self) -> Iterator[Kind]:
        yield from BUILT_IN
        for item in list(self.objects.values()):
            if item["kind"] == "CustomResourceDefinition":
                spec = item["spec"]
                for version in spec["versions"]:
                    names = spec["names"]
                    group_version = f"{spec['group']}/{version['name']}"
                    yield Kind(group_version, names["kind"], names["plural"], spec["scope"] == "Namespaced")

    def names(self, kind: str) -> list[str]:
        return sorted(item["metadata"]["name"] for item in self.objects.values() if item["kind"] == kind)


def _merge(into: dict[str, Any], change: Mapping[str, Any]) -> None:
    for key, value in change.items():
        if value is None:
            into.pop(key, None)
        elif isinstance(value, Mapping) and isinstance(into.get(key), dict):
            _merge(into[key], value)
        else:
            into[key] = json.loads(json.dumps(value))
