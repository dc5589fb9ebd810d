"""Images, asked at a real HTTP registry: for which processors they are, and what their makers left in them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from beamline.preflight import Standing, Target, run_checks
from beamline.preflight.checks.cuda import CUDA
from beamline.preflight.checks.images import IMAGES, needed_archs
from beamline.registry import RegistryClient
from tests.preflight.targets import target, world
from tests.registry.fake_registry import INDEX_TYPE, FakeRegistry, digest_of, served

METAL_IMAGES = {
    "gcr.io/google.com/cloudsdktool/google-cloud-cli": {"arm64"},
    "nvcr.io/nvidia/ai-dynamo/kubernetes-operator": {"amd64"},
    "nvcr.io/nvidia/ai-dynamo/sglang-runtime": {"amd64", "arm64"},
    "registry.k8s.io/dra-driver-nvidia/dra-driver-nvidia-gpu": {"amd64", "arm64"},
}


@pytest.fixture
def registry() -> Iterator[FakeRegistry]:
    with served(FakeRegistry()) as running:
        yield running


def metal() -> Target:
    return target("a4x-max-dynamo")


def asked(registry: FakeRegistry, check: Any) -> dict[str, tuple[str, str]]:
    """Rule and finding by image, with the fake registry in place of every other."""
    stand_in = f"http://{registry.host}"
    others = world("http://127.0.0.1:1", registry=lambda: RegistryClient(stand_in=stand_in, sleep=lambda _: None))
    (found,) = run_checks([check], metal(), others).findings.values()
    return {finding.asked.split(" ")[0]: (finding.rule or finding.standing.value, finding.found) for finding in found}


def publish(registry: FakeRegistry, name: str, *archs: str, env: tuple[str, ...] = ()) -> None:
    """Publish an image under the name that a stand-in is asked by, with a configuration for each processor."""
    host, _, path = name.partition("/")
    entries = []
    for arch in archs:
        config = registry.add_bytes("-:-", json.dumps({"architecture": arch, "config": {"Env": list(env)}}).encode())
        body = json.dumps({"config": {"digest": config}}).encode()
        registry.add_bytes("-:-", body)
        entries.append({"digest": digest_of(body), "platform": {"os": "linux", "architecture": arch}})
    index = json.dumps({"mediaType": INDEX_TYPE, "manifests": entries}).encode()
    registry.add_bytes(f"/{host}/v2/{path}", index)


def names() -> list[str]:
    return list(needed_archs(metal()))


def test_pods_need_the_processors_of_the_pools_they_run_on() -> None:
    """The router side runs on the system pool, workers on the accelerators, the DRA driver on both."""
    assert {name.rpartition(":")[0]: set(archs) for name, archs in needed_archs(metal()).items()} == METAL_IMAGES


def test_each_image_is_judged_by_what_its_registry_says(registry: FakeRegistry) -> None:
    both, only_amd64, broken, missing = names()
    publish(registry, both, "amd64", "arm64")
    publish(registry, only_amd64, "amd64")
    registry.broken.add("/" + broken.replace("/", "/v2/", 1).rpartition(":")[0])
    assert {name: rule for name, (rule, _) in asked(registry, IMAGES).items()} == {
        both: "ok",
        only_amd64: "ok",
        broken: str(Standing.UNKNOWN),
        missing: "image-missing",
    }


def test_an_image_without_the_processor_is_told(registry: FakeRegistry) -> None:
    for name in names():
        publish(registry, name, "amd64")
    found = asked(registry, IMAGES)
    assert {rule for name, (rule, _) in found.items() if "operator" not in name} == {"image-wrong-arch"}
    assert {rule for name, (rule, _) in found.items() if "operator" in name} == {"ok"}


@pytest.mark.parametrize(
    ("env", "expected"),
    [
        (("PATH=/bin", "CUDA_VERSION=13.0.1"), ("ok", "CUDA 13.0.1")),
        (
            ("CUDA_VERSION=12.8.1",),
            ("image-cuda-too-old", "it is built with CUDA 12.8.1, which has no kernels for these GPUs"),
        ),
        ((), ("could not look", "the image does not tell its CUDA")),
    ],
)
def test_the_image_itself_is_asked_for_its_cuda(
    env: tuple[str, ...], expected: tuple[str, str], registry: FakeRegistry
) -> None:
    (engine,) = [name for name in names() if "sglang" in name]
    publish(registry, engine, "amd64", "arm64", env=env)
    assert asked(registry, CUDA) == {engine: expected}
