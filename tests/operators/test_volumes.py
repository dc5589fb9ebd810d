"""A pod with volumes of a CSI driver runs where the cluster has the driver, and waits elsewhere."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

import pytest

from beamline.sandbox.cloud.api_server import ApiServer, Kind
from beamline.sandbox.operators.volumes import MOUNTED, Volumes
from beamline.sandbox.operators.world import World
from beamline.sandbox.operators.writing import Writer

FUSE = "gcsfuse.csi.storage.gke.io"
FAILED = 'FailedMount: MountVolume.SetUp failed for volume "v0" :'
ASKS = {"gke-gcsfuse/volumes": "true"}


class Server(ApiServer):
    """Keeps what is written."""

    def __init__(self) -> None:
        self.events: list[str] = []
        self.changes: list[Mapping[str, Any]] = []

    def create(self, kind: Kind, manifest: Mapping[str, Any]) -> dict[str, Any]:  # noqa: ARG002
        self.events.append(f"{manifest['reason']}: {manifest['message']}")
        return dict(copy.deepcopy(manifest))

    def merge(self, path: str, change: Mapping[str, Any]) -> None:  # noqa: ARG002
        self.changes.append(change)


def pod(*drivers: str, annotations: dict[str, str] | None = None, node: str = "node-1") -> dict[str, Any]:
    volumes = [{"name": f"v{n}", "csi": {"driver": driver}} for n, driver in enumerate(drivers)]
    metadata = {"name": "engine-0", "namespace": "beam", "uid": "1", "annotations": annotations or {}}
    return {"kind": "Pod", "metadata": metadata, "spec": {"nodeName": node, "volumes": volumes}}


def passed(*objects: dict[str, Any]) -> Server:
    world, server = World(), Server()
    for manifest in objects:
        world.put(manifest)
    Volumes(world, Writer(world, server)).run_once()
    return server


def driver(name: str) -> dict[str, Any]:
    return {"kind": "CSIDriver", "metadata": {"name": name, "uid": name}}


def test_a_pod_runs_where_the_driver_is() -> None:
    done = passed(pod(FUSE, annotations=ASKS), driver(FUSE))
    assert (done.changes, done.events) == ([{"metadata": {"annotations": {MOUNTED: "true"}}}], [])


def test_without_the_add_on_it_waits_in_the_kubelets_words() -> None:
    done = passed(pod(FUSE, annotations=ASKS), driver("pd.csi.storage.gke.io"))
    assert done.changes == []
    (said,) = done.events
    assert said == (
        f"{FAILED} kubernetes.io/csi: mounter.SetUpAt failed to get CSI client: driver name {FUSE} not found in the "
        "list of registered CSI drivers (simulated)"
    )


def test_without_the_annotation_nothing_mounts_the_bucket() -> None:
    done = passed(pod(FUSE), driver(FUSE))
    assert done.changes == []
    (said,) = done.events
    assert said == (
        f"{FAILED} rpc error: code = FailedPrecondition desc = failed to find the sidecar container in Pod spec "
        "(simulated)"
    )


@pytest.mark.parametrize(
    "waiting",
    [pod(), pod(FUSE, annotations=ASKS, node=""), pod(FUSE, annotations={**ASKS, MOUNTED: "true"})],
    ids=["without volumes", "not scheduled", "mounted already"],
)
def test_other_pods_are_left_alone(waiting: dict[str, Any]) -> None:
    done = passed(waiting, driver(FUSE))
    assert (done.changes, done.events) == ([], [])
