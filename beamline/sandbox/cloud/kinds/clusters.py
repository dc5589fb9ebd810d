"""GKE clusters. The sandbox has one API server, so there is room for one."""

import base64
import ipaddress
import re
from collections.abc import Iterator
from typing import Any

from typing_extensions import override

from beamline.sandbox.cloud.access import grants, roles_of
from beamline.sandbox.cloud.control_plane import install, remove_everything
from beamline.sandbox.cloud.errors import CloudError, already_exists, bad_request, not_found
from beamline.sandbox.cloud.inventory import read_inventory
from beamline.sandbox.cloud.kinds.base import Identity, Inputs, Kind
from beamline.sandbox.cloud.kinds.cluster_settings import setting_problems
from beamline.sandbox.cloud.kinds.compute import (
    CLUSTER,
    NETWORK,
    SUBNETWORK,
    network_of,
    subnetwork_ranges,
)
from beamline.sandbox.cloud.kinds.fabrics import shielded_nodes_problem
from beamline.sandbox.cloud.kinds.identities import check_account
from beamline.sandbox.cloud.kinds.keys import check_boot_disk_key, check_secrets_key
from beamline.sandbox.cloud.kinds.node_configs import node_config_problems
from beamline.sandbox.cloud.ledger import Record
from beamline.sandbox.cloud.machines import region_of, zone_names
from beamline.sandbox.cloud.names import hashed, project_problem, reference, self_link
from beamline.sandbox.cloud.schema import Failure
from beamline.sandbox.cloud.simulation import Simulation
from beamline.sandbox.cloud.versions import SERVED_MINORS, GkeVersion

__all__ = ["NODE_POOL", "Cluster", "cluster_zones", "gke_name_problem", "version_problem", "zone_failures"]

NODE_POOL = "gcp:container/nodePool:NodePool"

_NAME = re.compile(r"[a-z]([-a-z0-9]{0,38}[a-z0-9])?")


