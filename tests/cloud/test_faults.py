"""Faults strike what they are aimed at, as often as they are told to, and without them everything works."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from beamline.sandbox.cloud.errors import CloudError, CreatedButFailedError
from beamline.sandbox.cloud.fault_kinds import fault_kinds
from beamline.sandbox.cloud.faults import FAULTS, read_faults
from beamline.sandbox.cloud.kinds import KINDS
from beamline.sandbox.cloud.ledger import State
from beamline.sandbox.cloud.operations import Operations
from beamline.sandbox.cloud.simulation import Simulation

from .fake_api import FakeApi
from .samples import CLUSTER, CLUSTER_ID, NETWORK, NETWORK_ID, POOL, SUB_BLOCK, build, build_metal, inputs

SYSTEM = f"{CLUSTER_ID}/nodePools/beam-system"
NEEDS = ("network", "nodes", "account", "cluster")


def write(simulation: Simulation, *operations: dict[str, Any], **others: Any) -> None:
    (simulation.folder / FAULTS).write_text(yaml.safe_dump({"operations": list(operations), **others}))


def waits(simulation: Simulation, monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Return a list that takes down how long the simulation waits, in simulated seconds."""
    found: list[float] = []
    monkeypatch.setattr(simulation, "wait", found.append)
    return found


REFUSED = {
    "quota": "Error creating NodePool: googleapi: Error 403: Insufficient regional quota to satisfy request: resource",
    "conflict": f"Error creating NodePool: googleapi: Error 409: Already exists: {SYSTEM}., alreadyExists",
    "operation_in_progress": "Error creating NodePool: googleapi: Error 400: Cluster is running incompatible operation",
    "rate_limit": "'container.googleapis.com' for consumer 'project_number:100000000001'., rateLimitExceeded",
    "unavailable": "Error creating NodePool: googleapi: Error 503: Internal error. Please try again or contact Google",
}


@pytest.mark.parametrize("fault", REFUSED)
def test_a_refused_request_leaves_nothing_and_works_without_the_fault(
    cloud: Operations, simulation: Simulation, fault: str
) -> None:
    build(cloud, *NEEDS)
    write(simulation, {"fault": fault, "type": "NodePool"})
    with pytest.raises(CloudError) as caught:
        cloud.create(POOL, inputs("system"))
    assert REFUSED[fault] in str(caught.value)
    assert simulation.ledger.find(POOL, SYSTEM) is None
    (simulation.folder / FAULTS).unlink()
    assert cloud.create(POOL, inputs("system")).state is State.RUNNING


FAILED = {
    "stockout": "Expected 2, running 0, transitioning 2. Current errors: [GCE_STOCKOUT]: Instance 'gke-beam-system' "
    "creation failed: The zone 'projects/beamline-sandbox-simulated-google/zones/us-central1-b' does not have enough",
    "late_failure": 'Error waiting for creating NodePool: NodePool beam-system was created in the error state "ERROR"',
}


@pytest.mark.parametrize("fault", FAILED)
def test_work_that_fails_leaves_a_resource_that_a_later_update_repairs(
    cloud: Operations, simulation: Simulation, api: FakeApi, fault: str
) -> None:
    build(cloud, *NEEDS)
    write(simulation, {"fault": fault, "type": "NodePool", "times": 1})
    with pytest.raises(CreatedButFailedError) as caught:
        cloud.create(POOL, inputs("system"))
    assert FAILED[fault] in str(caught.value)
    found = simulation.ledger.find(POOL, SYSTEM)
    assert found is not None
    assert (found.state, api.names("Node")) == (State.FAILED, [])
    assert cloud.update(POOL, SYSTEM, inputs("system")).state is State.RUNNING
    assert len(api.names("Node")) == 2


def test_gke_goes_on_to_ask_for_machines_it_did_not_get(
    cloud: Operations, simulation: Simulation, api: FakeApi
) -> None:
    """A refresh finds the pool unwell until the machines are there, and does not need an update to mend it."""
    short = {"sub_blocks": [{"name": SUB_BLOCK, "healthy_hosts": 6}]}
    write(simulation, **short)
    with pytest.raises(CreatedButFailedError, match="Expected 8, running 6"):
        build_metal(cloud)
    with pytest.raises(CreatedButFailedError, match="Expected 8, running 6"):
        cloud.read(POOL, f"{CLUSTER_ID}/nodePools/beam-metal")
    (simulation.folder / FAULTS).unlink()
    found = cloud.read(POOL, f"{CLUSTER_ID}/nodePools/beam-metal")
    assert found is not None
    assert found.state is State.RUNNING
    assert len([name for name in api.names("Node") if "beam-metal" in name]) == 8


