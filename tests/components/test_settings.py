"""What a stack file changes in the graph: capacity, registries, sources of weights, waiting."""

from __future__ import annotations

from typing import Any

import pytest

from beamline.engine import Graph, Resource
from components.host_maintenance import host_maintenance_policy
from components.registry import artifact_registry
from stacks import ProblemsFound
from tests.components.plans import STACK, named, plan

MIRROR = "europe-west4-docker.pkg.dev/my-registry/beam/mirror"
HUB = {
    "kind": "huggingface",
    "repository": "reflection/Beam-1.0-501B-A23B-FP8",
    "revision": "0" * 40,
    "token_secret": "hub-token",
}


def node_config(graph: Graph) -> dict[str, Any]:
    config = named(graph, f"{STACK}-main-pool").inputs["nodeConfig"]
    assert isinstance(config, dict)
    return config


def grants(graph: Graph) -> list[tuple[str, dict[str, Any]]]:
    """Every right the stack gives, without who gets it."""
    found = [resource for resource in graph.resources if resource.type.lower().endswith("iammember")]
    return sorted(
        (r.name, {k: v for k, v in r.inputs.items() if k not in ("member", "serviceAccountId")}) for r in found
    )


CAPACITY: dict[str, tuple[dict[str, Any], bool | None, dict[str, Any] | None]] = {
    "on_demand": ({}, None, None),
    "spot": ({"accept_unverified": ["provisioning:spot"]}, True, {"consumeReservationType": "NO_RESERVATION"}),
    "reservation": (
        {"reservation": "g4-block"},
        None,
        {
            "consumeReservationType": "SPECIFIC_RESERVATION",
            "key": "compute.googleapis.com/reservation-name",
            "values": ["g4-block"],
        },
    ),
}


def test_networks_that_no_pod_uses_are_not_made() -> None:
    """A3 Ultra has them, and eight replicas of one GPU reach each other by none: neither profile, label nor right."""
    overrides = {
        "accelerator_pools": {"main": {"machine_type": "a3-ultragpu-8g", "provisioning": {"kind": "reservation"}}},
        "serving": {"shape": {"replicas": 8}},
    }
    accepted = [
        "engine:vllm",
        "precision:bf16",
        "parallelism:tp1",
        "router:llm-d",
        "routing:prefix_approximate",
        "gateway:gke-l7-rilb",
        "replicas:many",
    ]
    graph = plan("small-l4", overrides=overrides, accept_unverified=accepted, reservation="beam-2026")
    assert named(graph, f"{STACK}-main-pool").inputs["networkConfig"] == {"enablePrivateNodes": True}
    assert "labels" not in node_config(graph)
    assert "roles/compute.networkAdmin" not in [grant.get("role") for _, grant in grants(graph)]


def test_flex_start_is_a_pool_from_none() -> None:
    """What GKE insists on: no fixed size, no repair, no reservation; a day is a day."""
    overrides = {
        "accelerator_pools": {
            "main": {"nodes": 2, "provisioning": {"kind": "flex_start", "max_run_duration_s": 86_400}}
        },
        "serving": {"wait": "accepted", "shape": {"replicas": 2}},
    }
    accepted = ["provisioning:flex_start", "replicas:many"]
    pool = named(plan("small-l4", overrides=overrides, accept_unverified=accepted), f"{STACK}-main-pool").inputs
    config = pool["nodeConfig"]
    assert isinstance(config, dict)
    assert "nodeCount" not in pool
    assert pool["autoscaling"] == {"totalMinNodeCount": 0, "totalMaxNodeCount": 2, "locationPolicy": "ANY"}
    assert pool["management"] == {"autoRepair": False, "autoUpgrade": True}
    assert {key: config.get(key) for key in ("flexStart", "maxRunDuration", "reservationAffinity", "spot")} == {
        "flexStart": True,
        "maxRunDuration": "86400s",
        "reservationAffinity": {"consumeReservationType": "NO_RESERVATION"},
        "spot": None,
    }


