"""What the controllers have seen in the cluster: the objects they watch, by kind, namespace and name."""

import threading
from collections.abc import Mapping
from typing import Any

__all__ = ["WATCHED", "Manifest", "World", "key_of"]

Manifest = Mapping[str, Any]
Key = tuple[str, str, str]

WATCHED: dict[str, tuple[str, str, str]] = {
    "GatewayClass": ("gateway.networking.k8s.io", "v1", "gatewayclasses"),
    "Gateway": ("gateway.networking.k8s.io", "v1", "gateways"),
    "HTTPRoute": ("gateway.networking.k8s.io", "v1", "httproutes"),
    "InferencePool": ("inference.networking.k8s.io", "v1", "inferencepools"),
    "HealthCheckPolicy": ("networking.gke.io", "v1", "healthcheckpolicies"),
    "GCPBackendPolicy": ("networking.gke.io", "v1", "gcpbackendpolicies"),
    "GCPGatewayPolicy": ("networking.gke.io", "v1", "gcpgatewaypolicies"),
    "PodMonitoring": ("monitoring.googleapis.com", "v1", "podmonitorings"),
    "ClusterPodMonitoring": ("monitoring.googleapis.com", "v1", "clusterpodmonitorings"),
    "Service": ("", "v1", "services"),
    "Secret": ("", "v1", "secrets"),
    "Namespace": ("", "v1", "namespaces"),
    "Node": ("", "v1", "nodes"),
    "Pod": ("", "v1", "pods"),
    "CSIDriver": ("storage.k8s.io", "v1", "csidrivers"),
    "ResourceSlice": ("resource.k8s.io", "v1", "resourceslices"),
    "ResourceClaim": ("resource.k8s.io", "v1", "resourceclaims"),
    "ResourceClaimTemplate": ("resource.k8s.io", "v1", "resourceclaimtemplates"),
    "DaemonSet": ("apps", "v1", "daemonsets"),
    "Deployment": ("apps", "v1", "deployments"),
    "ServiceAccount": ("", "v1", "serviceaccounts"),
    "ComputeDomain": ("resource.nvidia.com", "v1beta1", "computedomains"),
    "DynamoGraphDeployment": ("nvidia.com", "v1beta1", "dynamographdeployments"),
    "LeaderWorkerSet": ("leaderworkerset.x-k8s.io", "v1", "leaderworkersets"),
}
"""Kind to group, version and plural."""


class World:
    """The objects as of the last events. Secrets are kept without their data."""

    def __init__(self) -> None:
        self._objects: dict[Key, Manifest] = {}
        self._lock = threading.Lock()  # events arrive while a pass reads

    def put(self, manifest: Manifest) -> None:
        """Remember an object as it is now."""
        kept = {key: value for key, value in manifest.items() if key not in ("data", "stringData")}
        with self._lock:
            self._objects[key_of(kept)] = kept

    def drop(self, manifest: Manifest) -> None:
        """Forget an object that is gone."""
        with self._lock:
            self._objects.pop(key_of(manifest), None)

    def find(self, kind: str, namespace: str, name: str) -> Manifest | None:
        """Return one object; None when there is none. Cluster-wide kinds have the namespace ''."""
        with self._lock:
            return self._objects.get((kind, namespace, name))

    def of_kind(self, *kinds: str) -> list[Manifest]:
        """Return the objects of some kinds in a stable order."""
        with self._lock:
            return [self._objects[key] for key in sorted(self._objects) if key[0] in kinds]


def key_of(manifest: Manifest) -> Key:
    """Return kind, namespace and name of an object."""
    metadata = manifest["metadata"]
    return manifest["kind"], metadata.get("namespace", ""), metadata["name"]
