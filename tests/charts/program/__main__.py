"""A node, the releases that the config names, by their public references, and custom resources after them."""

import json
import os
from pathlib import Path

import pulumi
import pulumi_kubernetes as kubernetes

config = pulumi.Config("releases")
kubeconfig = Path(os.environ["BEAMLINE_SANDBOX"]) / "kubernetes" / "kubeconfig.yaml"
provider = kubernetes.Provider("sandbox", kubeconfig=str(kubeconfig), cluster_identifier="releases")
timeouts = pulumi.CustomTimeouts(create="5m", update="5m", delete="2m")


def options(*depends_on: pulumi.Resource) -> pulumi.ResourceOptions:
    return pulumi.ResourceOptions(provider=provider, depends_on=list(depends_on), custom_timeouts=timeouts)


capacity = json.dumps({"cpu": "16", "memory": "64Gi", "pods": "110", "nvidia.com/gpu": "8"})
node = kubernetes.core.v1.Node(
    "node",
    metadata={
        "name": "node-0",
        "labels": {"pool": "system"},
        "annotations": {
            "kwok.x-k8s.io/node": "fake",
            "sandbox.beamline.dev/driver-s": "60",
            "sandbox.beamline.dev/capacity": capacity,
            "sandbox.beamline.dev/allocatable": capacity,
        },
    },
    opts=options(),
)
releases = []
for name, release in json.loads(config.require("wanted")).items():
    namespace = kubernetes.core.v1.Namespace(name, metadata={"name": name}, opts=options(node))
    classes = ["system-node-critical", "system-cluster-critical"]
    quota = kubernetes.core.v1.ResourceQuota(
        name,
        metadata={"name": "critical-pods", "namespace": name},
        spec={
            "hard": {"pods": "10"},
            "scope_selector": {
                "match_expressions": [{"scope_name": "PriorityClass", "operator": "In", "values": classes}]
            },
        },
        opts=options(namespace),
    )
    releases.append(
        kubernetes.helm.v3.Release(
            name,
            name=name,
            namespace=name,
            chart=release["chart"],
            version=release["version"],
            repository_opts={"repo": release["repo"]} if "repo" in release else None,
            values=release.get("values", {}),
            opts=options(quota),
        )
    )
for manifest in json.loads(config.get("objects") or "[]"):
    kubernetes.apiextensions.CustomResource(
        f"{manifest['kind']}-{manifest['metadata']['name']}",
        api_version=manifest["apiVersion"],
        kind=manifest["kind"],
        metadata=manifest["metadata"],
        spec=manifest["spec"],
        opts=options(*releases),
    )