def test_local_ssd_is_ephemeral_storage_or_raw_block() -> None:
    """GKE takes one of the two blocks, with the machine type's own count."""
    settings = {"accept_unverified": ["local-ssd:raw_block"]}
    raw = plan("g4-llmd", overrides={"accelerator_pools": {"main": {"local_ssd_mode": "raw_block"}}}, **settings)
    blocks = ("ephemeralStorageLocalSsdConfig", "localNvmeSsdBlockConfig")
    assert [[node_config(graph).get(block) for block in blocks] for graph in (plan("g4-llmd"), raw)] == [
        [{"localSsdCount": 32}, None],
        [None, {"localSsdCount": 32}],
    ]


def test_nodes_are_repaired_unless_told_otherwise() -> None:
    """One operator found that a repair of bare metal silently changes its image: the choice is the preset's."""
    pools = [
        named(plan("g4-llmd", overrides={"accelerator_pools": {"main": {"auto_repair": wanted}}}), f"{STACK}-main-pool")
        for wanted in (None, True, False)
    ]
    assert [pool.inputs["management"] for pool in pools] == [
        {"autoRepair": repaired, "autoUpgrade": True} for repaired in (True, True, False)
    ]


def test_hosts_are_maintained_as_google_does_it_unless_told_otherwise() -> None:
    """Durations are seconds in GKE's words; a stack that says nothing writes nothing."""
    as_needed = {"accelerator_pools": {"main": {"host_maintenance": {"kind": "as_needed"}}}}
    graph = plan("g4-llmd", overrides=as_needed, accept_unverified=["host-maintenance:as_needed"])
    assert [node_config(found).get("hostMaintenancePolicy") for found in (plan("g4-llmd"), graph)] == [
        None,
        {"maintenanceInterval": "AS_NEEDED"},
    ]
    strategy = {"node_idle_s": 600, "window_s": 1_209_600, "min_nodes": 1}
    assert host_maintenance_policy({"interval": "PERIODIC", "opportunistic": strategy}) == {
        "maintenance_interval": "PERIODIC",
        "opportunistic_maintenance_strategy": {
            "node_idle_time_window": "600s",
            "maintenance_availability_window": "1209600s",
            "min_nodes_per_pool": 1,
        },
    }


@pytest.mark.parametrize("case", CAPACITY)
def test_capacity(case: str) -> None:
    """Spot nodes never eat a reservation, and a reservation is named."""
    settings, spot, affinity = CAPACITY[case]
    overrides = {"accelerator_pools": {"main": {"provisioning": {"kind": case}}}}
    config = node_config(plan("g4-llmd", overrides=overrides, **settings))
    assert (config.get("spot"), config.get("reservationAffinity")) == (spot, affinity)


def test_what_a_machine_asks_for_comes_from_its_row() -> None:
    """Bare metal of one NVLink domain, and virtual machines that share nothing: same program, other rows."""
    metal, machines = plan("a4x-max-llmd"), plan("g4-llmd")
    pools = [named(graph, f"{STACK}-main-pool").inputs for graph in (metal, machines)]
    clusters = [named(graph, f"{STACK}-cluster-gke").inputs for graph in (metal, machines)]
    assert [cluster["enableShieldedNodes"] for cluster in clusters] == [False, True]
    assert ["DCGM" in str(cluster["monitoringConfig"]) for cluster in clusters] == [False, True]
    assert [pool["networkConfig"] for pool in pools] == [
        {"enablePrivateNodes": True, "acceleratorNetworkProfile": "auto"},
        {"enablePrivateNodes": True},
    ]
    assert [pool.get("placementPolicy") for pool in pools] == [
        {"type": "COMPACT", "policyName": "beamline-dev-main"},
        None,
    ]
    configs = [node_config(graph) for graph in (metal, machines)]
    assert [config.get("gvnic") for config in configs] == [None, {"enabled": True}]
    assert [config["shieldedInstanceConfig"]["enableSecureBoot"] for config in configs] == [False, True]
    assert [set(config.get("labels", {})) for config in configs] == [
        {"cloud.google.com/gke-networking-dra-driver", "cloud.google.com/gke-dpv2-unified-cni"},
        set(),
    ]


