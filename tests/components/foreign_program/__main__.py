"""A platform team's own program: its cluster and its bucket, with a GPU pool and a serving part from beamline.

Network, cluster and bucket are made as the team always makes them. ``AcceleratorNodePool`` adds GPU nodes to that
cluster, ``LlmdServing`` puts the team's own manifests into it and waits until they are ready.
"""

import pulumi
import pulumi_gcp as gcp
import pulumi_kubernetes as kubernetes

from components.accelerator_node_pool import AcceleratorNodePool
from components.kubeconfig import kubeconfig
from components.serving import LlmdServing

place = pulumi.Config("gcp")
project, region, zone = place.require("project"), place.require("region"), place.require("zone")
version = "1.35.8-gke.1036000"

network = gcp.compute.Network("vpc", name="platform", auto_create_subnetworks=False)
subnet = gcp.compute.Subnetwork(
    "nodes", name="platform-nodes", region=region, network=network.id, ip_cidr_range="10.20.0.0/20"
)
cluster = gcp.container.Cluster(
    "cluster",
    name="platform",
    location=region,
    node_locations=[zone],
    network=network.id,
    subnetwork=subnet.id,
    min_master_version=version,
    datapath_provider="ADVANCED_DATAPATH",
    workload_identity_config={"workload_pool": f"{project}.svc.id.goog"},
    control_plane_endpoints_config={"dns_endpoint_config": {"allow_external_traffic": True}},
    initial_node_count=1,
    remove_default_node_pool=True,
    deletion_protection=False,
)
nodes = gcp.serviceaccount.Account("nodes", account_id="platform-nodes", display_name="Nodes of the platform")
results = gcp.storage.Bucket(
    "results", name="platform-inference-results", location="US", uniform_bucket_level_access=True, force_destroy=True
)

pool = AcceleratorNodePool(
    "gpus",
    {
        "prefix": "platform",
        "pool": "gpus",
        "project": project,
        "region": region,
        "zone": zone,
        "cluster": cluster.name,
        "service_account": nodes.email,
        "version": version,
        "machine_type": "g2-standard-12",
        "accelerator_type": "nvidia-l4",
        "accelerators_per_node": 1,
        "taints": ["nvidia.com/gpu=present:NoSchedule"],
        "labels": {"team": "platform"},
        "shielded_nodes": True,
        "gvnic": True,
        "hugepages_2mi": 0,
        "nodes": 1,
        "boot_disk_type": "pd-balanced",
        "boot_disk_gb": 100,
        "local_ssd_count": 1,
        "local_ssd_mode": "ephemeral",
        "max_pods_per_node": 32,
        "spot": False,
        "auto_repair": True,
        "image_streaming": False,
        "node_budget_s": 1200,
        "protected": False,
    },
)

endpoint = cluster.control_plane_endpoints_config.dns_endpoint_config.endpoint
authority = cluster.master_auth.cluster_ca_certificate
access = pulumi.Output.all(endpoint, authority).apply(
    lambda known: kubeconfig(context="platform", endpoint=known[0], ca_certificate=known[1])
)
provider = kubernetes.Provider(
    "cluster",
    kubeconfig=pulumi.Output.secret(access),
    cluster_identifier="platform",
    opts=pulumi.ResourceOptions(depends_on=[pool]),
)

labels = {"app": "engine"}
engine = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "engine", "namespace": "inference"},
    "spec": {
        "replicas": 1,
        "selector": {"matchLabels": labels},
        "template": {
            "metadata": {"labels": labels},
            "spec": {
                "nodeSelector": {"team": "platform"},
                "tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists"}],
                "containers": [
                    {
                        "name": "engine",
                        "image": "docker.io/vllm/vllm-openai:v0.33.0",
                        "args": ["--model", "Qwen/Qwen3-4B-Instruct-2507"],
                        "resources": {"limits": {"nvidia.com/gpu": "1"}},
                    }
                ],
            },
        },
    },
}
serving = LlmdServing(
    "engine",
    {
        "namespace": "inference",
        "objects": [
            {
                "name": "namespace",
                "body": {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "inference"}},
            },
            {"name": "engine", "body": engine, "timeout_s": 1800},
        ],
    },
    pulumi.ResourceOptions(providers=[provider]),
)

pulumi.export("pool", pool.name)
pulumi.export("namespace", serving.namespace)
pulumi.export("results", results.url)