class Cluster(Kind):
    """A Standard cluster."""

    token = CLUSTER
    title = "Cluster"
    create_s, update_s, delete_s = 480, 180, 240
    computed = (
        "clusterIpv4Cidr", "controlPlaneEndpointsConfig.dnsEndpointConfig.endpoint", "effectiveLabels", "endpoint",
        "labelFingerprint", "location", "masterAuth.clientCertificate", "masterAuth.clientKey",
        "masterAuth.clusterCaCertificate", "masterVersion", "nodeLocations", "nodeVersion", "operation", "project",
        "pulumiLabels", "selfLink", "servicesIpv4Cidr",
    )  # fmt: skip

    @override
    def identify(self, inputs: Inputs, simulation: Simulation) -> Identity:
        project = inputs.get("project") or simulation.project
        location = inputs.get("location") or simulation.region or simulation.zone
        return Identity(
            f"projects/{project}/locations/{location}/clusters/{inputs['name']}", project, location, inputs["name"]
        )

    @override
    def problems(self, inputs: Inputs, simulation: Simulation) -> Iterator[Failure]:
        if reason := gke_name_problem(inputs.get("name", "")):
            yield Failure("name", reason)
        if reason := project_problem(inputs.get("project") or simulation.project):
            yield Failure("project", reason)
        location = inputs.get("location") or simulation.region or simulation.zone
        if region_of(location) is None:
            yield Failure("location", f'Location "{location}" does not exist.')
        else:
            yield from zone_failures(inputs, location)
        if inputs.get("enableAutopilot"):
            yield Failure("enableAutopilot", "the simulated cloud knows Standard clusters only")
        if inputs.get("nodePools"):
            yield Failure("nodePools", "the simulated cloud knows node pools as resources of their own only")
        elif not inputs.get("initialNodeCount"):
            yield Failure(
                "initialNodeCount",
                "googleapi: Error 400: Cluster.initial_node_count must be greater than zero., badRequest",
            )
        if not inputs.get("removeDefaultNodePool"):
            yield Failure("removeDefaultNodePool", "the simulated cloud keeps no default node pool: set it to true")
        if reason := version_problem(inputs.get("minMasterVersion"), "Master"):
            yield Failure("minMasterVersion", reason)
        yield from setting_problems(inputs, simulation)
        zones = cluster_zones(inputs, location) if region_of(location) else []
        for failure in node_config_problems(inputs.get("nodeConfig") or {}, zones):
            yield Failure(f"nodeConfig.{failure.path}", failure.reason)

    @override
    def before_create(self, identity: Identity, inputs: Inputs, simulation: Simulation) -> None:
        for other in simulation.ledger.of_type(CLUSTER):
            if other.id != identity.id:
                raise CloudError(
                    f"a sandbox has one Kubernetes API and so room for one GKE cluster; it has {other.id} already"
                )
        network = reference(inputs.get("network") or "default", "networks", identity.project)
        if simulation.ledger.find(NETWORK, network) is None:
            raise not_found(f'Not found: project "{identity.project}" does not have network "{network}".')
        region = region_of(identity.location) or ""
        subnetwork = _subnetwork(inputs, identity.project, region, network, simulation)
        ranges = subnetwork_ranges(subnetwork)
        policy = inputs.get("ipAllocationPolicy") or {}
        for key in ("clusterSecondaryRangeName", "servicesSecondaryRangeName"):
            name = policy.get(key)
            if name is not None and name not in ranges:
                raise bad_request(
                    f'Secondary range "{name}" does not exist in network "{network}", subnetwork "{subnetwork.id}".'
                )
        _refuse_overlap(inputs, ranges, subnetwork)
        _check_offered(inputs, identity.location, simulation)
        _check_agent(network, simulation)
        if account := (inputs.get("nodeConfig") or {}).get("serviceAccount"):
            check_account(account, simulation)
        check_secrets_key((inputs.get("databaseEncryption") or {}).get("keyName"), simulation)
        check_boot_disk_key((inputs.get("nodeConfig") or {}).get("bootDiskKmsKey"), simulation)

    @override
    def exists_already(self, identity: Identity) -> CloudError:
        return already_exists(f"Already exists: {identity.id}.")

    @override
    def before_update(self, record: Record, inputs: Inputs, simulation: Simulation) -> None:
        wanted = inputs.get("minMasterVersion")
        current = GkeVersion.parse(record.outputs["masterVersion"])
        if wanted and GkeVersion.parse(wanted) > current and GkeVersion.parse(wanted).minor > current.minor + 1:
            raise bad_request(f'Master cannot be upgraded to "{wanted}": one minor version at a time.')
        if wanted and wanted != record.inputs.get("minMasterVersion") and GkeVersion.parse(wanted) > current:
            _check_offered(inputs, record.location, simulation)
        check_secrets_key((inputs.get("databaseEncryption") or {}).get("keyName"), simulation)
        for pool in simulation.ledger.of_type(NODE_POOL, under=f"{record.id}/"):
            if reason := shielded_nodes_problem(pool.inputs, inputs):
                raise bad_request(reason)

    @override
    def outputs(self, record: Record, simulation: Simulation) -> dict[str, Any]:
        inputs, region = record.inputs, region_of(record.location) or ""
        network = reference(inputs.get("network") or "default", "networks", record.project)
        policy = inputs.get("ipAllocationPolicy") or {}
        subnetwork = simulation.ledger.find(SUBNETWORK, _subnetwork_path(inputs, record.project, region))
        ranges = subnetwork_ranges(subnetwork) if subnetwork else {}
        version = _master_version(record, simulation)
        labels = inputs.get("resourceLabels") or {}
        endpoints = inputs.get("controlPlaneEndpointsConfig") or {}
        dns = {**(endpoints.get("dnsEndpointConfig") or {}), "endpoint": simulation.cluster.endpoint}
        return {
            "clusterIpv4Cidr": ranges.get(policy.get("clusterSecondaryRangeName", ""), ""),
            "controlPlaneEndpointsConfig": {**endpoints, "dnsEndpointConfig": dns},
            "effectiveLabels": {**labels, "goog-pulumi-provisioned": "true"},
            "endpoint": simulation.cluster.endpoint,
            "labelFingerprint": hashed(repr(sorted(labels.items())), 8),
            "location": record.location,
            "masterAuth": {**(inputs.get("masterAuth") or {}), **_certificates(simulation)},
            "masterVersion": version,
            "network": network,
            "nodeLocations": cluster_zones(inputs, record.location),
            "nodeVersion": inputs.get("nodeVersion", version),
            "operation": "",
            "project": record.project,
            "pulumiLabels": labels,
            "selfLink": self_link(record.id).replace("www.googleapis.com/compute", "container.googleapis.com"),
            "servicesIpv4Cidr": ranges.get(policy.get("servicesSecondaryRangeName", ""), ""),
            "subnetwork": _subnetwork_path(inputs, record.project, region),
        }

    @override
    def settle(self, record: Record, simulation: Simulation) -> dict[str, Any]:
        install(simulation, record.inputs, GkeVersion.parse(_master_version(record, simulation)))
        return {}

    @override
    def before_delete(self, record: Record, simulation: Simulation) -> None:
        if record.inputs.get("deletionProtection", True):
            raise CloudError(
                "Cannot destroy cluster because deletion_protection is set to true. "
                "Set it to false to proceed with cluster deletion."
            )

    @override
    def remove(self, record: Record, simulation: Simulation) -> None:
        remove_everything(simulation)
        for pool in simulation.ledger.of_type(NODE_POOL, under=f"{record.id}/"):
            simulation.ledger.remove(NODE_POOL, pool.id)


