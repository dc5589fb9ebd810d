"""Node objects as GKE's instances register them: names, labels, taints, and what the machine has.

Labels are those of real GKE nodes of 2024 to 2026; none that other software sets, such as NVIDIA's feature discovery.
Annotations ``sandbox.beamline.dev/*`` are the simulation's own: the simulated kubelets read from them when the node is
up and what it then reports.
"""

import ipaddress
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from beamline.sandbox.cloud.allocatable import node_resources
from beamline.sandbox.cloud.machines import Machine, machine, region_of
from beamline.sandbox.cloud.names import hashed, last
from beamline.sandbox.cloud.reservations import topology_labels

__all__ = [
    "GPU_TAINT",
    "PROFILE_LABEL",
    "NodeTemplate",
    "architecture_taint",
    "desired_nodes",
    "has_own_driver",
    "labels",
    "node_metadata",
    "taints",
]

GPU_TAINT = {"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}
PROFILE_LABEL = "gke.networks.io/accelerator-network-profile"
_USUAL_ARCHITECTURE = "amd64"
_DEFAULT_BOOT_DISK_GB = 100
_DEFAULT_MAX_PODS = 110

_EFFECTS = {"NO_SCHEDULE": "NoSchedule", "PREFER_NO_SCHEDULE": "PreferNoSchedule", "NO_EXECUTE": "NoExecute"}
_NAME_PARTS = 32
"""Characters that GKE leaves for cluster and pool in a node's name; the cluster's is cut."""
_RECREATING = (
    "machineType", "diskType", "diskSizeGb", "bootDisk", "imageType", "kubeletConfig", "linuxNodeConfig", "gcfsConfig",
    "gvnic", "containerdConfig", "workloadMetadataConfig", "tags", "loggingVariant",
)  # fmt: skip
"""Parts of nodeConfig that GKE changes by making new instances."""


@dataclass(frozen=True)
class NodeTemplate:
    """What all nodes of a pool have in common."""

    cluster: str
    pool: str
    pool_id: str
    created: str
    project: str
    version: str
    config: Mapping[str, Any]
    machine: Machine
    max_pods: int
    private: bool
    identity: bool
    """The cluster has Workload Identity and the pool serves its metadata."""
    taints: tuple[Mapping[str, str], ...]
    """The pool's taints and GKE's own, in the words of GKE's API."""
    reservation: str
    """Path of the reservation that the pool consumes; empty: none by name."""
    network_profile: str

    @classmethod
    def of(
        cls, pool: Mapping[str, Any], *, pool_id: str, created: str, cluster: Mapping[str, Any], project: str,
        version: str, taints: Sequence[Mapping[str, str]], reservation: str,
    ) -> "NodeTemplate":  # fmt: skip
        """Build the template from a pool's and its cluster's inputs."""
        config = pool.get("nodeConfig") or {}
        found = machine(config.get("machineType", "e2-medium"))
        if found is None:
            raise KeyError(config["machineType"])
        private = (pool.get("networkConfig") or {}).get("enablePrivateNodes")
        if private is None:
            private = (cluster.get("privateClusterConfig") or {}).get("enablePrivateNodes", False)
        return cls(
            cluster=cluster["name"],
            pool=pool["name"],
            pool_id=pool_id,
            created=created,
            project=project,
            version=version,
            config=config,
            machine=found,
            max_pods=pool.get("maxPodsPerNode") or cluster.get("defaultMaxPodsPerNode") or _DEFAULT_MAX_PODS,
            private=bool(private),
            identity=bool(cluster.get("workloadIdentityConfig"))
            and (config.get("workloadMetadataConfig") or {}).get("mode", "GKE_METADATA") == "GKE_METADATA",
            taints=tuple(taints),
            reservation=reservation,
            network_profile=(pool.get("networkConfig") or {}).get("acceleratorNetworkProfile", ""),
        )


def desired_nodes(template: NodeTemplate, counts: Mapping[str, int]) -> dict[str, str]:
    """Return node name to zone for so many nodes per zone.

    Names are the same at every call, so that a process that was killed half-way is continued by the next one; they
    change with whatever makes GKE replace the instances.
    """
    pool = template.pool[: _NAME_PARTS - 8]
    cluster = template.cluster[: _NAME_PARTS - len(pool)].rstrip("-")
    base = f"gke-{cluster}-{pool}"
    seed = json.dumps([template.pool_id, template.created], sort_keys=True)
    generation = json.dumps([template.version, {k: template.config.get(k) for k in _RECREATING}], sort_keys=True)
    return {
        f"{base}-{hashed(seed, 8)}-{hashed(f'{seed}{generation}{zone}{index}', 4)}": zone
        for zone, count in counts.items()
        for index in range(count)
    }


def node_metadata(template: NodeTemplate, name: str, zone: str, taken: Iterable[str], subnet: str) -> dict[str, Any]:
    """Return the Node object to create. ``taken`` are addresses in use, ``subnet`` the nodes' range."""
    resources = node_resources(
        template.machine,
        boot_disk_gib=_boot_disk(template.config)[1],
        ephemeral_ssds=_ephemeral_ssds(template),
        max_pods=template.max_pods,
        hugepages=_hugepages(template.config),
    )
    family = template.machine.family
    annotations = {
        "kwok.x-k8s.io/node": "fake",
        "sandbox.beamline.dev/simulated": "true",
        "sandbox.beamline.dev/boot-s": f"{family.boot_s:g}",
        "sandbox.beamline.dev/capacity": json.dumps(resources.capacity, sort_keys=True),
        "sandbox.beamline.dev/allocatable": json.dumps(resources.allocatable, sort_keys=True),
    }
    if template.machine.gpus and has_own_driver(template.config):
        annotations["sandbox.beamline.dev/driver-s"] = f"{family.driver_s:g}"
    return {
        "metadata": {"name": name, "labels": labels(template, name, zone), "annotations": annotations},
        "spec": {"providerID": f"gce://{template.project}/{zone}/{name}", "taints": taints(template)},
        "status": {
            "addresses": [
                {"type": "InternalIP", "address": _free_address(subnet, set(taken))},
                {"type": "Hostname", "address": name},
            ],
            "nodeInfo": _node_info(template),
        },
    }


def labels(template: NodeTemplate, name: str, zone: str) -> dict[str, str]:
    """Return the labels GKE gives a node, and the pool's own."""
    made, config, region = template.machine, template.config, region_of(zone) or ""
    provisioning = "spot" if config.get("spot") else "preemptible" if config.get("preemptible") else "standard"
    found = {
        "beta.kubernetes.io/arch": made.family.arch,
        "beta.kubernetes.io/instance-type": made.name,
        "beta.kubernetes.io/os": "linux",
        "cloud.google.com/gke-boot-disk": _boot_disk(config)[0],
        "cloud.google.com/gke-container-runtime": "containerd",
        "cloud.google.com/gke-cpu-scaling-level": str(made.vcpus),
        "cloud.google.com/gke-logging-variant": config.get("loggingVariant", "DEFAULT"),
        "cloud.google.com/gke-max-pods-per-node": str(template.max_pods),
        "cloud.google.com/gke-memory-gb-scaling-level": str(made.memory_gib),
        "cloud.google.com/gke-nodepool": template.pool,
        "cloud.google.com/gke-os-distribution": "ubuntu" if "UBUNTU" in config.get("imageType", "") else "cos",
        "cloud.google.com/gke-provisioning": provisioning,
        "cloud.google.com/gke-stack-type": "IPV4",
        "cloud.google.com/machine-family": made.family.series,
        "cloud.google.com/private-node": str(template.private).lower(),
        "failure-domain.beta.kubernetes.io/region": region,
        "failure-domain.beta.kubernetes.io/zone": zone,
        "kubernetes.io/arch": made.family.arch,
        "kubernetes.io/hostname": name,
        "kubernetes.io/os": "linux",
        "node.kubernetes.io/instance-type": made.name,
        "topology.gke.io/zone": zone,
        "topology.kubernetes.io/region": region,
        "topology.kubernetes.io/zone": zone,
    }
    if provisioning != "standard":
        found[f"cloud.google.com/gke-{provisioning}"] = "true"
    if config.get("flexStart"):
        found["cloud.google.com/gke-flex-start"] = "true"
    if made.gpus:
        found["cloud.google.com/gke-accelerator"] = made.family.gpu
        driver = _driver(config)
        if driver in ("DEFAULT", "LATEST"):
            found["cloud.google.com/gke-gpu-driver-version"] = driver.lower()
    if made.family.nvlink_domain and template.reservation:
        found |= topology_labels(template.reservation, name)
    if template.network_profile:
        found[PROFILE_LABEL] = template.network_profile
    if _ephemeral_ssds(template):
        found["cloud.google.com/gke-ephemeral-storage-local-ssd"] = "true"
    if (config.get("localNvmeSsdBlockConfig") or {}).get("localSsdCount"):
        found["cloud.google.com/gke-local-nvme-ssd"] = "true"
    if template.identity:
        found["iam.gke.io/gke-metadata-server-enabled"] = "true"
    return found | (config.get("labels") or {})


def taints(template: NodeTemplate) -> list[dict[str, str]]:
    """Return the pool's taints and GKE's own, in Kubernetes' form."""
    return [
        {"key": taint["key"], "value": taint["value"], "effect": _EFFECTS[taint["effect"]]} for taint in template.taints
    ]


def architecture_taint(made: Machine, config: Mapping[str, Any]) -> dict[str, str] | None:
    """Return the taint that keeps pods for other processors away; None on the usual ones, or when it is off."""
    behavior = (config.get("taintConfig") or {}).get("architectureTaintBehavior")
    if made.family.arch == _USUAL_ARCHITECTURE or behavior == "NONE":
        return None
    return {"key": "kubernetes.io/arch", "value": made.family.arch, "effect": "NoSchedule"}


def has_own_driver(config: Mapping[str, Any]) -> bool:
    """Tell whether GKE installs the GPU driver (it does unless told not to)."""
    return _driver(config) != "INSTALLATION_DISABLED"


def _driver(config: Mapping[str, Any]) -> str:
    for accelerator in config.get("guestAccelerators") or []:
        installation = accelerator.get("gpuDriverInstallationConfig") or {}
        return str(installation.get("gpuDriverVersion", "DEFAULT"))
    return "DEFAULT"


def _boot_disk(config: Mapping[str, Any]) -> tuple[str, int]:
    block = config.get("bootDisk") or {}
    kind = config.get("diskType") or block.get("diskType") or "pd-balanced"
    return str(kind), int(config.get("diskSizeGb") or block.get("sizeGb") or _DEFAULT_BOOT_DISK_GB)


def _ephemeral_ssds(template: NodeTemplate) -> int:
    """Count the local SSDs behind ephemeral storage: those asked for, or those that come along and are not raw."""
    config = template.config
    block = config.get("ephemeralStorageLocalSsdConfig") or config.get("ephemeralStorageConfig") or {}
    raw = (config.get("localNvmeSsdBlockConfig") or {}).get("localSsdCount")
    return int(block.get("localSsdCount") or (0 if raw else template.machine.bundled_ssds))


def _hugepages(config: Mapping[str, Any]) -> dict[int, int]:
    """Return size in MiB to number of the pages set aside."""
    asked = (config.get("linuxNodeConfig") or {}).get("hugepagesConfig") or {}
    return {2: asked.get("hugepageSize2m", 0), 1024: asked.get("hugepageSize1g", 0)}


def _free_address(subnet: str, taken: set[str]) -> str:
    """Return the first address of the subnet that nobody has; Google keeps the first two and the last two."""
    hosts = ipaddress.ip_network(subnet).hosts()
    next(hosts)
    return next(str(host) for host in hosts if str(host) not in taken)


def _node_info(template: NodeTemplate) -> dict[str, str]:
    return {
        "architecture": template.machine.family.arch,
        "bootID": "",
        "containerRuntimeVersion": "",
        "kernelVersion": "",
        "kubeProxyVersion": "",
        "kubeletVersion": f"v{template.version}",
        "machineID": "",
        "operatingSystem": "linux",
        "osImage": "Container-Optimized OS from Google (simulated)",
        "systemUUID": last(template.pool_id),
    }
