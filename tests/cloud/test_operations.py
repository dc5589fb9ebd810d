"""Resources come, are read, change and go as they do at Google, in any order and after any crash."""

from __future__ import annotations

import pytest

from beamline.sandbox.cloud.errors import CloudError, CreatedButFailedError
from beamline.sandbox.cloud.kinds import KINDS
from beamline.sandbox.cloud.ledger import State
from beamline.sandbox.cloud.operations import Operations, merged, preview_outputs
from beamline.sandbox.cloud.simulation import Simulation
from beamline.sandbox.cloud.values import UNKNOWN, leaves

from .fake_api import FakeApi
from .samples import (
    ACCOUNT_ID,
    CLUSTER,
    CLUSTER_ID,
    EMAIL,
    GOOD,
    IDENTITY,
    NETWORK_ID,
    NODES_ID,
    POOL,
    PROJECT,
    build,
    inputs,
    token,
    upto,
)

IDS = {
    "network": NETWORK_ID,
    "nodes": NODES_ID,
    "proxies": f"projects/{PROJECT}/regions/us-central1/subnetworks/beam-proxy-only",
    "router": f"projects/{PROJECT}/regions/us-central1/routers/beam-router",
    "nat": f"{PROJECT}/us-central1/beam-router/beam-nat",
    "firewall": f"projects/{PROJECT}/global/firewalls/beam-health",
    "address": f"projects/{PROJECT}/regions/us-central1/addresses/beam-address",
    "global address": f"projects/{PROJECT}/global/addresses/beam-global",
    "policy": f"projects/{PROJECT}/regions/us-central1/resourcePolicies/beam-domain",
    "account": ACCOUNT_ID,
    "role": f"{PROJECT}/roles/container.defaultNodeServiceAccount/serviceAccount:{EMAIL}",
    "bucket": "beam-weights",
    "bucket role": f"b/beam-weights/roles/storage.objectViewer/serviceAccount:{EMAIL}",
    "secret role": f"projects/{PROJECT}/secrets/hf-token/roles/secretmanager.secretAccessor/serviceAccount:{EMAIL}",
    "registry role": "projects/my-images/locations/us-central1/repositories/mirror/roles/artifactregistry.reader/"
    f"serviceAccount:{EMAIL}",
    "key role": "projects/my-keys/locations/us-central1/keyRings/beam/cryptoKeys/beam/"
    "roles/cloudkms.cryptoKeyEncrypterDecrypter/"
    "serviceAccount:service-100000000001@container-engine-robot.iam.gserviceaccount.com",
    "cluster": CLUSTER_ID,
    "system": f"{CLUSTER_ID}/nodePools/beam-system",
    "gpus": f"{CLUSTER_ID}/nodePools/beam-gpus",
    "identity": f"{ACCOUNT_ID}/roles/iam.workloadIdentityUser/{IDENTITY}",
}


def refusal(cloud: Operations, name: str, /, **changes: object) -> str:
    with pytest.raises(CloudError) as caught:
        cloud.create(token(name), inputs(name, **changes))
    return str(caught.value)


def test_ids_are_googles(cloud: Operations) -> None:
    assert {name: record.id for name, record in build(cloud).items()} == IDS


@pytest.mark.parametrize("name", GOOD)
def test_outputs_are_inputs_and_what_the_type_says_the_cloud_adds(cloud: Operations, name: str) -> None:
    """What is unknown in a preview is exactly what the cloud fills in later: no more, no less."""
    record = build(cloud, *upto(name), name)[name]
    given = dict(leaves(inputs(name)))
    added = {path for path, _ in leaves(record.outputs)} - given.keys()
    unknown = {path for path, value in leaves(preview_outputs(token(name), inputs(name))) if value == UNKNOWN}
    computed = KINDS[token(name)].computed
    assert all(any(path == c or path.startswith((f"{c}.", f"{c}[")) for c in computed) for path in added), added
    assert {c for c in computed if not any(path.startswith(c) for path in given)} == unknown
    kept = {path: value for path, value in leaves(record.outputs) if path in given}
    rewritten = {"network", "subnetwork", "location"}  # Google answers with a link or in capitals
    assert {p: v for p, v in kept.items() if p not in rewritten} == {
        p: v for p, v in given.items() if p not in rewritten
    }


