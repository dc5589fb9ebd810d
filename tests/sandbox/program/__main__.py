"""A node with four GPUs, and a Deployment with its Service on it; the config says what is wrong with them."""

import json
import os
from pathlib import Path

import pulumi
import pulumi_kubernetes as kubernetes

config = pulumi.Config("tiny")
kubeconfig = Path(os.environ["BEAMLINE_SANDBOX"]) / "kubernetes" / "kubeconfig.yaml"
provider = kubernetes.Provider("sandbox", kubeconfig=str(kubeconfig), cluster_identifier="tiny")
timeouts = pulumi.CustomTimeouts(create="5m", update="5m", delete="2m")


def options(*depends_on: pulumi.Resource) -> pulumi.ResourceOptions:
    return pulumi.ResourceOptions(provider=provider, depends_on=list(depends_on), custom_timeouts=timeouts)


capacity = json.dumps({"cpu": "16", "memory": "64Gi", "pods": "110", "nvidia.com/gpu": "4"})
node = kubernetes.core.v1.Node(
    "node",
    metadata={
        "name": "gpu-0",
        "annotations": {
            "kwok.x-k8s.io/node": "fake",
            "sandbox.beamline.dev/boot-s": "300",
            "sandbox.beamline.dev/driver-s": "300",
            "sandbox.beamline.dev/capacity": capacity,
            "sandbox.beamline.dev/allocatable": capacity,
        },
    },
    spec={"taints": [{"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}]},
    opts=options(),
)
namespace = kubernetes.core.v1.Namespace("namespace", metadata={"name": "beam"}, opts=options())
pod = {
    "containers": [
        {"name": "vllm", "image": "x:1", "resources": {"limits": {"nvidia.com/gpu": config.require("gpus")}}}
    ]
}
if config.require_bool("tolerates"):
    pod["tolerations"] = [{"key": "nvidia.com/gpu", "operator": "Exists"}]
vllm = kubernetes.apps.v1.Deployment(
    "vllm",
    metadata={"name": "vllm", "namespace": "beam"},
    spec={
        "replicas": 1,
        "strategy": {"type": "Recreate"},
        "selector": {"matchLabels": {"app": "vllm"}},
        "template": {"metadata": {"labels": {"app": "vllm"}}, "spec": pod},
    },
    opts=options(node, namespace),
)
kubernetes.core.v1.Service(
    "service",
    metadata={"name": "vllm", "namespace": "beam"},
    spec={"selector": {"app": config.require("selector")}, "ports": [{"port": 8000}]},
    opts=options(vllm),
)
pulumi.export("deployment", vllm.metadata["name"])
pulumi.export("password", pulumi.Output.secret("a-very-secret-word"))
