"""Components outside their own stack, on the real engine: a foreign program, and ground that somebody else made.

Engine and Kubernetes API are real; Google Cloud, nodes and GKE's controllers are SIMULATED.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from beamline import sandbox
from beamline.sandbox import control_plane
from beamline.sandbox.cloud.ledger import Ledger
from beamline.sandbox.cloud.operations import Operations
from beamline.sandbox.cloud.simulation import Cluster, Simulation
from beamline.sandbox.components import TOOLS
from beamline.sandbox.home import DEFAULT_TIME_SCALE, Home, Record, home_of
from beamline.sandbox.kubernetes_api import KubernetesApi
from beamline.sandbox.lifecycle import down, up
from stacks.cloud import SANDBOX_PROJECT
from stacks.problems import ProblemsFound
from tests.components.plans import config_of

pytestmark = pytest.mark.sandbox

FOREIGN = Path(__file__).with_name("foreign_program")
NAMESPACE = "inference"
REGION, ZONE, VERSION = "us-central1", "us-central1-b", "1.35.8-gke.1036000"
PLATFORM = f"projects/{SANDBOX_PROJECT}/global/networks/platform"
NODES = f"projects/{SANDBOX_PROJECT}/regions/{REGION}/subnetworks/platform-nodes"
GROUND: list[tuple[str, dict[str, Any]]] = [
    ("gcp:compute/network:Network", {"name": "platform", "autoCreateSubnetworks": False}),
    (
        "gcp:compute/subnetwork:Subnetwork",
        {
            "name": "platform-nodes",
            "region": REGION,
            "network": PLATFORM,
            "ipCidrRange": "10.20.0.0/20",
            "secondaryIpRanges": [
                {"rangeName": "pods", "ipCidrRange": "10.24.0.0/16"},
                {"rangeName": "services", "ipCidrRange": "10.28.0.0/20"},
            ],
        },
    ),
    (
        "gcp:compute/subnetwork:Subnetwork",
        {
            "name": "platform-proxies",
            "region": REGION,
            "network": PLATFORM,
            "ipCidrRange": "10.29.0.0/23",
            "purpose": "REGIONAL_MANAGED_PROXY",
            "role": "ACTIVE",
        },
    ),
    (
        "gcp:container/cluster:Cluster",
        {
            "name": "platform",
            "location": REGION,
            "nodeLocations": [ZONE],
            "network": PLATFORM,
            "subnetwork": NODES,
            "ipAllocationPolicy": {"clusterSecondaryRangeName": "pods", "servicesSecondaryRangeName": "services"},
            "minMasterVersion": VERSION,
            "datapathProvider": "ADVANCED_DATAPATH",
            "workloadIdentityConfig": {"workloadPool": f"{SANDBOX_PROJECT}.svc.id.goog"},
            "gatewayApiConfig": {"channel": "CHANNEL_STANDARD"},
            "monitoringConfig": {"managedPrometheus": {"enabled": True}},
            "controlPlaneEndpointsConfig": {"dnsEndpointConfig": {"allowExternalTraffic": True}},
            "initialNodeCount": 1,
            "removeDefaultNodePool": True,
        },
    ),
]
"""What a platform team has made in the project, in this order."""


@pytest.fixture(scope="module")
def beamline_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("beamline")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BEAMLINE_HOME", str(folder))
        yield folder


@pytest.fixture(scope="module")
def ground(beamline_home: Path, tools: Callable[[str], Path]) -> Iterator[Home]:
    """A sandbox in whose project a network and a cluster are there already."""
    assert beamline_home.exists()
    home = home_of("guest")
    home.create()
    try:
        record = Record(name=home.name, time_scale=DEFAULT_TIME_SCALE)
        record = control_plane.ensure_running(home, record, {name: tools(name) for name in TOOLS})
        cluster = Cluster(record.kubernetes["endpoint"], home.ca_file, home.kubeconfig)
        cloud = Operations(Simulation(Ledger(home.ledger), home.ledger.parent, 1e9, cluster, region=REGION, zone=ZONE))
        for kind, inputs in GROUND:
            cloud.create(kind, inputs)
        KubernetesApi(home, record).post("/api/v1/namespaces", {"metadata": {"name": NAMESPACE}})
        yield home
    finally:
        down(home.name, force=True)


def guest(folder: Path, *, cluster: str = "platform", namespace: str = NAMESPACE) -> Path:
    """A stack file of the kit's own program that uses the cluster and the namespace of these names."""
    overrides = {
        "cluster": {"kind": "existing", "name": cluster, "version": VERSION},
        "network": {"kind": "of_cluster"},
        "serving": {"namespace": namespace, "existing_namespace": True},
    }
    file = folder / "Pulumi.guest.yaml"
    file.write_text(yaml.safe_dump({"config": config_of("small-l4", overrides=overrides)}))
    return file


def test_a_cluster_that_is_not_there_ends_the_preview(ground: Home, tmp_path: Path) -> None:
    """One problem in the stack's own form, no traceback, and nothing made."""
    before = len(Ledger(ground.ledger).everything())
    with pytest.raises(ProblemsFound) as raised:
        up(ground.name, guest(tmp_path, cluster="plattform"))
    assert "error[not-found] cluster.name = plattform" in str(raised.value)
    log = (ground.logs / "pulumi-preview.log").read_text()
    assert "clusters/plattform not found" in log
    assert "Traceback" not in log
    assert len(Ledger(ground.ledger).everything()) == before


def test_a_namespace_that_is_not_there_ends_the_preview(ground: Home, tmp_path: Path) -> None:
    with pytest.raises(ProblemsFound) as raised:
        up(ground.name, guest(tmp_path, namespace="inferenze"))
    assert "inferenze" in str(raised.value)
    assert "Traceback" not in (ground.logs / "pulumi-preview.log").read_text()


def test_a_stack_is_applied_in_a_cluster_that_is_there(ground: Home, tmp_path: Path) -> None:
    """It makes pools and rights, neither cluster nor network; the second apply changes nothing."""
    file = guest(tmp_path)
    result = up(ground.name, file)
    assert set(result.changes) == {"create"}
    assert result.outputs["cluster"] == "platform"
    assert str(result.outputs["endpoint"]).startswith("http://")
    status = sandbox.status(ground.name)
    assert (status.nodes, status.problems) == ("2/2", [])
    assert up(ground.name, file).verified_unchanged
    kinds = [record.type for record in Ledger(ground.ledger).everything()]
    assert kinds.count("gcp:container/cluster:Cluster") == kinds.count("gcp:compute/network:Network") == 1


def test_two_components_in_a_foreign_program(beamline_home: Path, tmp_path: Path) -> None:
    """A team's own cluster and bucket beside a pool and a serving part of ours: applied, unchanged, gone."""
    assert beamline_home.exists()
    file = tmp_path / "Pulumi.platform.yaml"
    place = {"gcp:project": SANDBOX_PROJECT, "gcp:region": REGION, "gcp:zone": ZONE}
    file.write_text(yaml.safe_dump({"config": place}))
    try:
        result = up("platform", file, FOREIGN)
        assert set(result.changes) == {"create"}
        assert result.outputs == {
            "pool": "platform-gpus",
            "namespace": "inference",
            "results": "gs://platform-inference-results",
        }
        status = sandbox.status("platform")
        assert (status.nodes, status.pods, status.problems) == ("1/1", "1/1", [])
        assert up("platform", file, FOREIGN).verified_unchanged
        assert down("platform").proven_empty
    finally:
        down("platform", force=True)
