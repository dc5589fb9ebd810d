"""Inputs of every resource type as the kit's components write them, and how to make changed copies."""

from __future__ import annotations

import copy
from typing import Any

from beamline.sandbox.cloud.operations import Operations
from stacks.cloud import SANDBOX_PROJECT as PROJECT

REGION, ZONE, VERSION = "us-central1", "us-central1-b", "1.35.8-gke.1036000"
NETWORK, SUBNETWORK = "gcp:compute/network:Network", "gcp:compute/subnetwork:Subnetwork"
ROUTER, NAT = "gcp:compute/router:Router", "gcp:compute/routerNat:RouterNat"
FIREWALL = "gcp:compute/firewall:Firewall"
ADDRESS, GLOBAL_ADDRESS = "gcp:compute/address:Address", "gcp:compute/globalAddress:GlobalAddress"
ACCOUNT, ACCOUNT_MEMBER = "gcp:serviceaccount/account:Account", "gcp:serviceaccount/iAMMember:IAMMember"
PROJECT_MEMBER = "gcp:projects/iAMMember:IAMMember"
BUCKET, BUCKET_MEMBER = "gcp:storage/bucket:Bucket", "gcp:storage/bucketIAMMember:BucketIAMMember"
SECRET_MEMBER = "gcp:secretmanager/secretIamMember:SecretIamMember"
REPOSITORY_MEMBER = "gcp:artifactregistry/repositoryIamMember:RepositoryIamMember"
KEY_MEMBER = "gcp:kms/cryptoKeyIAMMember:CryptoKeyIAMMember"
KEY = "projects/my-keys/locations/us-central1/keyRings/beam/cryptoKeys/beam"
POLICY = "gcp:compute/resourcePolicy:ResourcePolicy"
CLUSTER, POOL = "gcp:container/cluster:Cluster", "gcp:container/nodePool:NodePool"

NETWORK_ID = f"projects/{PROJECT}/global/networks/beam"
NODES_ID = f"projects/{PROJECT}/regions/{REGION}/subnetworks/beam-nodes"
CLUSTER_ID = f"projects/{PROJECT}/locations/{REGION}/clusters/beam"
EMAIL = f"beam-nodes@{PROJECT}.iam.gserviceaccount.com"
ACCOUNT_ID = f"projects/{PROJECT}/serviceAccounts/{EMAIL}"
IDENTITY = f"serviceAccount:{PROJECT}.svc.id.goog[serving/seed]"

