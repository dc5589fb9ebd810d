"""A stack with several accelerator pools: each is asked about, and what they share is summed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from beamline.preflight import CHECKS, Finding, Standing, Target, run_checks
from beamline.preflight.checks.addresses import Ground, Subnet, judge_subnetwork
from beamline.preflight.checks.applied import Applied, AppliedPool
from beamline.preflight.checks.images import needed_archs
from beamline.preflight.checks.quota_needs import quota_needs
from beamline.preflight.checks.reservations import judge_reservations
from beamline.preflight.checks.reserved import Part, Reserved, own_nodes
from stacks.cloud import SANDBOX_PROJECT
from tests.preflight.targets import SUB_BLOCK, simulated, target

G4: dict[str, Any] = {"boot_disk_gb": 200, "provisioning": {"kind": "on_demand"}}
METAL: dict[str, Any] = {
    "machine_type": "a4x-maxgpu-4g-metal",
    "nodes": 10,
    "boot_disk_gb": 200,
    "provisioning": {"kind": "reservation"},
    "use": "standby",
}
OTHER = f"{SUB_BLOCK}-other"
BLOCK = f"projects/{SANDBOX_PROJECT}/reservations/r/reservationBlocks/b"


def g4_pools(**settings: Any) -> Target:
    """One node that serves, one of another machine type that stands by, two that are drained."""
    pools = {
        "green": {**G4, "machine_type": "g4-standard-192", "nodes": 1, "use": "standby"},
        "old": {**G4, "machine_type": "g4-standard-384", "nodes": 2, "use": "draining"},
    }
    return target("g4-llmd", overrides={"accelerator_pools": pools, **settings})


def metal_pools(reservation: Any) -> Target:
    """Eight nodes that serve, ten that stand by."""
    return target("a4x-max-llmd", overrides={"accelerator_pools": {"second": METAL}}, reservation=reservation)


def g4_reserved(reservation: Any) -> Target:
    """Two nodes that serve and one that stands by, of one machine type."""
    reserved = {"provisioning": {"kind": "reservation"}}
    green = {**G4, **reserved, "machine_type": "g4-standard-384", "nodes": 1, "use": "standby"}
    pools = {"main": {**reserved, "nodes": 2}, "green": green}
    return target("g4-llmd-multi", overrides={"accelerator_pools": pools}, reservation=reservation)


def held(part: Part) -> Reserved:
    return Reserved(machine_type="a4x-maxgpu-4g-metal", count=36, owner=SANDBOX_PROJECT, part=part)


def said(findings: list[Finding]) -> list[tuple[str, str]]:
    return [(finding.rule, finding.needed) for finding in findings]


def test_pools_in_one_sub_block_are_summed() -> None:
    asked = metal_pools(SUB_BLOCK)
    assert {name: [pool.name for pool in pools] for name, pools in asked.reservations.items()} == {
        SUB_BLOCK: ["main", "second"]
    }
    whole, smaller = Part("sub-block", "s", 18, 0, 18, "HEALTHY"), Part("sub-block", "s", 17, 0, 17, "HEALTHY")
    assert said(judge_reservations(asked, {SUB_BLOCK: held(whole)})) == [("", "18 nodes")]
    (finding,) = judge_reservations(asked, {SUB_BLOCK: held(smaller)})
    assert said([finding]) == [("reservation-too-small", "18 nodes")]
    assert "accelerator_pools.main.nodes or accelerator_pools.second.nodes" in finding.remedy


def test_a_sub_block_by_two_names_is_one() -> None:
    short = SUB_BLOCK.partition("/reservations/")[2]
    asked = metal_pools({"main": short, "second": SUB_BLOCK})
    assert {name: [pool.name for pool in pools] for name, pools in asked.reservations.items()} == {
        short: ["main", "second"]
    }
    smaller = Part("sub-block", "s", 17, 0, 17, "HEALTHY")
    assert said(judge_reservations(asked, {short: held(smaller)})) == [("reservation-too-small", "18 nodes")]


def test_a_reservation_has_room_for_the_pools_of_its_parts_too() -> None:
    """Two nodes of the whole reservation, and one of a block of it: neither counts as somebody else's."""
    asked = g4_reserved({"main": "r", "green": "r/reservationBlocks/b"})
    there = Applied(cluster=True, pools={"main": AppliedPool(2, ("r",)), "green": AppliedPool(1, (BLOCK,))})
    assert [own_nodes(asked, name, there) for name in asked.reservations] == [3, 1]
    found = Reserved(machine_type="g4-standard-384", count=2, owner=SANDBOX_PROJECT)
    part = replace(found, part=Part("block", "b", 1, 0, 1, "HEALTHY"))
    findings = judge_reservations(asked, {"r": found, "r/reservationBlocks/b": part})
    assert said(findings) == [("reservation-too-small", "3 nodes"), ("", "1 nodes")]
    assert "accelerator_pools.main.nodes or accelerator_pools.green.nodes" in findings[0].remedy
    enough = judge_reservations(asked, {"r": replace(found, count=3, in_use=3, own=3)})
    assert said(enough) == [("", "3 nodes")]


