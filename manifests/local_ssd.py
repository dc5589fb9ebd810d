"""The node's local SSD: where it is, and who makes a file system of it.

As ephemeral storage GKE makes the file system, and the kubelet watches how full it is. As raw block the disks are bare:
a DaemonSet makes one file system of them (``shell/local-ssd.sh``) and mounts it, for weights and KV tiers alone.
Nothing else is on it, so that a full tier evicts no pod.

Mounting for the node takes the node's mount namespace, so the DaemonSet is privileged and sees the node's processes; it
is in the namespace of the seeding pods, which has that level already. It runs the node's own tools, by ``nsenter``, and
gets no token for the Kubernetes API.
Source: https://cloud.google.com/kubernetes-engine/docs/how-to/persistent-volumes/local-ssd-raw
"""

from __future__ import annotations

from typing import Any

from manifests.naming import LOCAL_SSD, labels, metadata, selector, weights_namespace
from manifests.objects import KubernetesObject
from manifests.placement import accelerator_tolerations, prepared_nodes
from manifests.scripts import MAKE_FILE_SYSTEM
from stacks.resolve import StackSpec

__all__ = ["is_raw_block", "kv_tier_folder", "local_ssd", "weights_folder"]

_EPHEMERAL = "/mnt/stateful_partition/kube-ephemeral-ssd/beamline"
"""On GKE's RAID of the local SSDs that serve ephemeral storage on Container-Optimized OS."""
_MOUNT = "/mnt/disks/beamline"
"""Below the folder that Container-Optimized OS leaves to further disks."""
_ACCOUNT = f"{LOCAL_SSD}-service-account"
_ON_NODE = ("nsenter", "--target", "1", "--mount", "--")
_PLACES = {
    "MOUNT": _MOUNT,
    "BY_ID": "/dev/disk/by-id",
    "BLOCKS": "/sys/class/block",
    "MOUNTS": "/proc/mounts",
    "PODS": "/var/lib/kubelet/pods",
}


def is_raw_block(spec: StackSpec) -> bool:
    """Whether the kit makes the file system."""
    return spec.derived.raw_block_gib is not None


def weights_folder(spec: StackSpec) -> str:
    """The node's folder of weights."""
    return f"{_MOUNT}/weights" if is_raw_block(spec) else _EPHEMERAL


def kv_tier_folder() -> str:
    """The node's folder of KV tiers on raw block; a folder for each pod is below it, named by the pod's uid."""
    return f"{_MOUNT}/kv-tier"


def local_ssd(spec: StackSpec) -> tuple[KubernetesObject, ...]:
    """Its service account, which may do nothing, and the DaemonSet; none where GKE makes the file system."""
    if not is_raw_block(spec):
        return ()
    body = {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": metadata(spec, LOCAL_SSD, component=LOCAL_SSD, namespace=weights_namespace(spec)),
        "spec": {
            "selector": {"matchLabels": selector(spec, LOCAL_SSD)},
            # A new revision takes no mount away: all may be replaced at once.
            "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": "100%"}},
            "template": {"metadata": {"labels": labels(spec, LOCAL_SSD)}, "spec": _pod(spec)},
        },
    }
    account = {
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": metadata(spec, LOCAL_SSD, component=LOCAL_SSD, namespace=weights_namespace(spec)),
        "automountServiceAccountToken": False,
    }
    return (
        KubernetesObject(area="weights", name=_ACCOUNT, body=account, after=("weights-namespace",)),
        KubernetesObject(
            area="weights",
            name=LOCAL_SSD,
            body=body,
            timeout_s=spec.derived.release_budget_s,  # a small image, and seconds to format
            after=(_ACCOUNT, f"{LOCAL_SSD}-network-policy"),
        ),
    )


def _pod(spec: StackSpec) -> dict[str, Any]:
    return {
        "serviceAccountName": LOCAL_SSD,
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "terminationGracePeriodSeconds": 1,  # between two steps there is nothing to finish
        **prepared_nodes(spec),
        "tolerations": accelerator_tolerations(spec),
        "hostPID": True,  # nsenter finds the node's first process
        "containers": [_container(spec)],
    }


def _container(spec: StackSpec) -> dict[str, Any]:
    places = {"DISKS": str(spec.derived.local_ssd_count), **_PLACES}
    return {
        "name": LOCAL_SSD,
        "image": str(spec.images["local_ssd"]),
        "command": [*_ON_NODE, "/bin/sh", "-c", MAKE_FILE_SYSTEM, LOCAL_SSD],
        "env": [{"name": name, "value": value} for name, value in places.items()],
        # The folder is on the file system, so that it is there when that is mounted.
        "readinessProbe": {"exec": {"command": [*_ON_NODE, "test", "-d", weights_folder(spec)]}, "periodSeconds": 5},
        "resources": {"requests": {"cpu": "50m", "memory": "64Mi"}, "limits": {"memory": "512Mi"}},
        "securityContext": {"privileged": True},  # it writes block devices and mounts for the node
    }
