"""Releases by their real references, applied by the real engine and the real provider with Helm's own client.

This proves the way the stand-ins are delivered and what Helm does with them; it says nothing about the real charts.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from beamline.crds import installed_by_charts
from beamline.sandbox import standstill
from beamline.sandbox.home import Home, home_of
from beamline.sandbox.lifecycle import down, up
from stacks.problems import ProblemsFound

pytestmark = pytest.mark.sandbox

PROGRAM = Path(__file__).with_name("program")
ON_THE_NODE = {
    "nodeAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": {
            "nodeSelectorTerms": [{"matchExpressions": [{"key": "pool", "operator": "In", "values": ["system"]}]}]
        }
    }
}
DRIVER = {
    "chart": "oci://registry.k8s.io/dra-driver-nvidia/charts/dra-driver-nvidia-gpu",
    "version": "0.5.0",
    "values": {"resources": {"gpus": {"enabled": False}}, "kubeletPlugin": {"affinity": ON_THE_NODE}},
}
DYNAMO = {
    "chart": "dynamo-platform",
    "repo": "https://helm.ngc.nvidia.com/nvidia/ai-dynamo",
    "version": "1.7.0",
    "values": {"global": {"grove": {"install": True}}},
}
LWS = {"chart": "oci://registry.k8s.io/lws/charts/lws", "version": "0.9.0"}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Home]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BEAMLINE_HOME", str(tmp_path_factory.mktemp("beamline")))
        # A user's own proxy and registry logins must neither be needed nor be used.
        patch.setenv("HTTPS_PROXY", "http://127.0.0.1:9")
        patch.setenv("HELM_REGISTRY_CONFIG", "/absent/config.json")
        yield home_of("test")
        down("test", force=True)


ALL = {"dra-driver": DRIVER, "dynamo-system": DYNAMO, "lws-system": LWS}


def custom(api_version: str, kind: str, wait: str, spec: dict[str, Any]) -> dict[str, Any]:
    metadata = {"name": "beam", "namespace": "default", "annotations": {"pulumi.com/waitFor": wait}}
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, "spec": spec}


def workloads(gpus: int) -> list[dict[str, Any]]:
    """One of each kind, waited for as a stack does."""
    limits = {"limits": {"nvidia.com/gpu": str(gpus)}}
    worker = {"spec": {"containers": [{"name": "v", "image": "v:1", "resources": limits}]}}
    engine = {
        "name": "main",
        "image": "s:1.7.0",
        "command": ["python3"],
        "args": ["--tp-size", "2"],
        "resources": limits,
    }
    decode = {"name": "decode", "type": "decode", "podTemplate": {"spec": {"containers": [engine]}}}
    decode["multinode"] = {"nodeCount": 2}
    domain = {"numNodes": 0, "channel": {"resourceClaimTemplate": {"name": "beam-channel"}}}
    return [
        custom("resource.nvidia.com/v1beta1", "ComputeDomain", "jsonpath={.status.status}=Ready", domain),
        custom(
            "leaderworkerset.x-k8s.io/v1",
            "LeaderWorkerSet",
            "condition=Available",
            {"leaderWorkerTemplate": {"size": 2, "workerTemplate": worker}},
        ),
        custom(
            "nvidia.com/v1beta1",
            "DynamoGraphDeployment",
            "jsonpath={.status.state}=successful",
            {"backendFramework": "sglang", "components": [decode]},
        ),
    ]


def stack(folder: Path, objects: list[dict[str, Any]] | None = None, **releases: dict[str, Any]) -> Path:
    file = folder / "Pulumi.test.yaml"
    config = {"releases:wanted": json.dumps(releases), "releases:objects": json.dumps(objects or [])}
    file.write_text(yaml.safe_dump({"config": config}))
    return file


def refusal(folder: Path, objects: list[dict[str, Any]] | None = None, **releases: dict[str, Any]) -> str:
    with pytest.raises(ProblemsFound) as raised:
        up("test", stack(folder, objects, **releases), PROGRAM)
    return " ".join(problem.why for problem in raised.value.problems)


def test_releases_and_what_they_bring_install_rest_and_go(home: Home, tmp_path: Path) -> None:
    """In one go: kinds that a chart's operator defines are used by resources of the same stack."""
    wanted = stack(tmp_path, workloads(1), **ALL)
    assert up("test", wanted, PROGRAM).changes["create"] == 15
    assert up("test", wanted, PROGRAM).verified_unchanged
    assert (home.charts / "cache").is_dir(), "Helm's cache is the sandbox's own"
    with pytest.raises(ProblemsFound) as left:
        down("test")
    # Neither Helm (for a chart's crds/) nor Dynamo's operator takes definitions away again: they go with the cluster.
    assert {problem.value for problem in left.value.problems} == {
        definition.name for definition in installed_by_charts()
    }


def test_what_cannot_come_is_told_by_its_operator(home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The wait ends with the operator's reason, long before the engine's time-out."""
    assert home.folder.exists()
    monkeypatch.setattr(standstill, "_LEAST_PATIENCE_S", 6.0)
    monkeypatch.setattr(standstill, "_LONGEST_QUIET_S", 0)
    graph = workloads(2)[2]  # two nodes with two GPUs each for an engine that is to use two
    assert "2 nodes x 2 GPUs = 4" in refusal(tmp_path, [graph], **{"dynamo-system": DYNAMO})


def test_mistakes_are_refused_before_anything_is_created(home: Home, tmp_path: Path) -> None:
    assert home.folder.exists()
    gpus = {**DRIVER, "values": {"webhook": {"enabled": False}}}
    assert "device plugin" in refusal(tmp_path, **{"dra-driver": gpus})
    unknown = {**LWS, "values": {"replicas": 2}}
    assert "replicas" in refusal(tmp_path, **{"lws-system": unknown})
    assert "0.8.0" in refusal(tmp_path, **{"lws-system": {**LWS, "version": "0.8.0"}})
    elsewhere = {"chart": "nginx", "repo": "https://charts.example.com", "version": "1.0.0"}
    assert "stand-in charts" in refusal(tmp_path, elsewhere=elsewhere)