def test_huge_pages_come_with_the_transport_whose_agent_takes_them() -> None:
    """Without RDMA no node agent runs, and the pages would be lost to everything else."""
    overrides = {"serving": {"transport": {"name": "nvlink+rdma"}}}
    rdma = plan("a4x-max-llmd", overrides=overrides, accept_unverified=["transport:nvlink+rdma"])
    assert node_config(rdma)["linuxNodeConfig"] == {"hugepagesConfig": {"hugepageSize2m": 4096}}
    assert "linuxNodeConfig" not in node_config(plan("a4x-max-llmd"))


def test_several_nodes_are_upgraded_one_after_the_other() -> None:
    """The pool has the time that its nodes need in a row."""
    (one, two) = (named(plan(preset), f"{STACK}-main-pool") for preset in ("g4-llmd", "g4-llmd-multi"))
    assert (one.inputs["nodeCount"], two.inputs["nodeCount"]) == (1, 2)
    assert [int(str(pool.custom_timeouts["update"])[:-1]) for pool in (one, two)] == [2400, 4800]


def test_rights_of_a_stack_with_a_bucket() -> None:
    """All of them: nodes write logs and metrics, seeding pods read one bucket."""
    assert grants(plan("g4-llmd")) == [
        ("dev-cluster-nodes-role", {"project": "your-project-id", "role": "roles/container.defaultNodeServiceAccount"}),
        (
            "dev-weights-bucket-your-weights-bucket",
            {"bucket": "your-weights-bucket", "role": "roles/storage.objectViewer"},
        ),
        ("dev-weights-reader-identity", {"role": "roles/iam.workloadIdentityUser"}),
    ]


def test_rights_of_a_stack_with_a_hub_token_and_a_registry() -> None:
    """The token is read by the seeding pods, the registry by the nodes; there is no bucket to read."""
    graph = plan("g4-llmd", mirror=MIRROR, overrides={"model": {"weights": HUB}})
    assert grants(graph) == [
        (
            "dev-cluster-nodes-images",
            {
                "project": "my-registry",
                "location": "europe-west4",
                "repository": "beam",
                "role": "roles/artifactregistry.reader",
            },
        ),
        ("dev-cluster-nodes-role", {"project": "your-project-id", "role": "roles/container.defaultNodeServiceAccount"}),
        ("dev-weights-reader-identity", {"role": "roles/iam.workloadIdentityUser"}),
        (
            "dev-weights-secret-hub-token",
            {"project": "your-project-id", "secretId": "hub-token", "role": "roles/secretmanager.secretAccessor"},
        ),
    ]
    assert named(graph, "dev-cluster-gke").inputs["secretManagerConfig"] == {"enabled": True}
    assert node_config(graph)["gcfsConfig"] == {"enabled": True}


MOUNTED = {"model": {"storage": {"kind": "gcs_fuse"}}}
ON_DISK = {"model": {"storage": {"kind": "hyperdisk_ml", "disk": "beam-weights", "throughput_mib_per_s": 2400}}}


def test_a_mounted_bucket_is_read_by_the_engine_itself() -> None:
    """No Google service account of weights, and nothing of seeding: the bucket and the cluster's add-on are all."""
    graph = plan("g4-llmd", overrides=MOUNTED, accept_unverified=["weights:gcs_fuse"])
    bucket = {"bucket": "your-weights-bucket", "role": "roles/storage.objectViewer"}
    assert [grant for grant in grants(graph) if "weights" in grant[0]] == [
        ("dev-weights-bucket-your-weights-bucket", bucket)
    ]
    assert not [r.name for r in graph.resources if r.name.startswith("dev-weights-reader") or "seed" in r.name]
    addons: Any = named(graph, "dev-cluster-gke").inputs["addonsConfig"]
    assert addons["gcsFuseCsiDriverConfig"] == {"enabled": True}


def test_a_disk_needs_no_right_and_no_add_on() -> None:
    graph = plan("g4-llmd", overrides=ON_DISK, accept_unverified=["weights:hyperdisk_ml"])
    assert not [grant for grant in grants(graph) if "weights" in grant[0]]
    assert named(graph, "dev-cluster-gke").inputs["addonsConfig"] == {"httpLoadBalancing": {"disabled": False}}
    assert not [r for r in graph.resources if r.type.startswith("gcp:compute/disk")]


