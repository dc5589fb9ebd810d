"""The GPU nodes.

Decisions, and why:

- A fixed number of nodes in one zone. No autoscaler adds a node that costs tens of dollars an hour. Flex-start is the
  exception, because GKE allows it no other way: no node at first, one for each that pods ask for as Google has
  capacity, and no repair, since a node that is made anew would wait in the queue again.
- The driver is GKE's (``LATEST`` of the node version) and so is the device plugin; a second one would advertise each
  GPU twice. The driver setting cannot change in place.
- The taint is declared although GKE sets it: GKE leaves it out when a cluster has nothing but GPU pools, and never adds
  it later.
- Local SSD backs ephemeral storage, or is raw block for a file system of weights and KV tiers alone, which then cannot
  fill the disk that the kubelet watches. The machine type's own count is written out: left out, some attach none, and
  neither mode nor count can change in place.
- An upgrade takes a node away before it brings a new one (no surge): a spare accelerator node hardly ever exists.
- Image streaming is on only for images in Artifact Registry, because it does nothing for others, and for a disk with
  container images, which GKE attaches to nodes that have it alone.
- Machines that share an NVLink domain are placed by a workload policy, which belongs to the pool: it cannot change in
  place, and neither can its place. GKE wants ``COMPACT`` beside it.
- With an accelerator network profile GKE makes the networks between the nodes itself, if it may:
  ``components.accelerator_networks`` gives it the right, and comes first.
- Labels and huge pages are asked for when the pool is created, because node agents and drivers look for them at boot.

GPUs: https://cloud.google.com/kubernetes-engine/docs/how-to/gpus
Local SSD: https://cloud.google.com/kubernetes-engine/docs/how-to/persistent-volumes/local-ssd
Reservations: https://cloud.google.com/kubernetes-engine/docs/how-to/consuming-reservations
Accelerator networks: https://cloud.google.com/kubernetes-engine/docs/how-to/allocate-network-resources-dra
Workload policies: https://cloud.google.com/compute/docs/instance-groups/create-workload-policies
"""

from typing import Any, NotRequired, TypedDict

import pulumi
from pulumi_gcp import compute, container

from components.host_maintenance import HostMaintenance, host_maintenance_policy
from components.node_config import node_config, taints

__all__ = ["AcceleratorNodePool", "AcceleratorNodePoolArgs", "FlexStart", "WorkloadPolicy"]


_LOCAL_SSD = {"ephemeral": "ephemeral_storage_local_ssd_config", "raw_block": "local_nvme_ssd_block_config"}
_NO_RESERVATION = {"consume_reservation_type": "NO_RESERVATION"}


class WorkloadPolicy(TypedDict):
    """How Compute Engine places the nodes relative to each other."""

    type: str
    """HIGH_THROUGHPUT keeps them close."""
    accelerator_topology: str
    """What they form, for example 1x72: one NVLink domain of 72 GPUs."""


class FlexStart(TypedDict):
    """Nodes that come when pods ask for them and Google has capacity."""

    max_run_duration_s: int
    """Seconds after which a node is taken away, at most 604800 (seven days)."""


class AcceleratorNodePoolArgs(TypedDict):
    """Nodes of one accelerator machine type."""

    prefix: str
    """Start of the pool's name in the cloud."""
    pool: str
    """The rest of it: prefix-pool is the name, at most 40 characters."""
    project: str
    """Google Cloud project id."""
    region: str
    """Where the cluster's control plane runs."""
    zone: str
    """The one zone of the nodes."""
    cluster: pulumi.Input[str]
    """Name of the cluster."""
    service_account: pulumi.Input[str]
    """E-mail of the nodes' service account."""
    version: str
    """Exact version of the nodes, x.y.z-gke.n."""
    machine_type: str
    """For example g4-standard-384."""
    accelerator_type: str
    """For example nvidia-rtx-pro-6000."""
    accelerators_per_node: int
    """GPUs of the machine type."""
    taints: list[str]
    """Taints that GKE sets on these nodes, as key=value:Effect."""
    labels: dict[str, str]
    """Labels of the nodes beyond GKE's own."""
    shielded_nodes: bool
    """Whether the machines have a virtual TPM for verified boot; bare metal has none."""
    gvnic: bool
    """Whether their network card is gVNIC; false leaves its driver to GKE."""
    hugepages_2mi: int
    """Huge pages of 2 MiB that the kernel of each node sets aside at boot; 0: none."""
    workload_policy: NotRequired[WorkloadPolicy]
    """How the nodes are placed; left out, wherever the zone has room."""
    accelerator_network_profile: NotRequired[str]
    """Networks that GKE makes between the accelerators, for example auto; left out, none."""
    nodes: int
    """Number of nodes; with flex-start the most there will be."""
    boot_disk_type: str
    """A disk type the machine type can boot from."""
    boot_disk_gb: int
    """Size of the boot disk in GB."""
    local_ssd_count: int
    """Local SSDs of the machine type."""
    local_ssd_mode: str
    """ephemeral: they hold pods' ephemeral storage; raw_block: disks without a file system."""
    max_pods_per_node: int
    """Decides how many pod addresses a node takes."""
    spot: bool
    """Preemptible capacity."""
    flex_start: NotRequired[FlexStart]
    """Nodes from none up, as capacity comes; left out, all of them at once."""
    reservation: NotRequired[str]
    """Name of the reservation the nodes come from."""
    host_maintenance: NotRequired[HostMaintenance]
    """When Google may maintain the machines; left out, as it does for the type. It cannot change in place."""
    auto_repair: bool
    """Whether GKE makes an unhealthy node anew; flex-start allows none."""
    image_streaming: bool
    """Start containers before their image is complete (Artifact Registry only); an image disk needs it on."""
    image_disk: NotRequired[str]
    """Disk image with container images that each node gets as a second boot disk; left out, images are pulled."""
    node_budget_s: int
    """Seconds one node may take to be created, or to be drained and deleted."""
    encryption_key: NotRequired[str]
    """Key of Cloud KMS for boot disks, in the pool's region; left out, Google's own."""
    protected: bool
    """Refuse to delete or replace the pool: its capacity may be gone afterwards."""