@pytest.mark.parametrize("name", GOOD)
def test_reading_gives_what_creating_gave(cloud: Operations, name: str) -> None:
    """Otherwise every refresh would show changes."""
    record = build(cloud, *upto(name), name)[name]
    found = cloud.read(token(name), record.id)
    assert found is not None
    assert (found.inputs, found.outputs, found.state) == (record.inputs, record.outputs, State.RUNNING)


ALREADY = {
    "network": f"Error creating Network: googleapi: Error 409: The resource '{NETWORK_ID}' already exists, alreadyExists",  # noqa: E501
    "nat": "Error creating RouterNat: googleapi: Error 400: Nat beam-nat already exists, badRequest",
    "account": "Error creating ServiceAccount: googleapi: Error 409: Service account beam-nodes already exists within "
    f"project projects/{PROJECT}., alreadyExists",
    "bucket": "Error creating Bucket: googleapi: Error 409: Your previous request to create the named bucket succeeded "
    "and you already own it., conflict",
    "cluster": f"Error creating Cluster: googleapi: Error 409: Already exists: {CLUSTER_ID}., alreadyExists",
    "gpus": f"Error creating NodePool: resource - {CLUSTER_ID}/nodePools/beam-gpus - already exists "
    f"(googleapi: Error 409: Already exists: {CLUSTER_ID}/nodePools/beam-gpus., alreadyExists)",
}


@pytest.mark.parametrize("name", ALREADY)
def test_creating_what_exists_is_refused(cloud: Operations, name: str) -> None:
    build(cloud)
    assert refusal(cloud, name) == ALREADY[name]


@pytest.mark.parametrize("name", ["role", "bucket role", "secret role", "registry role", "key role", "identity"])
def test_granting_what_is_granted_changes_nothing(cloud: Operations, name: str) -> None:
    before = build(cloud)[name]
    assert cloud.create(token(name), inputs(name)).outputs == before.outputs


def test_what_a_resource_names_must_exist(cloud: Operations) -> None:
    assert refusal(cloud, "nodes") == (
        f"Error creating Subnetwork: googleapi: Error 404: The resource '{NETWORK_ID}' was not found, notFound"
    )
    build(cloud, "network")
    assert f'does not have subnetwork "{NODES_ID}"' in refusal(cloud, "cluster")
    assert "beam-router' was not found" in refusal(cloud, "nat")
    assert "Error 404: Not found: " + CLUSTER_ID in refusal(cloud, "gpus")
    assert f"Error 400: Service account {EMAIL} does not exist., badRequest" in refusal(cloud, "role")
    assert f"Service account {ACCOUNT_ID} does not exist." in refusal(cloud, "identity")
    build(cloud, "nodes", "account")
    missing = refusal(cloud, "cluster", ipAllocationPolicy__clusterSecondaryRangeName="podz")
    assert 'Secondary range "podz" does not exist in network' in missing
    assert cloud.simulation.ledger.find(CLUSTER, CLUSTER_ID) is None


def test_a_workload_identity_needs_the_pool_that_comes_with_the_first_cluster(cloud: Operations) -> None:
    """A missing dependency on the cluster fails on a fresh project only, and therefore late."""
    build(cloud, *upto("cluster"))
    assert f"Identity Pool does not exist ({PROJECT}.svc.id.goog)" in refusal(cloud, "identity")
    build(cloud, "cluster")
    cloud.create(token("identity"), inputs("identity"))


def test_subnetworks_of_a_network_do_not_overlap(cloud: Operations) -> None:
    build(cloud, "network", "nodes", "proxies")
    overlapping = refusal(cloud, "nodes", name="other", ipCidrRange="10.4.32.0/20", secondaryIpRanges=None)
    assert overlapping == (
        "Error creating Subnetwork: googleapi: Error 400: Invalid IPCidrRange: 10.4.32.0/20 conflicts with existing "
        "subnetwork 'beam-nodes' in region 'us-central1'., invalid"
    )
    second = refusal(cloud, "proxies", name="other", ipCidrRange="10.10.0.0/23")
    assert "active subnetwork with purpose REGIONAL_MANAGED_PROXY already exists" in second


def test_a_subnetwork_grows_but_does_not_shrink(cloud: Operations) -> None:
    build(cloud, "network", "nodes")
    cloud.update(token("nodes"), NODES_ID, inputs("nodes", ipCidrRange="10.0.0.0/21"))
    with pytest.raises(CloudError, match="a range can only grow"):
        cloud.update(token("nodes"), NODES_ID, inputs("nodes"))