@pytest.mark.parametrize("operation", ["create", "update", "delete"])
def test_a_lost_connection_does_not_stop_the_work(cloud: Operations, simulation: Simulation, operation: str) -> None:
    """What the client asked for happens; a client that asks again for a resource it made unknowingly reads 409."""
    if operation != "create":
        build(cloud, "network")
    write(simulation, {"fault": "connection_lost", "type": "Network", "operation": operation, "times": 1})
    arguments = {
        "create": (NETWORK, inputs("network")),
        "update": (NETWORK, NETWORK_ID, inputs("network", mtu=1500)),
        "delete": (NETWORK, NETWORK_ID),
    }[operation]
    with pytest.raises(CloudError, match="http2: client connection lost") as caught:
        getattr(cloud, operation)(*arguments)
    assert not isinstance(caught.value, CreatedButFailedError)
    found = Operations(simulation).read(NETWORK, NETWORK_ID)  # another process
    if operation == "delete":
        assert found is None
        return
    assert found is not None
    assert (found.state, found.outputs["mtu"]) == (State.RUNNING, 1500 if operation == "update" else 8896)
    with pytest.raises(CloudError, match=r"Error 409: The resource .* already exists, alreadyExists"):
        cloud.create(NETWORK, inputs("network"))


@pytest.mark.parametrize(("change", "usual_s", "slow_s"), [({"factor": 4}, 480, 1920), ({"seconds": 30}, 480, 510)])
def test_a_slow_operation_takes_longer_once(
    cloud: Operations,
    simulation: Simulation,
    monkeypatch: pytest.MonkeyPatch,
    change: dict[str, float],
    usual_s: float,
    slow_s: float,
) -> None:
    build(cloud, "network", "nodes")
    found = waits(simulation, monkeypatch)
    write(simulation, {"fault": "slow", "type": "Cluster", "operation": "create", "times": 1, **change})
    for _ in range(2):
        cloud.create(CLUSTER, inputs("cluster"))
        simulation.ledger.remove(CLUSTER, CLUSTER_ID)
    assert found == [slow_s, usual_s]


@pytest.mark.parametrize(
    ("fault", "token", "lasts", "gives_up_after_s"),
    [
        ("unavailable", NETWORK, 9, 71),
        ("rate_limit", NETWORK, 9, 71),
        ("quota", NETWORK, 0, 0),
        ("conflict", NETWORK, 0, 0),
        ("operation_in_progress", POOL, 180, 1800),
        ("operation_in_progress", CLUSTER, 0, 0),
    ],
)
def test_googles_provider_asks_again_before_the_user_hears_of_it(
    cloud: Operations,
    simulation: Simulation,
    monkeypatch: pytest.MonkeyPatch,
    fault: str,
    token: str,
    lasts: int,
    gives_up_after_s: float,
) -> None:
    """``lasts``: how many refusals in a row the provider outlasts; with one more the user reads it."""
    name = {NETWORK: "network", POOL: "system", CLUSTER: "cluster"}[token]
    if name != "network":
        build(cloud, *NEEDS[: NEEDS.index("cluster") + (name == "system")])
    found = waits(simulation, monkeypatch)
    if lasts:
        write(simulation, {"fault": fault, "type": token, "times": lasts})
        assert cloud.create(token, inputs(name)).state is State.RUNNING
        assert sum(found[:-1]) == gives_up_after_s
        cloud.delete(token, KINDS[token].identify(inputs(name), simulation).id)
    write(simulation, {"fault": fault, "type": token, "operation": "create", "times": lasts + 1})
    with pytest.raises(CloudError):
        cloud.create(token, inputs(name))
    assert cloud.create(token, inputs(name)).state is State.RUNNING


@pytest.mark.parametrize(
    ("aim", "hits"),
    [
        ({}, True),
        ({"type": "NodePool"}, True),
        ({"type": POOL}, True),
        ({"type": "Cluster"}, False),
        ({"name": "beam-sys*"}, True),
        ({"name": "beam-gpu*"}, False),
        ({"operation": "create"}, True),
        ({"operation": "update"}, False),
        ({"zone": "us-central1-b"}, True),
        ({"zone": "us-central1-a"}, False),
        ({"machine_type": "n4-standard-4"}, True),
        ({"machine_type": "g4-standard-384"}, False),
        ({"type": "NodePool", "name": "beam-*", "zone": "us-central1-b", "machine_type": "e2-medium"}, False),
    ],
)
def test_a_fault_strikes_what_it_is_aimed_at(
    cloud: Operations, simulation: Simulation, aim: dict[str, str], hits: bool
) -> None:
    build(cloud, *NEEDS)
    write(simulation, {"fault": "quota", **aim})
    if hits:
        with pytest.raises(CloudError, match="Error 403"):
            cloud.create(POOL, inputs("system"))
    else:
        cloud.create(POOL, inputs("system"))


