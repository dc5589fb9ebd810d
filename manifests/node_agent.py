"""asapd-lite: Google's agent that brings up the RDMA network cards of bare-metal nodes, one pod a node.

Virtual machines get their cards from the hypervisor; on bare metal nobody sets them up until this runs, and managed
DRANET publishes no RDMA device before. It is not one of GKE's add-ons: whoever uses the nodes installs it.

It changes the node, so it is far from ``restricted``; each exception is named where it is made. What it does not get: a
token for the Kubernetes API, nodes that are not accelerator nodes, more than it says of memory and huge pages. Google's
own manifest adds a second container, an eBPF monitor under a moving tag; nothing here needs it, so it is left out.
Source: https://github.com/GoogleCloudPlatform/container-engine-accelerators (asapd-lite-installer), read 2026-06-11
"""

from __future__ import annotations

from typing import Any

from manifests.naming import labels, metadata, selector
from manifests.objects import KubernetesObject
from manifests.placement import accelerator_tolerations, agent_nodes
from manifests.scripts import NODE_AGENT
from stacks.resolve import StackSpec

__all__ = ["node_agent"]

_NAME = "asapd-lite"
_ACCOUNT = "node-agent-service-account"
_NAMESPACE = "kube-system"
"""The one namespace where GKE admits system priority without a quota; it enforces no Pod Security level."""
_COMMAND = (
    "/usr/local/bin/run_asapd_lite.sh",
    "--run_hairpin_probe=true",
    "--hairpin_sender_port_start=12345",
    "--hairpin_receiver_port_start=23456",
    "--metrics_domain=prod",
)
_HEALTH = {"httpGet": {"path": "/healthz", "port": 19540}}
_SETTLE_S = 15
_START_S = 60
_HUGEPAGES_PATH = "/hugepages-2Mi"
_HOST_FOLDERS = {
    "sys": ("/sys", "Directory"),  # PCI devices and their virtual functions
    "proc": ("/proc", "Directory"),  # network settings of the kernel
    "udev-rules": ("/etc/udev/rules.d", "Directory"),  # names of the interfaces it makes
    "run-udev": ("/run/udev", "Directory"),
    "systemd-units": ("/etc/systemd/system", "Directory"),  # a unit that keeps the names over a restart
    "run-systemd": ("/run/systemd", "Directory"),
    "run": ("/run/asapd-lite", "DirectoryOrCreate"),
    "log": ("/var/log/google/asapd-lite", "DirectoryOrCreate"),
    "lib": ("/var/lib/google/asapd-lite", "DirectoryOrCreate"),  # its address tool, which runs on the host
}
"""Volume -> folder of the node, seen at the same path by the container. Those of its own are made where missing."""


def node_agent(spec: StackSpec) -> tuple[KubernetesObject, ...]:
    """Its service account, which may do nothing, and the DaemonSet; none where the transport has no agent."""
    transport = spec.rows.transport
    if transport is None or transport.node_agent is None:
        return ()
    body = {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": metadata(spec, _NAME, component=_NAME, namespace=_NAMESPACE),
        "spec": {
            "selector": {"matchLabels": selector(spec, _NAME)},
            # One node after the other: a node whose agent restarts has no RDMA for that time.
            "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 1}},
            "template": {
                "metadata": {"labels": labels(spec, _NAME)},
                "spec": _pod(spec, hugepages_mib=2 * transport.hugepages_2mi_per_node),
            },
        },
    }
    # A small image; nodes are ready by now, so this is the pull, the agent's start, and some nodes' second try.
    timeout_s = spec.derived.release_budget_s
    account = {
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": metadata(spec, _NAME, component=_NAME, namespace=_NAMESPACE),
        "automountServiceAccountToken": False,
    }
    return (
        KubernetesObject(area="fabric", name=_ACCOUNT, body=account),
        KubernetesObject(area="fabric", name="node-agent", body=body, timeout_s=timeout_s, after=(_ACCOUNT,)),
    )


def _pod(spec: StackSpec, *, hugepages_mib: int) -> dict[str, Any]:
    nodes = agent_nodes(spec)
    host = [{"name": n, "hostPath": {"path": path, "type": kind}} for n, (path, kind) in _HOST_FOLDERS.items()]
    return {
        "serviceAccountName": _NAME,
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "priorityClassName": "system-node-critical",  # without it no pod of the node can have RDMA
        **nodes,
        "nodeSelector": {**nodes["nodeSelector"], "cloud.google.com/gke-os-distribution": "cos"},
        "tolerations": accelerator_tolerations(spec),
        "hostNetwork": True,  # the cards it configures are in the node's network namespace
        "hostPID": True,  # it finds and signals the node's own network processes
        "containers": [_container(spec, hugepages_mib)],
        "volumes": [*host, {"name": "hugepages", "emptyDir": {"medium": "HugePages-2Mi"}}],
    }


def _container(spec: StackSpec, hugepages_mib: int) -> dict[str, Any]:
    bounded = {"memory": "1Gi", "hugepages-2Mi": f"{hugepages_mib}Mi"}
    folders = [{"name": name, "mountPath": path} for name, (path, _) in _HOST_FOLDERS.items()]
    return {
        "name": _NAME,
        "image": str(spec.images["node_agent"]),
        "command": ["/bin/bash", "-c", NODE_AGENT, _NAME, *_COMMAND],
        "env": [
            {"name": "LD_LIBRARY_PATH", "value": "/asapd-lite/controller"},
            {"name": "SETTLE_S", "value": str(_SETTLE_S)},
        ],
        "readinessProbe": _HEALTH,
        "livenessProbe": {**_HEALTH, "initialDelaySeconds": _START_S},
        "resources": {"requests": {"cpu": "100m", **bounded}, "limits": bounded},
        "securityContext": {"privileged": True},  # it configures PCI devices and writes udev rules
        "volumeMounts": [*folders, {"name": "hugepages", "mountPath": _HUGEPAGES_PATH}],
    }