def test_what_is_in_use_stays(cloud: Operations) -> None:
    build(cloud)
    for name, user in (("network", IDS["firewall"]), ("nodes", CLUSTER_ID)):
        with pytest.raises(CloudError) as caught:
            cloud.delete(token(name), IDS[name])
        assert str(caught.value).endswith(f"is already being used by '{user}', resourceInUseByAnotherResource")
        assert cloud.read(token(name), IDS[name]) is not None


def test_everything_goes_in_the_reverse_order_and_twice_is_no_error(cloud: Operations, api: FakeApi) -> None:
    records = build(cloud)
    for name in [*reversed(GOOD), "network"]:
        cloud.delete(token(name), records[name].id)
    assert cloud.simulation.ledger.everything() == []
    assert api.names("Node") == []
    assert api.names("Namespace") == ["default", "kube-system"]
    assert cloud.read(token("network"), NETWORK_ID) is None


def test_a_router_takes_its_nat_with_it(cloud: Operations) -> None:
    build(cloud, "network", "nodes", "router", "nat")
    cloud.delete(token("router"), IDS["router"])
    assert cloud.read(token("nat"), IDS["nat"]) is None


def test_a_protected_cluster_stays(cloud: Operations) -> None:
    build(cloud, *upto("cluster"))
    cloud.create(CLUSTER, inputs("cluster", deletionProtection=None))  # protection is the default
    with pytest.raises(CloudError, match="Cannot destroy cluster because deletion_protection is set to true"):
        cloud.delete(CLUSTER, CLUSTER_ID)
    cloud.update(CLUSTER, CLUSTER_ID, inputs("cluster", deletionProtection=False))
    cloud.delete(CLUSTER, CLUSTER_ID)
    assert cloud.read(CLUSTER, CLUSTER_ID) is None


def test_deletion_policy(cloud: Operations) -> None:
    cloud.create(token("network"), inputs("network", deletionPolicy="PREVENT"))
    with pytest.raises(CloudError, match="its deletion_policy is PREVENT"):
        cloud.delete(token("network"), NETWORK_ID)
    cloud.update(token("network"), NETWORK_ID, inputs("network", deletionPolicy="ABANDON"))
    cloud.delete(token("network"), NETWORK_ID)
    assert cloud.read(token("network"), NETWORK_ID) is not None


def test_a_sandbox_has_room_for_one_cluster(cloud: Operations) -> None:
    build(cloud, *upto("cluster"), "cluster")
    assert f"room for one GKE cluster; it has {CLUSTER_ID} already" in refusal(cloud, "cluster", name="second")


def test_the_control_plane_is_never_downgraded_and_skips_no_minor(cloud: Operations) -> None:
    build(cloud, *upto("cluster"))
    cloud.create(CLUSTER, inputs("cluster", minMasterVersion="1.34.3-gke.1318000"))
    older = cloud.update(CLUSTER, CLUSTER_ID, inputs("cluster", minMasterVersion="1.33.1-gke.1"))
    assert older.outputs["masterVersion"] == "1.34.3-gke.1318000"
    with pytest.raises(CloudError, match="one minor version at a time"):
        cloud.update(CLUSTER, CLUSTER_ID, inputs("cluster", minMasterVersion="1.36.0-gke.1"))
    newer = cloud.update(CLUSTER, CLUSTER_ID, inputs("cluster"))
    assert newer.outputs["masterVersion"] == "1.35.8-gke.1036000"


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"version": "1.36.0-gke.1"}, "must not have a greater minor version than master version"),
        ({"version": "1.35.8-gke.1036001"}, "must not be greater than master version"),
        ({"version": "1.32.11-gke.1174000"}, "must be within two minor versions"),
        ({"management": {"autoUpgrade": False}}, "Auto_upgrade must be true when release_channel REGULAR is set."),
        ({"nodeConfig__serviceAccount": f"nobody@{PROJECT}.iam.gserviceaccount.com"}, "nobody@"),
        ({"networkConfig__podRange": "other"}, 'Pod secondary range "other" does not exist'),
        ({"nodeCount": 300}, "is exhausted: 19456 addresses are needed, 10.4.0.0/18 has 16384"),
    ],
)
def test_a_pool_must_fit_its_cluster(cloud: Operations, changes: dict[str, object], says: str) -> None:
    build(cloud, *upto("gpus"))
    assert says in refusal(cloud, "gpus", **changes)
    assert cloud.simulation.ledger.find(POOL, IDS["gpus"]) is None


