"""Releases by their real references, applied by the real engine and the real provider with Helm's own client.

This proves the way the stand-ins are delivered and what Helm does with them; it says nothing about the real charts.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

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
DYNAMO = {"chart": "dynamo-platform", "repo": "https://helm.ngc.nvidia.com/nvidia/ai-dynamo", "version": "1.7.0"}
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


def stack(folder: Path, **releases: dict[str, Any]) -> Path:
    file = folder / "Pulumi.test.yaml"
    file.write_text(f"config:\n  releases:wanted: '{json.dumps(releases)}'\n")
    return file


def refusal(folder: Path, **releases: dict[str, Any]) -> str:
    with pytest.raises(ProblemsFound) as raised:
        up("test", stack(folder, **releases), PROGRAM)
    return " ".join(problem.why for problem in raised.value.problems)


def test_releases_install_rest_and_go(home: Home, tmp_path: Path) -> None:
    wanted = stack(tmp_path, **{"dra-driver": DRIVER, "dynamo-system": DYNAMO, "lws-system": LWS})
    assert up("test", wanted, PROGRAM).changes["create"] == 12
    again = up("test", wanted, PROGRAM)
    assert again.verified_unchanged
    assert (home.charts / "cache").is_dir(), "Helm's cache is the sandbox's own"
    with pytest.raises(ProblemsFound) as left:
        down("test")
    # Helm installs a chart's crds/ once and never takes them away; they go with the cluster.
    assert {problem.value for problem in left.value.problems} == {
        "computedomains.resource.nvidia.com",
        "leaderworkersets.leaderworkerset.x-k8s.io",
    }


def test_mistakes_are_refused_before_anything_is_created(home: Home, tmp_path: Path) -> None:
    assert home.folder.exists()
    gpus = {**DRIVER, "values": {"webhook": {"enabled": False}}}
    assert "device plugin" in refusal(tmp_path, **{"dra-driver": gpus})
    unknown = {**LWS, "values": {"replicas": 2}}
    assert "replicas" in refusal(tmp_path, **{"lws-system": unknown})
    assert "0.8.0" in refusal(tmp_path, **{"lws-system": {**LWS, "version": "0.8.0"}})
    elsewhere = {"chart": "nginx", "repo": "https://charts.example.com", "version": "1.0.0"}
    assert "stand-in charts" in refusal(tmp_path, elsewhere=elsewhere)