def test_every_pool_of_a_reservation_is_judged_by_its_own_machine_type() -> None:
    """No plan lets two machine types share a reservation; what is asked here does not lean on it."""
    asked = metal_pools(SUB_BLOCK)
    pools = asked.spec.preset.accelerator_pools
    second = pools["second"].model_copy(update={"machine_type": "a4x-highgpu-4g"})
    preset = asked.spec.preset.model_copy(update={"accelerator_pools": {**pools, "second": second}})
    mixed = replace(asked, spec=replace(asked.spec, preset=preset))
    whole = held(Part("sub-block", "s", 18, 0, 18, "HEALTHY"))
    assert said(judge_reservations(mixed, {SUB_BLOCK: whole})) == [("reservation-machine-type", "a4x-highgpu-4g")]


def test_each_sub_block_is_asked_about(tmp_path: Path) -> None:
    """The simulated project knows both, and holds what each pool asks for."""
    asked = metal_pools({"main": SUB_BLOCK, "second": OTHER})
    with simulated(tmp_path, asked) as world:
        findings = run_checks(CHECKS, asked, world).findings["reservation"]
    assert [(finding.standing, finding.needed) for finding in findings] == [
        (Standing.OK, "8 nodes"),
        (Standing.OK, "10 nodes"),
    ]


def test_own_nodes_are_those_of_pools_in_the_same_part() -> None:
    asked = metal_pools({"main": SUB_BLOCK, "second": OTHER})
    there = Applied(cluster=True, pools={"main": AppliedPool(8, (SUB_BLOCK,)), "second": AppliedPool(10, (OTHER,))})
    assert [own_nodes(asked, name, there) for name in (SUB_BLOCK, OTHER)] == [8, 10]
    reservation = SUB_BLOCK.partition("/reservationBlocks")[0]
    assert own_nodes(asked, reservation, there) == 18


def test_quotas_are_for_all_pools() -> None:
    """Nodes that stand by or are drained count like those that serve; what is there already does not."""
    needs = {need.what: need.amount for need in quota_needs(g4_pools(), Applied())}
    gpus = [amount for what, amount in needs.items() if what.startswith("nvidia-rtx-pro-6000 on demand")]
    assert gpus == [8 + 4 + 16]
    there = Applied(cluster=True, pools={"main": AppliedPool(1), "old": AppliedPool(2)}, system_nodes=2)
    left = {need.what: need.amount for need in quota_needs(g4_pools(), there)}
    assert left["nvidia-rtx-pro-6000 on demand"] == 4


def test_addresses_are_for_all_pools() -> None:
    """Four accelerator nodes and two system nodes; each takes 256 addresses for its pods."""
    network = {"kind": "existing", "network": "v", "subnetwork": "n", "pods_range": "p", "services_range": "s"}
    asked = g4_pools(network=network)
    subnet = Subnet("n", "10.0.0.0/20", ranges=(("p", "10.4.0.0/16"), ("s", "10.8.0.0/20")), free=(("", 9), ("p", 0)))
    needed = [finding.asked for finding in judge_subnetwork(asked, Ground(subnet))][:2]
    most = [pool.row.gke.max_pods_per_node for pool in asked.spec.pools]
    assert len(set(most)) == 1
    assert needed[0].startswith("the primary range of n has 6 addresses")
    assert "has 1,536 addresses" in needed[1]


def test_images_are_for_every_pool_a_pod_may_be_on() -> None:
    """Where weights are seeded on two pools, the pods name both in their affinity; they run on the same processors."""
    assert needed_archs(metal_pools(SUB_BLOCK)) == needed_archs(target("a4x-max-llmd"))
    assert "nodeAffinity" in str(metal_pools(SUB_BLOCK).graph.to_json())