def test_what_is_not_used_is_not_switched_on() -> None:
    """Without token and Artifact Registry: no Secret Manager add-on, no image streaming."""
    graph = plan("g4-llmd", mirror="registry.example.com/beam")
    assert "secretManagerConfig" not in named(graph, "dev-cluster-gke").inputs
    assert named(graph, "dev-cluster-gke").inputs["addonsConfig"] == {"httpLoadBalancing": {"disabled": False}}
    assert node_config(graph)["gcfsConfig"] == {"enabled": False}


def test_a_mirror_without_a_repository_is_a_problem() -> None:
    """Nodes could not be given rights to it, and would fail to pull at the very end."""
    with pytest.raises(ProblemsFound) as caught:
        plan("g4-llmd", mirror="europe-west4-docker.pkg.dev/my-registry")
    errors = [problem for problem in caught.value.problems if problem.severity == "error"]
    assert [(problem.rule, problem.path) for problem in errors] == [("mirror-repository", "mirror")]
    with pytest.raises(ValueError, match="names no repository"):
        artifact_registry("europe-west4-docker.pkg.dev/my-registry")


def waits(graph: Graph) -> dict[str, tuple[dict[str, str], dict[str, str]]]:
    """Timeouts and Pulumi's annotations of the objects that have any."""
    found = {r.name: (dict(r.custom_timeouts), _notes(r)) for r in graph.resources if r.type.startswith("kubernetes:")}
    return {name: value for name, value in found.items() if any(value)}


def _notes(resource: Resource) -> dict[str, str]:
    metadata = resource.inputs["metadata"]
    annotations = (metadata.get("annotations") or {}) if isinstance(metadata, dict) else {}
    assert isinstance(annotations, dict)
    return {key: str(value) for key, value in annotations.items() if key.startswith("pulumi.com/")}


def test_ready_means_that_everything_with_a_state_is_waited_for() -> None:
    """Workloads have the budget derived for them, custom resources a condition."""
    found = waits(plan("small-l4"))
    assert {name.removeprefix("dev-") for name in found} >= {
        "weights-seeding",
        "serving-engine",
        "serving-router",
        "gateway-gateway",
        "gateway-route",
    }
    assert found["dev-gateway-gateway"][1] == {"pulumi.com/waitFor": "condition=Programmed"}
    assert all("create" in timeouts and "pulumi.com/skipAwait" not in notes for timeouts, notes in found.values())


def test_accepted_means_that_nothing_is_waited_for() -> None:
    graph = plan("small-l4", overrides={"serving": {"wait": "accepted"}})
    objects = [resource for resource in graph.resources if resource.type.startswith("kubernetes:")]
    assert [r.name for r in objects if _notes(r) != {"pulumi.com/skipAwait": "true"}] == []
    assert [r.name for r in objects if "create" in r.custom_timeouts] == []


KEY = "projects/my-keys/locations/us-central1/keyRings/beam/cryptoKeys/beam"


def test_maintenance_is_when_and_what_was_asked_for() -> None:
    """The window recurs from the first of its days in 2026, and may pass midnight."""
    maintenance = {
        "days": ["TU", "TH"],
        "start_hour_utc": 22,
        "hours": 6,
        "exclusions": {"freeze": {"scope": "NO_UPGRADES", "start": "2026-12-10", "end": "2027-01-05"}},
    }
    cluster = named(plan("g4-llmd", overrides={"cluster": {"maintenance": maintenance}}), "dev-cluster-gke").inputs
    assert cluster["maintenancePolicy"] == {
        "recurringWindow": {
            "startTime": "2026-01-01T22:00:00Z",
            "endTime": "2026-01-02T04:00:00Z",
            "recurrence": "FREQ=WEEKLY;BYDAY=TU,TH",
        },
        "maintenanceExclusions": [
            {
                "exclusionName": "freeze",
                "startTime": "2026-12-10T00:00:00Z",
                "endTime": "2027-01-05T00:00:00Z",
                "exclusionOptions": {"scope": "NO_UPGRADES"},
            }
        ],
    }