GOOD: dict[str, tuple[str, dict[str, Any]]] = {
    "network": (NETWORK, {"name": "beam", "autoCreateSubnetworks": False, "mtu": 8896, "routingMode": "REGIONAL"}),
    "nodes": (
        SUBNETWORK,
        {
            "name": "beam-nodes",
            "region": REGION,
            "network": NETWORK_ID,
            "ipCidrRange": "10.0.0.0/22",
            "privateIpGoogleAccess": True,
            "secondaryIpRanges": [
                {"rangeName": "pods", "ipCidrRange": "10.4.0.0/18"},
                {"rangeName": "services", "ipCidrRange": "10.8.0.0/22"},
            ],
        },
    ),
    "proxies": (
        SUBNETWORK,
        {
            "name": "beam-proxy-only",
            "region": REGION,
            "network": NETWORK_ID,
            "ipCidrRange": "10.9.0.0/23",
            "purpose": "REGIONAL_MANAGED_PROXY",
            "role": "ACTIVE",
        },
    ),
    "router": (ROUTER, {"name": "beam-router", "region": REGION, "network": NETWORK_ID}),
    "nat": (
        NAT,
        {
            "name": "beam-nat",
            "region": REGION,
            "router": "beam-router",
            "natIpAllocateOption": "AUTO_ONLY",
            "sourceSubnetworkIpRangesToNat": "LIST_OF_SUBNETWORKS",
            "subnetworks": [{"name": NODES_ID, "sourceIpRangesToNats": ["ALL_IP_RANGES"]}],
            "enableDynamicPortAllocation": True,
            "minPortsPerVm": 256,
        },
    ),
    "firewall": (
        FIREWALL,
        {
            "name": "beam-health",
            "network": NETWORK_ID,
            "allows": [{"protocol": "tcp", "ports": ["8000"]}],
            "sourceRanges": ["130.211.0.0/22", "35.191.0.0/16"],
        },
    ),
    "address": (ADDRESS, {"name": "beam-address", "region": REGION}),
    "global address": (GLOBAL_ADDRESS, {"name": "beam-global"}),
    "policy": (
        POLICY,
        {
            "name": "beam-domain",
            "region": REGION,
            "workloadPolicy": {"type": "HIGH_THROUGHPUT", "acceleratorTopology": "1x72"},
        },
    ),
    "account": (ACCOUNT, {"accountId": "beam-nodes", "displayName": "Nodes of beam"}),
    "role": (
        PROJECT_MEMBER,
        {"project": PROJECT, "role": "roles/container.defaultNodeServiceAccount", "member": f"serviceAccount:{EMAIL}"},
    ),
    "bucket": (BUCKET, {"name": "beam-weights", "location": "US-CENTRAL1", "uniformBucketLevelAccess": True}),
    "bucket role": (
        BUCKET_MEMBER,
        {"bucket": "beam-weights", "role": "roles/storage.objectViewer", "member": f"serviceAccount:{EMAIL}"},
    ),
    "secret role": (
        SECRET_MEMBER,
        {"secretId": "hf-token", "role": "roles/secretmanager.secretAccessor", "member": f"serviceAccount:{EMAIL}"},
    ),
    "key role": (
        KEY_MEMBER,
        {
            "cryptoKeyId": KEY,
            "role": "roles/cloudkms.cryptoKeyEncrypterDecrypter",
            "member": "serviceAccount:service-100000000001@container-engine-robot.iam.gserviceaccount.com",
        },
    ),
    "registry role": (
        REPOSITORY_MEMBER,
        {
            "project": "my-images",
            "location": REGION,
            "repository": "mirror",
            "role": "roles/artifactregistry.reader",
            "member": f"serviceAccount:{EMAIL}",
        },
    ),
    "cluster": (
        CLUSTER,
        {
            "name": "beam",
            "location": REGION,
            "nodeLocations": [ZONE],
            "networkingMode": "VPC_NATIVE",
            "network": NETWORK_ID,
            "subnetwork": NODES_ID,
            "ipAllocationPolicy": {"clusterSecondaryRangeName": "pods", "servicesSecondaryRangeName": "services"},
            "datapathProvider": "ADVANCED_DATAPATH",
            "releaseChannel": {"channel": "REGULAR"},
            "minMasterVersion": VERSION,
            "privateClusterConfig": {"enablePrivateNodes": True},
            "controlPlaneEndpointsConfig": {"dnsEndpointConfig": {"allowExternalTraffic": True}},
            "workloadIdentityConfig": {"workloadPool": f"{PROJECT}.svc.id.goog"},
            "gatewayApiConfig": {"channel": "CHANNEL_STANDARD"},
            "addonsConfig": {"httpLoadBalancing": {"disabled": False}},
            "monitoringConfig": {
                "enableComponents": ["SYSTEM_COMPONENTS", "DCGM"],
                "managedPrometheus": {"enabled": True},
            },
            "removeDefaultNodePool": True,
            "initialNodeCount": 1,
            "deletionProtection": False,
        },
    ),
    "system": (
        POOL,
        {
            "name": "beam-system",
            "cluster": "beam",
            "location": REGION,
            "nodeLocations": [ZONE],
            "nodeCount": 2,
            "version": VERSION,
            "maxPodsPerNode": 64,
            "nodeConfig": {
                "machineType": "n4-standard-4",
                "diskType": "hyperdisk-balanced",
                "diskSizeGb": 100,
                "serviceAccount": EMAIL,
                "workloadMetadataConfig": {"mode": "GKE_METADATA"},
            },
        },
    ),
    "gpus": (
        POOL,
        {
            "name": "beam-gpus",
            "cluster": "beam",
            "location": REGION,
            "nodeLocations": [ZONE],
            "nodeCount": 1,
            "version": VERSION,
            "maxPodsPerNode": 32,
            "management": {"autoRepair": True, "autoUpgrade": True},
            "upgradeSettings": {"strategy": "SURGE", "maxSurge": 0, "maxUnavailable": 1},
            "networkConfig": {"enablePrivateNodes": True},
            "nodeConfig": {
                "machineType": "g4-standard-384",
                "diskType": "hyperdisk-balanced",
                "diskSizeGb": 200,
                "serviceAccount": EMAIL,
                "guestAccelerators": [
                    {
                        "type": "nvidia-rtx-pro-6000",
                        "count": 8,
                        "gpuDriverInstallationConfig": {"gpuDriverVersion": "LATEST"},
                    }
                ],
                "ephemeralStorageLocalSsdConfig": {"localSsdCount": 32},
                "labels": {"beam/role": "decode"},
                "workloadMetadataConfig": {"mode": "GKE_METADATA"},
            },
        },
    ),
    "identity": (
        ACCOUNT_MEMBER,
        {"serviceAccountId": ACCOUNT_ID, "role": "roles/iam.workloadIdentityUser", "member": IDENTITY},
    ),
}
"""By a short name, in an order in which they can be created."""


