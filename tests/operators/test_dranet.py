"""RDMA interfaces become devices only where labels, profile and asapd-lite all are, and as many as work."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from beamline.sandbox.cloud.api_server import ApiServer, Kind
from beamline.sandbox.cloud.errors import CloudError
from beamline.sandbox.cloud.faults import FAULTS
from beamline.sandbox.operators.dranet import DRIVER, Dranet
from beamline.sandbox.operators.world import World

PROFILE = "gke.networks.io/accelerator-network-profile"
LABELS = {
    "cloud.google.com/gke-nodepool": "metal",
    "cloud.google.com/gke-networking-dra-driver": "true",
    "cloud.google.com/gke-dpv2-unified-cni": "cni-migration",
    "node.kubernetes.io/instance-type": "a4x-maxgpu-4g-metal",
    PROFILE: "auto",
}
IMAGE = "mirror.example/asapd-lite/asapd-lite:v0.0.8@sha256:" + "0" * 64


class Server(ApiServer):
    """Shows what is written to the world at once, as watching would."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.writes: list[str] = []

    def apply(self, kind: Kind, manifest: Mapping[str, Any]) -> dict[str, Any]:
        written = copy.deepcopy({**manifest, "kind": kind.kind})
        self.writes.append(f"apply {manifest['metadata']['name']}")
        self.world.put(written)
        return written

    def delete(self, path: str, *, grace_s: int | None = None) -> None:  # noqa: ARG002
        name = path.rpartition("/")[2]
        self.writes.append(f"delete {name}")
        self.world.drop({"kind": "ResourceSlice", "metadata": {"name": name}})


@pytest.fixture
def dranet(tmp_path: Path) -> Dranet:
    world = World()
    return Dranet(world, Server(world), tmp_path)


def node(name: str, **labels: str | None) -> dict[str, Any]:
    found = {key: value for key, value in {**LABELS, **labels}.items() if value is not None}
    return {"kind": "Node", "metadata": {"name": name, "uid": f"uid-{name}", "labels": found}}


def asapd(host: str, *, image: str = IMAGE, ready: str = "True", host_network: bool = True) -> dict[str, Any]:
    return {
        "kind": "Pod",
        "metadata": {"name": f"asapd-lite-{host}", "namespace": "kube-system"},
        "spec": {"nodeName": host, "hostNetwork": host_network, "containers": [{"name": "main", "image": image}]},
        "status": {"conditions": [{"type": "Ready", "status": ready}]},
    }


def published(dranet: Dranet) -> dict[str, int]:
    """Run passes until they change nothing; return node name to number of devices."""
    server = dranet.api
    assert isinstance(server, Server)
    for _ in range(3):
        before = len(server.writes)
        dranet.run_once()
        if len(server.writes) == before:
            slices = dranet.world.of_kind("ResourceSlice")
            return {item["spec"]["nodeName"]: len(item["spec"]["devices"]) for item in slices}
    raise AssertionError(f"the driver does not come to rest: {server.writes}")


def put(dranet: Dranet, *manifests: dict[str, Any]) -> None:
    for manifest in manifests:
        dranet.world.put(manifest)


def test_a_slice_whole(dranet: Dranet) -> None:
    put(dranet, node("a"), asapd("a"))
    assert published(dranet) == {"a": 8}
    (found,) = dranet.world.of_kind("ResourceSlice")
    assert found["metadata"] == {
        "name": "a-dra.net",
        "ownerReferences": [{"apiVersion": "v1", "kind": "Node", "name": "a", "uid": "uid-a"}],
    }
    assert found["spec"]["driver"] == DRIVER
    assert found["spec"]["pool"] == {"name": "a", "generation": 1, "resourceSliceCount": 1}
    assert [device["name"] for device in found["spec"]["devices"]] == [f"rdma{index}" for index in range(8)]
    assert found["spec"]["devices"][7]["attributes"] == {
        "dra.net/rdma": {"bool": True},
        "dra.net/rdmaDevice": {"string": "mlx5_7"},
    }


@pytest.mark.parametrize("image", ["asapd-lite", "asapd-lite:v0.0.8", "a.b:5000/c/asapd-lite@sha256:00"])
def test_the_program_is_known_by_its_image_wherever_it_is_mirrored(dranet: Dranet, image: str) -> None:
    put(dranet, node("a"), asapd("a", image=image))
    assert published(dranet) == {"a": 8}


@pytest.mark.parametrize(
    ("made", "pods"),
    [
        (node("a"), []),
        (node("a"), [asapd("b")]),
        (node("a"), [asapd("a", ready="False")]),
        (node("a"), [asapd("a", host_network=False)]),
        (node("a"), [asapd("a", image="mirror.example/asapd-lite/other:v1")]),
        (node("a", **{"cloud.google.com/gke-networking-dra-driver": None}), [asapd("a")]),
        (node("a", **{"cloud.google.com/gke-networking-dra-driver": "false"}), [asapd("a")]),
        (node("a", **{"cloud.google.com/gke-dpv2-unified-cni": None}), [asapd("a")]),
        (node("a", **{PROFILE: None}), [asapd("a")]),
        (node("a", **{"node.kubernetes.io/instance-type": "g4-standard-384"}), [asapd("a")]),
    ],
)
def test_when_one_thing_is_missing_there_are_no_devices(
    dranet: Dranet, made: dict[str, Any], pods: list[dict[str, Any]]
) -> None:
    put(dranet, made, *pods)
    assert published(dranet) == {}


def test_devices_go_with_asapd_lite_and_with_the_node(dranet: Dranet) -> None:
    put(dranet, node("a"), node("b"), asapd("a"), asapd("b"))
    assert published(dranet) == {"a": 8, "b": 8}
    put(dranet, asapd("a", ready="False"))
    dranet.world.drop(node("b"))
    assert published(dranet) == {}


def test_a_slice_of_another_driver_is_left_alone(dranet: Dranet) -> None:
    put(
        dranet,
        {"kind": "ResourceSlice", "metadata": {"name": "x"}, "spec": {"driver": "gpu.nvidia.com", "devices": []}},
    )
    dranet.run_once()
    assert len(dranet.world.of_kind("ResourceSlice")) == 1


def test_one_interface_fewer_on_one_node_comes_and_goes(dranet: Dranet) -> None:
    names = ("a", "b", "c")
    put(dranet, *map(node, names), *map(asapd, names))
    assert published(dranet) == {"a": 8, "b": 8, "c": 8}
    fault = dranet.folder / FAULTS
    fault.write_text("nodes: [{pool: metal, place: 1, rdma_devices: 7}]")
    assert published(dranet) == {"a": 8, "b": 7, "c": 8}
    fault.unlink()
    assert published(dranet) == {"a": 8, "b": 8, "c": 8}
    generations = [item["spec"]["pool"]["generation"] for item in dranet.world.of_kind("ResourceSlice")]
    assert generations == [1, 3, 1]


def test_faults_are_looked_up_while_there_are_nodes_they_could_befall(dranet: Dranet) -> None:
    assert dranet.run_once() is None
    put(dranet, node("a"))
    assert dranet.run_once() == 2
    (dranet.folder / FAULTS).write_text("nodes: [{pool: metal}]")
    with pytest.raises(CloudError, match=FAULTS):
        dranet.run_once()
