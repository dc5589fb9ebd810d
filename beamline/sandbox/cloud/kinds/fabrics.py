"""What GKE says about pools whose machines share a fabric: NVLink domains, placement, accelerator networks.

Every limit is a column of ``machines.yaml``. Google's guides to A4X Max on GKE and to the managed DRANET (2026) say
what is refused; neither has the words of the refusals, so the words here are the simulation's.
"""

from collections.abc import Iterator, Sequence

from beamline.sandbox.cloud.access import grants, roles_of
from beamline.sandbox.cloud.errors import CloudError, bad_request, not_found
from beamline.sandbox.cloud.inventory import read_inventory
from beamline.sandbox.cloud.kinds.base import Inputs
from beamline.sandbox.cloud.kinds.compute import NETWORK, RESOURCE_POLICY, SUBNETWORK
from beamline.sandbox.cloud.kinds.node_configs import DEFAULT_MACHINE
from beamline.sandbox.cloud.ledger import Record
from beamline.sandbox.cloud.machines import Domain, Machine, machine, region_of
from beamline.sandbox.cloud.names import reference
from beamline.sandbox.cloud.schema import Failure
from beamline.sandbox.cloud.simulation import Simulation

__all__ = ["check_fabric", "fabric_problems", "placement_policy", "shielded_nodes_problem"]

_TYPES = ("TYPE_UNSPECIFIED", "COMPACT")
_ADDITIONAL = "additionalNodeNetworkConfigs"


def fabric_problems(inputs: Inputs) -> Iterator[Failure]:
    """Yield what is wrong with a pool's fabric by itself, whatever its cluster."""
    made = _machine(inputs)
    placement = inputs.get("placementPolicy") or {}
    if placement.get("type", _TYPES[0]) not in _TYPES:
        yield Failure("placementPolicy.type", f"expected one of {list(_TYPES)}, got {placement['type']}")
    if placement.get("type") == "COMPACT":
        yield from _compact(inputs)
    if made is None:
        return
    if not made.family.autoscaling:
        for block in ("autoscaling", "queuedProvisioning"):
            if inputs.get(block):
                yield Failure(
                    block, f"{made.name} does not support the cluster autoscaler: a pool has a fixed nodeCount"
                )
    if made.family.nvlink_domain:
        yield from _domain(inputs, made, made.family.nvlink_domain)
    network = inputs.get("networkConfig") or {}
    yield from _profile(network, inputs.get("nodeLocations") or [], made)
    if network.get(_ADDITIONAL) and not made.family.multi_networking:
        yield Failure(f"networkConfig.{_ADDITIONAL}", f"{made.name} does not support multi-networking")


def _compact(inputs: Inputs) -> Iterator[Failure]:
    """Preconditions of GoogleCloudPlatform/cluster-toolkit's node pools (v1.95.0)."""
    zones = inputs.get("nodeLocations") or []
    if len(zones) > 1:
        yield Failure("placementPolicy.type", _one_zone("nodes of COMPACT placement lie", zones))
    if (inputs.get("upgradeSettings") or {}).get("strategy") == "BLUE_GREEN":
        yield Failure("upgradeSettings.strategy", "BLUE_GREEN upgrades and COMPACT placement exclude each other")


def _domain(inputs: Inputs, made: Machine, domain: Domain) -> Iterator[Failure]:
    zones = inputs.get("nodeLocations") or []
    if len(zones) > 1:
        yield Failure("nodeLocations", _one_zone(f"the NVLink domain of {made.name} lies", zones))
    for key in ("nodeCount", "initialNodeCount"):
        if inputs.get(key, 0) > domain.hosts:
            yield Failure(
                key, f"an NVLink domain ({domain.topology}) has {domain.hosts} {made.name} hosts, not {inputs[key]}"
            )
    if not inputs.get("placementPolicy"):
        yield Failure("placementPolicy", _needs_policy(made, domain))


def _profile(network: Inputs, zones: Sequence[str], made: Machine) -> Iterator[Failure]:
    profile = network.get("acceleratorNetworkProfile")
    if profile is None:
        return
    if profile not in made.family.network_profiles:
        allowed = ", ".join(made.family.network_profiles) or "none"
        yield Failure(
            "networkConfig.acceleratorNetworkProfile",
            f"accelerator network profile {profile!r} is not supported on {made.name}, which takes {allowed}",
        )
    if network.get(_ADDITIONAL):
        yield Failure(
            f"networkConfig.{_ADDITIONAL}",
            "the accelerator network profile makes the pool's networks: none can be given beside it",
        )
    if len(zones) > 1:
        yield Failure("networkConfig.acceleratorNetworkProfile", _one_zone("accelerator networks lie", zones))


