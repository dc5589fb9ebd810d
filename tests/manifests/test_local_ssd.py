"""What the mode of the local SSD changes: who makes the file system, and where weights and KV tiers are."""

from __future__ import annotations

from typing import Any

import pytest

from .cases import spec_of
from .cluster_objects import Objects, objects_of

MOUNT = "/mnt/disks/beamline"


def local_volumes(objects: Objects) -> dict[str, tuple[str, list[str]]]:
    """Path and access modes of the node's folders, by the first word of the claim."""
    return {
        v["spec"]["claimRef"]["name"].rpartition("-")[0]: (v["spec"]["local"]["path"], v["spec"]["accessModes"])
        for v in objects.kind("PersistentVolume")
    }


def seeded(objects: Objects) -> Any:
    return next(v["hostPath"] for v in objects.pod("seeding")["volumes"] if v["name"] == "weights")


def test_raw_block_moves_weights_and_tier_to_the_kits_file_system() -> None:
    """The folder of weights must be there already: made before the mount, it would be on the boot disk."""
    ephemeral, raw = objects_of("local-ssd-tier"), objects_of("raw-block-tier")
    assert local_volumes(ephemeral) == {
        "weights": ("/mnt/stateful_partition/kube-ephemeral-ssd/beamline", ["ReadOnlyMany"])
    }
    assert local_volumes(raw) == {
        "weights": (f"{MOUNT}/weights", ["ReadOnlyMany"]),
        "kv-tier": (f"{MOUNT}/kv-tier", ["ReadWriteMany"]),
    }
    assert seeded(ephemeral) == {
        "path": "/mnt/stateful_partition/kube-ephemeral-ssd/beamline",
        "type": "DirectoryOrCreate",
    }
    assert seeded(raw) == {"path": f"{MOUNT}/weights", "type": "Directory"}


def test_each_pod_has_a_tier_of_its_own_on_the_shared_file_system() -> None:
    """Named by the pod's uid, so that what is left of a pod that is gone can be told from what is in use."""
    objects = objects_of("raw-block-tier")
    engine = objects.container("engine")
    (claim,) = (
        c["metadata"]["name"] for c in objects.kind("PersistentVolumeClaim") if "kv-tier" in c["metadata"]["name"]
    )
    assert {"name": "kv-tier", "persistentVolumeClaim": {"claimName": claim}} in objects.pod("engine")["volumes"]
    assert {"name": "kv-tier", "mountPath": "/kv-tier", "subPathExpr": "$(KV_TIER_FOLDER)"} in engine["volumeMounts"]
    folder = {"name": "KV_TIER_FOLDER", "valueFrom": {"fieldRef": {"fieldPath": "metadata.uid"}}}
    assert folder in engine["env"]


def test_the_pods_own_storage_is_without_the_tier() -> None:
    """Ephemeral storage is the boot disk then, and the tier is not in it."""
    ephemeral, raw = (spec_of(case).derived for case in ("local-ssd-tier", "raw-block-tier"))
    assert (ephemeral.pod_ephemeral_gib, raw.pod_ephemeral_gib) == (2020, 20)
    assert (ephemeral.allocatable_ephemeral_gib, raw.allocatable_ephemeral_gib) == (10700, 96)
    assert (ephemeral.raw_block_gib, raw.raw_block_gib) == (None, 11400)


def test_the_file_system_is_made_where_the_level_admits_it() -> None:
    """Privileged, and in the one namespace that is; with no token, and no folder of the node but through its tools."""
    objects = objects_of("raw-block")
    body = objects.one("DaemonSet", "local-ssd")
    assert body["metadata"]["namespace"] == "beam-weights"
    pod = objects.pod("local-ssd")
    (container,) = pod["containers"]
    assert (pod["hostPID"], pod["automountServiceAccountToken"], pod.get("volumes")) == (True, False, None)
    assert container["securityContext"] == {"privileged": True}
    assert container["command"][:7] == ["nsenter", "--target", "1", "--mount", "--", "/bin/sh", "-c"]
    assert {"name": "DISKS", "value": "32"} in container["env"]
    assert container["readinessProbe"]["exec"]["command"][-3:] == ["test", "-d", f"{MOUNT}/weights"]


@pytest.mark.parametrize("case", ["g4-llmd", "local-ssd-tier"])
def test_where_gke_makes_the_file_system_nobody_else_does(case: str) -> None:
    assert "local-ssd" not in objects_of(case).names("DaemonSet", "beam-weights")