ACCESS = ("privateClusterConfig", "controlPlaneEndpointsConfig", "masterAuthorizedNetworksConfig")


@pytest.mark.parametrize(
    ("asked", "private", "dns", "networks"),
    [
        ({}, None, True, None),
        ({"ip_endpoint": {"authorized_networks": ["10.0.0.0/8"]}}, True, True, ["10.0.0.0/8"]),
        (
            {"dns_endpoint": False, "ip_endpoint": {"public": True, "authorized_networks": ["203.0.113.0/24"]}},
            False,
            False,
            ["203.0.113.0/24"],
        ),
    ],
    ids=["as shipped", "private beside DNS", "public instead of DNS"],
)
def test_the_control_plane_is_reached_as_asked(
    asked: dict[str, Any], private: bool | None, dns: bool, networks: list[str] | None
) -> None:
    """Nodes stay private, and an IP endpoint answers the named networks alone."""
    cluster = named(plan("g4-llmd", overrides={"cluster": {"control_plane": asked}}), "dev-cluster-gke").inputs
    authorized = {
        "cidrBlocks": [{"cidrBlock": block} for block in networks or ()],
        "gcpPublicCidrsAccessEnabled": False,
    }
    assert [cluster.get(block) for block in ACCESS] == [
        {"enablePrivateNodes": True, **({} if private is None else {"enablePrivateEndpoint": private})},
        {"dnsEndpointConfig": {"allowExternalTraffic": dns}, "ipEndpointsConfig": {"enabled": networks is not None}},
        authorized if networks else None,
    ]


def test_a_key_encrypts_secrets_and_every_boot_disk() -> None:
    """And both of Google's identities that use it may, before there is a cluster."""
    graph = plan("g4-llmd", overrides={"cluster": {"encryption_key": KEY}})
    cluster = named(graph, "dev-cluster-gke")
    pools = [named(graph, f"dev-{name}-pool").inputs["nodeConfig"] for name in ("system", "main")]
    assert cluster.inputs["databaseEncryption"] == {"state": "ENCRYPTED", "keyName": KEY}
    assert [dict(config).get("bootDiskKmsKey") for config in pools] == [KEY, KEY]  # type: ignore[arg-type]
    role = {"cryptoKeyId": KEY, "role": "roles/cloudkms.cryptoKeyEncrypterDecrypter"}
    rights = [name for name, inputs in grants(graph) if inputs == role]
    assert rights == ["dev-cluster-key-compute", "dev-cluster-key-gke"]
    assert {named(graph, name).urn for name in rights} <= set(cluster.dependencies)


def test_without_a_choice_nothing_is_switched_on() -> None:
    graph = plan("g4-llmd")
    cluster = named(graph, "dev-cluster-gke").inputs
    assert {"databaseEncryption", "binaryAuthorization"} & cluster.keys() == set()
    assert {"bootDiskKmsKey", "secondaryBootDisks"} & node_config(graph).keys() == set()


def test_binary_authorization_is_the_projects_policy() -> None:
    cluster = named(plan("g4-llmd", overrides={"cluster": {"binary_authorization": True}}), "dev-cluster-gke")
    assert cluster.inputs["binaryAuthorization"] == {"evaluationMode": "PROJECT_SINGLETON_POLICY_ENFORCE"}


def test_a_disk_with_images_comes_with_streaming() -> None:
    """GKE attaches it to nodes with image streaming alone, whatever registry the images are from."""
    image = "projects/my-images/global/images/engines-1"
    overrides = {"accelerator_pools": {"main": {"image_disk": image}}}
    config = node_config(plan("g4-llmd", overrides=overrides, accept_unverified=["image-cache:secondary_boot_disk"]))
    assert config["secondaryBootDisks"] == [{"diskImage": image, "mode": "CONTAINER_IMAGE_CACHE"}]
    assert config["gcfsConfig"] == {"enabled": True}