def test_processes_count_together(cloud: Operations, simulation: Simulation) -> None:
    write(simulation, {"fault": "quota", "times": 2})
    for each in (cloud, Operations(simulation)):
        with pytest.raises(CloudError, match="Error 403"):
            each.create(NETWORK, inputs("network"))
    Operations(simulation).create(NETWORK, inputs("network"))


def test_a_fault_that_is_changed_counts_anew(cloud: Operations, simulation: Simulation) -> None:
    for times in (1, 2):
        write(simulation, {"fault": "quota", "times": times})
        with pytest.raises(CloudError, match="Error 403"):
            cloud.create(NETWORK, inputs("network"))
    with pytest.raises(CloudError, match="Error 403"):
        cloud.create(NETWORK, inputs("network"))
    cloud.create(NETWORK, inputs("network"))


@pytest.mark.parametrize("operation", ["read", "delete"])
def test_reads_and_deletes_fail_too(cloud: Operations, simulation: Simulation, operation: str) -> None:
    build(cloud, "network")
    write(simulation, {"fault": "unavailable", "operation": operation})
    with pytest.raises(CloudError, match="Error 503"):
        getattr(cloud, operation)(NETWORK, NETWORK_ID)
    (simulation.folder / FAULTS).unlink()
    getattr(cloud, operation)(NETWORK, NETWORK_ID)


def test_a_node_that_never_gets_ready_is_made_anew_once_it_is_well(
    cloud: Operations, simulation: Simulation, api: FakeApi
) -> None:
    build(cloud, *NEEDS)
    write(simulation, nodes=[{"pool": "beam-system", "place": 1, "ready": False}])
    with pytest.raises(CreatedButFailedError, match="only 1 nodes out of 2 have registered; cluster may be unhealthy"):
        cloud.create(POOL, inputs("system"))
    names = api.names("Node")
    (simulation.folder / FAULTS).unlink()
    cloud.update(POOL, SYSTEM, inputs("system"))
    assert api.names("Node") == names
    assert api.writes[-2:] == [f"delete {names[1]}", f"create {names[1]}"]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("hosts: []", "hosts: unknown key; known are sub_blocks, nodes, operations"),
        ("- a", "a map is expected, not ['a']"),
        ("a: [", "cannot be read"),
        ("nodes: 1", "nodes: a list of maps is expected, not 1"),
        (
            "sub_blocks: [{name: a, healthy_host: 6}]",
            "sub_blocks[0].healthy_host: unknown key; known are name, healthy_hosts",
        ),
        (
            "sub_blocks: [{name: a}]",
            "sub_blocks[0].healthy_hosts: is missing; a whole number of at least 0 is expected",
        ),
        (
            "nodes: [{pool: a, place: first, rdma_devices: 7}]",
            "nodes[0].place: a whole number of at least 0 is expected",
        ),
        ("nodes: [{pool: a, place: 0}]", "nodes[0]: rdma_devices or ready is expected"),
        ("operations: [{fault: fire}]", "operations[0].fault: one of stockout, quota, conflict,"),
        (
            "operations: [{fault: quota, times: 0}]",
            "operations[0].times: a whole number of at least 1 is expected, not 0",
        ),
        ("operations: [{fault: quota, factor: 2}]", "operations[0]: factor and seconds are for the fault slow"),
        ("operations: [{fault: slow}]", "operations[0]: slow takes either factor or seconds"),
        ("operations: [{fault: slow, factor: 2, seconds: 2}]", "operations[0]: slow takes either factor or seconds"),
        ("operations: [{fault: conflict, operation: read}]", "operations[0].operation: conflict happens to create"),
        ("operations: [{fault: stockout, type: Network}]", "operations[0].type: stockout happens to NodePool"),
        (
            "operations: [{fault: quota, type: Networks}]",
            "faults.yaml: the simulated cloud has no resource type 'Networks'",
        ),
    ],
)
def test_faults_that_say_nothing_clear_are_refused(
    cloud: Operations, simulation: Simulation, text: str, says: str
) -> None:
    (simulation.folder / FAULTS).write_text(text)
    with pytest.raises(CloudError) as caught:
        cloud.create(NETWORK, inputs("network"))
    assert FAULTS in str(caught.value)
    assert says in str(caught.value)


def test_the_manual_names_every_fault(tmp_path: Path) -> None:
    """The example in docs/simulation.md is a file that works, and has every fault in it."""
    page = (Path(__file__).parents[2] / "docs" / "simulation.md").read_text()
    example = next(block for block in page.split("```yaml\n")[1:] if "operations:" in block).partition("```")[0]
    (tmp_path / FAULTS).write_text(example)
    assert {row.fault for row in read_faults(tmp_path).operations} == set(fault_kinds())