SUB_BLOCK = "projects/my-project/reservations/my-gb300/reservationBlocks/block-1/reservationSubBlocks/sub-block-1"

AGENT = "service-100000000001@container-engine-robot.iam.gserviceaccount.com"

METAL: dict[str, tuple[str, dict[str, Any]]] = {
    "network rights": (
        PROJECT_MEMBER,
        {"project": PROJECT, "role": "roles/compute.networkAdmin", "member": f"serviceAccount:{AGENT}"},
    ),
    "metal cluster": (CLUSTER, {**GOOD["cluster"][1], "enableShieldedNodes": False}),
    "metal": (
        POOL,
        {
            "name": "beam-metal",
            "cluster": "beam",
            "location": REGION,
            "nodeLocations": [ZONE],
            "nodeCount": 8,
            "version": VERSION,
            "maxPodsPerNode": 32,
            "management": {"autoRepair": False, "autoUpgrade": True},
            "upgradeSettings": {"strategy": "SURGE", "maxSurge": 0, "maxUnavailable": 1},
            "placementPolicy": {"type": "COMPACT", "policyName": "beam-domain"},
            "networkConfig": {"acceleratorNetworkProfile": "auto", "enablePrivateNodes": True},
            "nodeConfig": {
                "machineType": "a4x-maxgpu-4g-metal",
                "imageType": "COS_CONTAINERD",
                "diskType": "hyperdisk-balanced",
                "diskSizeGb": 200,
                "serviceAccount": EMAIL,
                "guestAccelerators": [
                    {
                        "type": "nvidia-gb300",
                        "count": 4,
                        "gpuDriverInstallationConfig": {"gpuDriverVersion": "LATEST"},
                    }
                ],
                "ephemeralStorageLocalSsdConfig": {"localSsdCount": 4},
                "linuxNodeConfig": {"hugepagesConfig": {"hugepageSize2m": 4096}},
                "labels": {
                    "cloud.google.com/gke-networking-dra-driver": "true",
                    "cloud.google.com/gke-dpv2-unified-cni": "cni-migration",
                },
                "reservationAffinity": {
                    "consumeReservationType": "SPECIFIC_RESERVATION",
                    "key": "compute.googleapis.com/reservation-name",
                    "values": [SUB_BLOCK],
                },
                "workloadMetadataConfig": {"mode": "GKE_METADATA"},
            },
        },
    ),
}
"""Bare metal with an NVLink domain. Its cluster stands in the place of the one above: a sandbox has room for one."""

FLEX_START = {
    "flex-start": (
        POOL,
        {
            **{key: value for key, value in GOOD["gpus"][1].items() if key != "nodeCount"},
            "name": "beam-flex",
            "autoscaling": {"totalMinNodeCount": 0, "totalMaxNodeCount": 2, "locationPolicy": "ANY"},
            "management": {"autoRepair": False, "autoUpgrade": True},
            "nodeConfig": {
                **GOOD["gpus"][1]["nodeConfig"],
                "flexStart": True,
                "maxRunDuration": "604800s",
                "reservationAffinity": {"consumeReservationType": "NO_RESERVATION"},
            },
        },
    )
}
"""GPU nodes that come when there is capacity."""

SAMPLES = {**GOOD, **METAL, **FLEX_START}


def token(name: str) -> str:
    return SAMPLES[name][0]


def inputs(name: str, /, **changes: Any) -> dict[str, Any]:
    """Return a copy of a sample; ``nodeConfig__diskType="x"`` sets a nested value, None drops it."""
    out = copy.deepcopy(SAMPLES[name][1])
    for path, value in changes.items():
        *blocks, last = path.split("__")
        place: Any = out
        for block in blocks:
            place = place[int(block)] if block.isdigit() else place.setdefault(block, {})
        if value is None:
            place.pop(last, None)
        else:
            place[last] = value
    return out


def build(cloud: Operations, *names: str) -> dict[str, Any]:
    """Create samples in the order of the table (all of them when none is named); return their records."""
    return {name: cloud.create(kind, inputs(name)) for name, (kind, _) in GOOD.items() if not names or name in names}


def build_metal(cloud: Operations, **changes: Any) -> Any:
    """Create a cluster with a system pool and a pool of bare metal; return the record of the pool."""
    build(cloud, *upto("cluster"))
    for name in ("metal cluster", "system", "network rights"):
        cloud.create(token(name), inputs(name))
    return cloud.create(POOL, inputs("metal", **changes))


def upto(name: str) -> list[str]:
    """Return the names of the samples before one."""
    return list(GOOD)[: list(GOOD).index(name)]