def gke_name_problem(name: str) -> str:
    """Say why GKE would refuse a cluster's or pool's name; empty when it would not."""
    if _NAME.fullmatch(name):
        return ""
    return f"{name!r}: at most 40 lower-case letters, digits and hyphens, starting with a letter, ending with no hyphen"


def version_problem(version: str | None, of: str) -> str:
    """Say why GKE would refuse a version; empty when it would not, or when none is given."""
    if version is None:
        return ""
    try:
        found = GkeVersion.parse(version)
    except ValueError as error:
        return f"{error}; the simulated cloud resolves no aliases"
    if (found.major, found.minor) not in SERVED_MINORS:
        return f'googleapi: Error 400: {of} version "{version}" is unsupported., badRequest'
    return ""


def cluster_zones(inputs: Inputs, location: str) -> list[str]:
    """Return the zones of a cluster's nodes."""
    region = region_of(location)
    if region is None:
        return []
    named = sorted(inputs.get("nodeLocations") or [])
    if location != region:
        return sorted({location, *named})
    return named or zone_names(region)[:3]


def zone_failures(inputs: Inputs, location: str) -> Iterator[Failure]:
    """Yield the node locations that are not in the region of the cluster."""
    region = region_of(location)
    for index, zone in enumerate(inputs.get("nodeLocations") or []):
        if region_of(zone) != region or zone == region:
            yield Failure(f"nodeLocations[{index}]", f'Location "{zone}" is not a zone of region "{region}".')


def _subnetwork_path(inputs: Inputs, project: str, region: str) -> str:
    return reference(inputs.get("subnetwork") or "default", "subnetworks", project, region)


def _subnetwork(inputs: Inputs, project: str, region: str, network: str, simulation: Simulation) -> Record:
    path = _subnetwork_path(inputs, project, region)
    found = simulation.ledger.find(SUBNETWORK, path)
    if found is None or found.location != region or network_of(found) != network:
        raise not_found(f'Not found: project "{project}" does not have subnetwork "{path}" in network "{network}".')
    return found


def _refuse_overlap(inputs: Inputs, ranges: dict[str, str], subnetwork: Record) -> None:
    block = (inputs.get("privateClusterConfig") or {}).get("masterIpv4CidrBlock")
    if block is None:
        return
    for taken in [subnetwork.inputs["ipCidrRange"], *ranges.values()]:
        if ipaddress.ip_network(block).overlaps(ipaddress.ip_network(taken)):
            raise bad_request(f"Conflicting IP cidr range: {block} conflicts with {taken} of '{subnetwork.name}'.")


def _channel(inputs: Inputs) -> str:
    return str((inputs.get("releaseChannel") or {}).get("channel", "REGULAR"))


def _check_offered(inputs: Inputs, location: str, simulation: Simulation) -> None:
    """Refuse a control plane's version that is not offered.

    The words for channels are in the error list of GoogleCloudPlatform/cluster-toolkit (2026).
    """
    wanted, channel, inventory = inputs.get("minMasterVersion"), _channel(inputs), read_inventory(simulation)
    if wanted is None or inventory.offers(GkeVersion.parse(wanted), channel, location):
        return
    row = inventory.offered(channel, location)
    if channel == "UNSPECIFIED" or row is None:
        raise bad_request(f'Master version "{wanted}" is unsupported.')
    raise bad_request(
        f'Master version must be one of "{channel}" channel supported versions [{", ".join(row.masters)}].'
    )


def _check_agent(network: str, simulation: Simulation) -> None:
    """Refuse a cluster whose service agent has lost its role (hashicorp/terraform-provider-google#8262)."""
    agent = read_inventory(simulation).gke_service_agent
    needed = "compute.networks.get"
    if not any(grants(role, needed) for role in roles_of(f"serviceAccount:{agent}", simulation)):
        raise CloudError(
            f"googleapi: Error 403: Google Compute Engine: Required '{needed}' permission for '{network}'., forbidden "
            f"({agent} needs roles/container.serviceAgent)"
        )


def _master_version(record: Record, simulation: Simulation) -> str:
    """A control plane is never older than it was, and at least what is asked for; else its channel's default."""
    known = [record.outputs.get("masterVersion"), record.inputs.get("minMasterVersion")]
    versions = [version for version in known if version]
    if not versions:
        row = read_inventory(simulation).offered(_channel(record.inputs), record.location)
        if row is None:
            raise CloudError(f"the simulated project has no versions for {record.location}: see project.yaml")
        versions = [row.default]
    return str(max(GkeVersion.parse(version) for version in versions))


def _certificates(simulation: Simulation) -> dict[str, str]:
    try:
        authority = base64.b64encode(simulation.cluster.ca_file.read_bytes()).decode()
    except OSError as error:
        raise CloudError(
            f"the sandbox's certificate {simulation.cluster.ca_file} cannot be read: {error.strerror}"
        ) from error
    return {"clientCertificate": "", "clientKey": "", "clusterCaCertificate": authority}