def check_fabric(inputs: Inputs, zones: Sequence[str], cluster: Record, simulation: Simulation) -> None:
    """Refuse a pool whose fabric its cluster or its placement policy cannot give. Raises CloudError."""
    made = _machine(inputs)
    policy = placement_policy(inputs, cluster.project, cluster.location)
    found = simulation.ledger.find(RESOURCE_POLICY, policy) if policy else None
    if policy and found is None:
        raise not_found(f"The resource '{policy}' was not found")
    if made is None:
        return
    if reason := shielded_nodes_problem(inputs, cluster.inputs):
        raise bad_request(reason)
    domain = made.family.nvlink_domain
    if domain:
        if len(zones) > 1:
            raise bad_request(_one_zone(f"the NVLink domain of {made.name} lies", zones))
        wanted = {"type": "HIGH_THROUGHPUT", "acceleratorTopology": domain.topology}
        workload = (found.inputs.get("workloadPolicy") or {}) if found else {}
        if {key: workload.get(key) for key in wanted} != wanted:
            raise bad_request(f"{_needs_policy(made, domain)}; {_what_it_is(found)}")
    if (inputs.get("networkConfig") or {}).get("acceleratorNetworkProfile"):
        _check_profile(zones, cluster.inputs)
        _check_network_rights(cluster.project, simulation)
    _check_networks((inputs.get("networkConfig") or {}).get(_ADDITIONAL) or [], cluster, simulation)


def shielded_nodes_problem(pool: Inputs, cluster: Inputs) -> str:
    """Say why a pool's machines cannot be in a cluster with these inputs; empty when they can."""
    made = _machine(pool)
    if made is None or made.family.shielded_nodes or not cluster.get("enableShieldedNodes", True):
        return ""
    return f"Shielded GKE nodes are not supported on {made.name}: its cluster has to have enableShieldedNodes off"


def placement_policy(pool: Inputs, project: str, location: str) -> str:
    """Return the path of the resource policy that places a pool; empty when it names none."""
    name = (pool.get("placementPolicy") or {}).get("policyName")
    return reference(name, "resourcePolicies", project, region_of(location) or "") if name else ""


def _check_profile(zones: Sequence[str], cluster: Inputs) -> None:
    if len(zones) > 1:
        raise bad_request(_one_zone("accelerator networks lie", zones))
    if cluster.get("datapathProvider") != "ADVANCED_DATAPATH":
        raise bad_request(
            "an accelerator network profile needs GKE Dataplane V2: the cluster's datapathProvider has to be "
            "ADVANCED_DATAPATH, which cannot be changed later"
        )
    if cluster.get("enableMultiNetworking"):
        raise bad_request(
            "an accelerator network profile cannot be used in a cluster with multi-networking (enableMultiNetworking)"
        )


def _check_networks(wanted: Sequence[Inputs], cluster: Record, simulation: Simulation) -> None:
    """Networks beside the cluster's are multi-networking's, and have to be there, each with its subnetwork."""
    if wanted and not cluster.inputs.get("enableMultiNetworking"):
        raise bad_request(
            "additional node networks need a cluster with multi-networking (enableMultiNetworking) and GKE Dataplane V2"
        )
    places = (("network", "networks", NETWORK, ""), ("subnetwork", "subnetworks", SUBNETWORK, cluster.location))
    for entry in wanted:
        for key, collection, kind, location in places:
            path = reference(str(entry.get(key, "")), collection, cluster.project, region_of(location) or "")
            if simulation.ledger.find(kind, path) is None:
                raise not_found(f"The resource '{path}' was not found")


def _check_network_rights(project: str, simulation: Simulation) -> None:
    """Google's guide to the managed DRANET (2026) asks for the role; the words: terraform-provider-google#8262."""
    agent, needed = read_inventory(simulation).gke_service_agent, "compute.networks.create"
    if not any(grants(role, needed) for role in roles_of(f"serviceAccount:{agent}", simulation)):
        raise CloudError(
            f"googleapi: Error 403: Google Compute Engine: Required '{needed}' permission for "
            f"'projects/{project}/global/networks'., forbidden (GKE makes the accelerator networks as {agent}, which "
            "needs roles/compute.networkAdmin)"
        )


def _machine(inputs: Inputs) -> Machine | None:
    return machine((inputs.get("nodeConfig") or {}).get("machineType", DEFAULT_MACHINE))


def _one_zone(what: str, zones: Sequence[str]) -> str:
    return f"{what} in one zone: a node pool has exactly one of nodeLocations, not {', '.join(sorted(zones))}"


def _needs_policy(made: Machine, domain: Domain) -> str:
    return (
        f"{made.name} needs a placement policy whose workload policy is HIGH_THROUGHPUT with accelerator topology "
        f"{domain.topology}"
    )


def _what_it_is(policy: Record | None) -> str:
    if policy is None:
        return "the pool names no policy (placementPolicy.policyName)"
    if workload := policy.inputs.get("workloadPolicy"):
        topology = workload.get("acceleratorTopology", "no accelerator topology")
        return f"'{policy.id}' has {workload['type']} and {topology}"
    return f"'{policy.id}' is a group placement policy"
