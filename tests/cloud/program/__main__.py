"""Eight bare-metal nodes in one NVLink domain with a pod on each that claims its RDMA interfaces.

The cluster is looked up again after it was made, and its network is another program's.
"""

import json

import pulumi
import pulumi_gcp as gcp
import pulumi_kubernetes as kubernetes

config = pulumi.Config("metal")
project = gcp.organizations.get_project().project_id
region, zone, version = "us-central1", "us-central1-b", "1.35.8-gke.1036000"
network = gcp.compute.get_network(name="shared", project=project)
subnetwork = gcp.compute.get_subnetwork(name="shared-nodes", region=region, project=project)

policy = gcp.compute.ResourcePolicy(
    "domain",
    name="beam-domain",
    project=project,
    region=region,
    workload_policy={"type": "HIGH_THROUGHPUT", "accelerator_topology": "1x72"},
)
cluster = gcp.container.Cluster(
    "cluster",
    name="beam",
    project=project,
    location=region,
    node_locations=[zone],
    network=network.id,
    subnetwork=subnetwork.id,
    ip_allocation_policy={"cluster_secondary_range_name": subnetwork.secondary_ip_ranges[0].range_name},
    datapath_provider="ADVANCED_DATAPATH",
    enable_shielded_nodes=False,
    min_master_version=version,
    initial_node_count=1,
    remove_default_node_pool=True,
    deletion_protection=False,
)
shared = {"cluster": cluster.id, "project": project, "location": region, "node_locations": [zone], "version": version}
system = gcp.container.NodePool(
    "system",
    name="system",
    node_count=1,
    node_config={"machine_type": "n4-standard-4", "disk_type": "hyperdisk-balanced"},
    **shared,
)
number = gcp.organizations.get_project_output(project_id=cluster.project).number
rights = gcp.projects.IAMMember(
    "network-rights",
    project=project,
    role="roles/compute.networkAdmin",
    member=pulumi.Output.format("serviceAccount:service-{0}@container-engine-robot.iam.gserviceaccount.com", number),
)
metal = gcp.container.NodePool(
    "metal",
    name="metal",
    node_count=8,
    max_pods_per_node=32,
    placement_policy={"type": "COMPACT", "policy_name": policy.name},
    network_config={"accelerator_network_profile": "auto"},
    upgrade_settings={"max_surge": 0, "max_unavailable": 1},
    node_config={
        "machine_type": "a4x-maxgpu-4g-metal",
        "image_type": "COS_CONTAINERD",
        "disk_type": "hyperdisk-balanced",
        "guest_accelerators": [
            {
                "type": "nvidia-gb300",
                "count": 4,
                "gpu_driver_installation_config": {"gpu_driver_version": "LATEST"},
            }
        ],
        "ephemeral_storage_local_ssd_config": {"local_ssd_count": 4},
        "linux_node_config": {"hugepages_config": {"hugepage_size2m": 4096}},
        "labels": {
            "cloud.google.com/gke-networking-dra-driver": "true",
            "cloud.google.com/gke-dpv2-unified-cni": "cni-migration",
        },
        "reservation_affinity": {
            "consume_reservation_type": "SPECIFIC_RESERVATION",
            "key": "compute.googleapis.com/reservation-name",
            "values": ["projects/p/reservations/r/reservationBlocks/b/reservationSubBlocks/s"],
        },
    },
    opts=pulumi.ResourceOptions(depends_on=[system, rights]),
    **shared,
)
found = gcp.container.get_cluster_output(name=cluster.name, location=region, project=project)
access = found.apply(
    lambda it: json.dumps(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "c",
            "contexts": [{"name": "c", "context": {"cluster": "c", "user": "c"}}],
            "clusters": [
                {
                    "name": "c",
                    "cluster": {
                        "server": f"https://{it.endpoint}",
                        "certificate-authority-data": it.master_auths[0].cluster_ca_certificate,
                    },
                }
            ],
            "users": [
                {
                    "name": "c",
                    "user": {
                        "exec": {
                            "apiVersion": "client.authentication.k8s.io/v1beta1",
                            "command": "gke-gcloud-auth-plugin",
                            "interactiveMode": "Never",
                            "provideClusterInfo": True,
                        }
                    },
                }
            ],
        }
    )
)
provider = kubernetes.Provider("cluster", kubeconfig=access, cluster_identifier="metal")
options = pulumi.ResourceOptions(
    provider=provider, depends_on=[metal], custom_timeouts=pulumi.CustomTimeouts(create="5m", update="5m")
)
asapd = kubernetes.apps.v1.DaemonSet(
    "asapd-lite",
    metadata={"name": "asapd-lite", "namespace": "kube-system"},
    spec={
        "selector": {"matchLabels": {"app": "asapd-lite"}},
        "template": {
            "metadata": {"labels": {"app": "asapd-lite"}},
            "spec": {
                "hostNetwork": True,
                "tolerations": [{"operator": "Exists"}],
                "nodeSelector": {"node.kubernetes.io/instance-type": "a4x-maxgpu-4g-metal"},
                "containers": [
                    {
                        "name": "asapd-lite",
                        "image": "mirror.example/asapd-lite/asapd-lite:v0.0.8",
                        "resources": {"limits": {"hugepages-2Mi": "8192Mi", "memory": "1Gi"}},
                    }
                ],
            },
        },
    },
    opts=options,
)
request = {
    "name": "nics",
    "exactly": {"deviceClassName": "mrdma.google.com", "allocationMode": "ExactCount", "count": 8},
}
claim = kubernetes.resource.v1.ResourceClaimTemplate(
    "claim",
    metadata={"name": "all-mrdma", "namespace": "default"},
    spec={"spec": {"devices": {"requests": [request]}}},
    opts=options,
)
kubernetes.apps.v1.Deployment(
    "workers",
    metadata={"name": "workers", "namespace": "default"},
    spec={
        "replicas": 8,
        "selector": {"matchLabels": {"app": "workers"}},
        "template": {
            "metadata": {"labels": {"app": "workers"}},
            "spec": {
                "nodeSelector": {"gke.networks.io/accelerator-network-profile": "auto"},
                "tolerations": [
                    {"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"},
                    {"key": "kubernetes.io/arch", "value": "arm64", "effect": "NoSchedule"},
                ],
                "resourceClaims": [{"name": "nics", "resourceClaimTemplateName": "all-mrdma"}],
                "containers": [
                    {
                        "name": "worker",
                        "image": "mirror.example/worker:v1",
                        "resources": {"limits": {"nvidia.com/gpu": "4"}, "claims": [{"name": "nics"}]},
                    }
                ],
            },
        },
    },
    opts=pulumi.ResourceOptions.merge(options, pulumi.ResourceOptions(depends_on=[asapd, claim])),
)
pulumi.export("network", found.network)
pulumi.export("version", found.master_version)