class AcceleratorNodePool(pulumi.ComponentResource):
    """One node pool with GPUs."""

    name: pulumi.Output[str]
    """Name of the pool."""

    def __init__(self, name: str, args: AcceleratorNodePoolArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("beamline:cluster:AcceleratorNodePool", name, None, opts)
        budget_s = args["node_budget_s"]
        pool = container.NodePool(
            f"{name}-pool",
            name=f"{args['prefix']}-{args['pool']}",
            project=args["project"],
            location=args["region"],
            node_locations=[args["zone"]],
            cluster=args["cluster"],
            version=args["version"],
            **_size(args),
            max_pods_per_node=args["max_pods_per_node"],
            management={"auto_repair": args["auto_repair"], "auto_upgrade": True},
            upgrade_settings={"strategy": "SURGE", "max_surge": 0, "max_unavailable": 1},
            network_config=_network_config(args),
            placement_policy=self._placement(name, args),
            node_config={
                **node_config(
                    args["service_account"],
                    shielded=args["shielded_nodes"],
                    gvnic=args["gvnic"],
                    encryption_key=args.get("encryption_key"),
                ),
                **_machine(args),
                **_capacity(args),
                "taints": taints(args["taints"]),
            },
            opts=pulumi.ResourceOptions(
                parent=self,
                protect=args["protected"] or None,
                delete_before_replace=True,  # there is no capacity for both
                ignore_changes=["initialNodeCount", "nodeConfig.resourceLabels"],  # GKE fills them in
                custom_timeouts=pulumi.CustomTimeouts(
                    create=f"{budget_s}s",
                    update=f"{budget_s * args['nodes']}s",  # one node after the other
                    delete=f"{budget_s}s",
                ),
            ),
        )
        self.name = pool.name
        self.register_outputs({"name": self.name})

    def _placement(self, name: str, args: AcceleratorNodePoolArgs) -> dict[str, Any] | None:
        wanted = args.get("workload_policy")
        if wanted is None:
            return None
        policy = compute.ResourcePolicy(
            f"{name}-placement",
            name=f"{args['prefix']}-{args['pool']}",
            project=args["project"],
            region=args["region"],
            workload_policy={"type": wanted["type"], "accelerator_topology": wanted["accelerator_topology"]},
            opts=pulumi.ResourceOptions(parent=self, delete_before_replace=True),  # the name can be taken only once
        )
        return {"type": "COMPACT", "policy_name": policy.name}


def _size(args: AcceleratorNodePoolArgs) -> dict[str, Any]:
    if "flex_start" not in args:
        return {"node_count": args["nodes"]}
    return {"autoscaling": {"total_min_node_count": 0, "total_max_node_count": args["nodes"], "location_policy": "ANY"}}


def _network_config(args: AcceleratorNodePoolArgs) -> dict[str, Any]:
    profile = args.get("accelerator_network_profile")
    return {"enable_private_nodes": True, **({"accelerator_network_profile": profile} if profile else {})}


def _machine(args: AcceleratorNodePoolArgs) -> dict[str, Any]:
    machine: dict[str, Any] = {
        "machine_type": args["machine_type"],
        "disk_type": args["boot_disk_type"],
        "disk_size_gb": args["boot_disk_gb"],
        "guest_accelerators": [
            {
                "type": args["accelerator_type"],
                "count": args["accelerators_per_node"],
                "gpu_driver_installation_config": {"gpu_driver_version": "LATEST"},
            }
        ],
        "gcfs_config": {"enabled": args["image_streaming"]},
    }
    if args["local_ssd_count"]:
        machine[_LOCAL_SSD[args["local_ssd_mode"]]] = {"local_ssd_count": args["local_ssd_count"]}
    if "image_disk" in args:
        machine["secondary_boot_disks"] = [{"disk_image": args["image_disk"], "mode": "CONTAINER_IMAGE_CACHE"}]
    if args["labels"]:
        machine["labels"] = args["labels"]
    if "host_maintenance" in args:
        machine["host_maintenance_policy"] = host_maintenance_policy(args["host_maintenance"])
    if args["hugepages_2mi"]:
        machine["linux_node_config"] = {"hugepages_config": {"hugepage_size2m": args["hugepages_2mi"]}}
    return machine


def _capacity(args: AcceleratorNodePoolArgs) -> dict[str, Any]:
    """Where the nodes come from; on demand, Compute Engine also takes reservations that are open to everyone."""
    reservation = args.get("reservation")
    if reservation:
        return {
            "reservation_affinity": {
                "consume_reservation_type": "SPECIFIC_RESERVATION",
                "key": "compute.googleapis.com/reservation-name",
                "values": [reservation],
            }
        }
    flex_start = args.get("flex_start")
    if flex_start:
        return {
            "flex_start": True,
            "max_run_duration": f"{flex_start['max_run_duration_s']}s",
            "reservation_affinity": _NO_RESERVATION,
        }
    if args["spot"]:
        return {"spot": True, "reservation_affinity": _NO_RESERVATION}
    return {}