def test_nodes_need_addresses_too(cloud: Operations) -> None:
    build(cloud, "network", "account")
    cloud.create(token("nodes"), inputs("nodes", ipCidrRange="10.0.0.0/29"))
    build(cloud, "cluster")
    assert "primary range' is exhausted: 5 addresses are needed" in refusal(cloud, "system", nodeCount=5)


def test_a_pool_whose_nodes_do_not_come_up_exists_and_is_not_well(
    cloud: Operations, simulation: Simulation, api: FakeApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Pulumi must keep it in its state, or a later run would meet it as a stranger."""
    monkeypatch.setattr("beamline.sandbox.cloud.nodes._GRACE_S", 0.0)
    build(cloud, *upto("system"))
    api.create = lambda *_: None  # type: ignore[method-assign] - the machines never register
    with pytest.raises(CreatedButFailedError) as caught:
        cloud.create(POOL, inputs("system"))
    assert "only 0 nodes out of 2 have registered; cluster may be unhealthy" in str(caught.value)
    assert caught.value.resource_id == IDS["system"]
    assert caught.value.outputs["version"] == "1.35.8-gke.1036000"
    found = simulation.ledger.find(POOL, IDS["system"])
    assert found is not None
    assert found.state is State.FAILED


def test_interrupted_creation_answers_at_once_and_goes_on_later(
    cloud: Operations, simulation: Simulation, api: FakeApi
) -> None:
    """As Google's provider does: the resource is recorded with what is known, the operation continues."""
    build(cloud, *upto("system"))
    simulation.interrupted.set()
    record = cloud.create(POOL, inputs("system"))
    assert record.state is State.WORKING
    assert record.outputs["nodeCount"] == 2
    assert api.names("Node") == []
    simulation.interrupted.clear()
    found = cloud.read(POOL, record.id)
    assert found is not None
    assert found.state is State.RUNNING
    assert len(api.names("Node")) == 2


def test_a_new_process_goes_on_where_a_killed_one_stopped(
    cloud: Operations, simulation: Simulation, api: FakeApi
) -> None:
    build(cloud, *upto("cluster"))
    simulation.interrupted.set()  # stands for SIGKILL between the ledger entry and the work
    cloud.create(CLUSTER, inputs("cluster"))
    simulation.interrupted.clear()
    successor = Operations(simulation)
    successor.resume()
    assert "gateways.gateway.networking.k8s.io" in api.names("CustomResourceDefinition")
    assert refusal(successor, "cluster").endswith("alreadyExists")
    assert {record.state for record in simulation.ledger.everything()} == {State.RUNNING}


def test_a_cluster_is_not_changed_before_the_work_on_its_pools_is_done(
    cloud: Operations, simulation: Simulation, api: FakeApi
) -> None:
    """GKE refuses it and its provider waits; so the pool of a killed process is finished first."""
    build(cloud, *upto("system"))
    simulation.interrupted.set()
    pool = cloud.create(POOL, inputs("system"))
    simulation.interrupted.clear()
    assert (pool.state, api.names("Node")) == (State.WORKING, [])
    Operations(simulation).update(CLUSTER, CLUSTER_ID, inputs("cluster", resourceLabels={"a": "b"}))
    found = simulation.ledger.find(POOL, pool.id)
    assert found is not None
    assert (found.state, len(api.names("Node"))) == (State.RUNNING, 2)


def test_a_deletion_that_was_cut_short_is_finished(cloud: Operations, simulation: Simulation, api: FakeApi) -> None:
    records = build(cloud)
    simulation.ledger.change(POOL, records["gpus"].id, state=State.DELETING)
    assert Operations(simulation).read(POOL, records["gpus"].id) is None
    assert len(api.names("Node")) == 2


def test_a_pool_waits_for_a_cluster_that_is_still_being_made(cloud: Operations, simulation: Simulation) -> None:
    build(cloud, *upto("cluster"))
    simulation.interrupted.set()
    cloud.create(CLUSTER, inputs("cluster"))
    simulation.interrupted.clear()
    cloud.create(POOL, inputs("system"))
    found = simulation.ledger.find(CLUSTER, CLUSTER_ID)
    assert found is not None
    assert found.state is State.RUNNING


def test_blocks_are_laid_over_each_other() -> None:
    base = {"a": {"b": 1, "c": [1]}, "d": 1}
    assert merged(base, {"a": {"c": [2], "e": 3}}) == {"a": {"b": 1, "c": [2], "e": 3}, "d": 1}
    assert base == {"a": {"b": 1, "c": [1]}, "d": 1}
