"""SIMULATED controller of NVIDIA's DRA driver: ComputeDomains.

For each domain it makes the claim template that pods refer to, and a DaemonSet of IMEX daemons that runs on the nodes
where pods claim a channel. A pod with a channel is held until the daemon of its own node is ready. ``numNodes`` decides
from how many nodes on the status reads Ready, and holds no pod back, unless the feature gate IMEXDaemonsWithDNSNames is
off: that is the driver's behaviour since 25.8 (kubernetes-sigs/dra-driver-nvidia-gpu at 95932046). Finalizers are the
driver's too: a domain that is deleted after the driver stays for good. Abbreviated: cliques have no objects of their
own; the limit of nodes in a domain is left out.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from beamline.sandbox.operators.claims import claims_of
from beamline.sandbox.operators.imex_nodes import DRIVER, ImexNodes, clique_of
from beamline.sandbox.operators.pods import going, is_ready, ready_deployment
from beamline.sandbox.operators.world import Manifest, World
from beamline.sandbox.operators.writing import Writer

__all__ = ["LABEL", "ComputeDomains"]

LABEL = "resource.nvidia.com/computeDomain"
"""Label of what belongs to a domain, nodes included, and the finalizer of the same name."""

_TARGET = "resource.nvidia.com/computeDomainTarget"
_PROGRAM = "compute-domain-controller"
_WITHOUT_DNS_NAMES = "IMEXDaemonsWithDNSNames=false"
_CONFIG_VERSION = "resource.nvidia.com/v1beta1"


@dataclass
class ComputeDomains:
    """The controller of one cluster, and what its plugins answer to kubelets."""

    world: World
    writer: Writer
    nodes: ImexNodes = field(init=False)

    def __post_init__(self) -> None:
        self.nodes = ImexNodes(self.world, self.writer)

    def run_once(self) -> float | None:
        """Bring devices, domains and node labels up to date."""
        self.nodes.publish()
        controller = ready_deployment(self.world, _PROGRAM)
        if controller is None:
            return None
        joined = self._joined()
        for domain in self.world.of_kind("ComputeDomain"):
            if going(domain):
                self._release(domain, controller)
            else:
                self._keep(domain, controller)
                self._report(domain)
        for node in self.world.of_kind("Node"):
            self._label(node, joined.get(node["metadata"]["name"]))
        return None

    def prepare(self, pod: Manifest, claim: Manifest) -> str:
        """Say what keeps a claimed channel or daemon slot from being prepared; empty when nothing does."""
        if pod["spec"]["nodeName"] not in self.nodes.plugins():
            return "the driver's plugin is not registered on the node"
        domain = self._domain(_domain_id(claim))
        if domain is None:
            return "ComputeDomain not found"
        return self._not_joined(pod, domain) if _kind(claim) == "ComputeDomainChannelConfig" else ""

    def _not_joined(self, pod: Manifest, domain: Manifest) -> str:
        """Say why a pod's node cannot give it the domain's channel yet; empty when it can."""
        if domain["metadata"]["namespace"] != pod["metadata"]["namespace"]:
            return "the ComputeDomain is in another namespace"
        status = domain.get("status") or {}
        ready = {entry["name"] for entry in status.get("nodes") or [] if entry["status"] == "Ready"}
        if pod["spec"]["nodeName"] not in ready:
            return "current node not ready in ComputeDomain"
        controller = ready_deployment(self.world, _PROGRAM)
        if controller is not None and _WITHOUT_DNS_NAMES in _gates(controller) and status.get("status") != "Ready":
            return f"the ComputeDomain does not have the {domain['spec']['numNodes']} nodes it waits for yet"
        return ""

    def _domain(self, uid: str) -> Manifest | None:
        domains = self.world.of_kind("ComputeDomain")
        return next((domain for domain in domains if domain["metadata"]["uid"] == uid), None)

    def _joined(self) -> dict[str, str]:
        """Return the domain of each node on which a pod claims a channel; the first to claim has it."""
        joined: dict[str, str] = {}
        for pod in self.world.of_kind("Pod"):
            node = pod["spec"].get("nodeName")
            if not node or going(pod) or node not in self.nodes.plugins():
                continue
            for claim in claims_of(pod, self.world):
                if _kind(claim) == "ComputeDomainChannelConfig":
                    joined.setdefault(node, _domain_id(claim))
        return joined

    def _label(self, node: Manifest, uid: str | None) -> None:
        if (node["metadata"].get("labels") or {}).get(LABEL) != uid:
            self.writer.merge(node, {"metadata": {"labels": {LABEL: uid}}})

    def _keep(self, domain: Manifest, controller: Manifest) -> None:
        """Make what a domain consists of."""
        finalizers = domain["metadata"].get("finalizers") or []
        if LABEL not in finalizers:
            self.writer.merge(domain, {"metadata": {"finalizers": [*finalizers, LABEL]}})
        for manifest in _parts(domain, controller):
            present = self.world.find(manifest["kind"], manifest["metadata"]["namespace"], manifest["metadata"]["name"])
            if present is None:
                self.writer.create(manifest)  # never changed again: a domain's spec is immutable

    def _report(self, domain: Manifest) -> None:
        """Write which nodes have joined, and whether they are enough."""
        nodes = sorted(self._members(domain), key=lambda entry: str(entry["name"]))
        enough = len(nodes) >= domain["spec"]["numNodes"] and all(entry["status"] == "Ready" for entry in nodes)
        self.writer.status(domain, {"nodes": nodes, "status": "Ready" if enough else "NotReady"})

    def _members(self, domain: Manifest) -> Iterator[dict[str, Any]]:
        places = {entry["name"]: entry["index"] for entry in (domain.get("status") or {}).get("nodes") or []}
        for pod in self.world.of_kind("Pod"):
            mine = (pod["metadata"].get("labels") or {}).get(LABEL) == domain["metadata"]["uid"]
            name, address = pod["spec"].get("nodeName"), (pod.get("status") or {}).get("podIP")
            node = self.world.find("Node", "", name) if mine and address else None
            if node is None or going(pod):
                continue
            clique = clique_of(node)
            if name not in places and clique:
                places[name] = min(set(range(len(places) + 1)) - set(places.values()))
            yield {
                "name": name,
                "ipAddress": address,
                "cliqueID": clique,
                "index": places[name] if clique else -1,
                "status": "Ready" if is_ready(pod) else "NotReady",
            }

    def _release(self, domain: Manifest, controller: Manifest) -> None:
        """Take away what a domain consists of, then let it go."""
        left = False
        for manifest in _parts(domain, controller):
            metadata = manifest["metadata"]
            present = self.world.find(manifest["kind"], metadata["namespace"], metadata["name"])
            mine = present and (present["metadata"].get("labels") or {}).get(LABEL) == domain["metadata"]["uid"]
            if present is None or not mine:
                continue
            left = True
            self.writer.delete(present)
            if LABEL in (present["metadata"].get("finalizers") or []):
                self.writer.merge(present, {"metadata": {"finalizers": None}})
        if not left and LABEL in (domain["metadata"].get("finalizers") or []):
            kept = [name for name in domain["metadata"]["finalizers"] if name != LABEL]
            self.writer.merge(domain, {"metadata": {"finalizers": kept}})


def _parts(domain: Manifest, controller: Manifest) -> list[dict[str, Any]]:
    """Return the templates of both kinds of claim, and the DaemonSet of the daemons."""
    uid, home = domain["metadata"]["uid"], controller["metadata"]["namespace"]
    channel = domain["spec"]["channel"]
    name = f"computedomain-daemon-{uid}"
    workload = {"kind": "ComputeDomainChannelConfig", "allocationMode": channel["allocationMode"]}
    return [
        _claim_template(uid, home, name, "daemon", {"kind": "ComputeDomainDaemonConfig"}),
        _claim_template(
            uid, domain["metadata"]["namespace"], channel["resourceClaimTemplate"]["name"], "channel", workload
        ),
        _daemon_set(uid, home, name, controller),
    ]


def _claim_template(uid: str, namespace: str, name: str, device: str, parameters: dict[str, Any]) -> dict[str, Any]:
    kind = "compute-domain-default-channel" if device == "channel" else "compute-domain-daemon"
    config = {
        "requests": [device],
        "opaque": {"driver": DRIVER, "parameters": {"apiVersion": _CONFIG_VERSION, "domainID": uid, **parameters}},
    }
    target = "Workload" if device == "channel" else "Daemon"
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaimTemplate",
        "metadata": {
            "name": name,
            "namespace": namespace,
            "labels": {LABEL: uid, _TARGET: target},
            "finalizers": [LABEL],
        },
        "spec": {
            "spec": {
                "devices": {
                    "requests": [{"name": device, "exactly": {"deviceClassName": f"{kind}.nvidia.com"}}],
                    "config": [config],
                }
            }
        },
    }


def _daemon_set(uid: str, namespace: str, name: str, controller: Manifest) -> dict[str, Any]:
    (container,) = controller["spec"]["template"]["spec"]["containers"]
    check = {"exec": {"command": ["compute-domain-daemon", "check"]}}
    daemon = {
        "name": "compute-domain-daemon",
        "image": container["image"],
        "command": ["compute-domain-daemon", "run"],
        "resources": {"claims": [{"name": "compute-domain-daemon"}]},
        "startupProbe": {**check, "periodSeconds": 1, "timeoutSeconds": 10, "failureThreshold": 1200},
        "readinessProbe": {**check, "periodSeconds": 10, "timeoutSeconds": 10, "failureThreshold": 1},
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {"name": name, "namespace": namespace, "labels": {LABEL: uid}, "finalizers": [LABEL]},
        "spec": {
            "selector": {"matchLabels": {LABEL: uid}},
            "template": {
                "metadata": {"labels": {LABEL: uid}},
                "spec": {
                    "serviceAccountName": "compute-domain-daemon-service-account",
                    "nodeSelector": {LABEL: uid},
                    "containers": [daemon],
                    "tolerations": [{"operator": "Exists"}],
                    "resourceClaims": [{"name": "compute-domain-daemon", "resourceClaimTemplateName": name}],
                },
            },
        },
    }


def _parameters(claim: Manifest) -> dict[str, Any]:
    """Return what a claim asks of the driver; empty for a claim of another driver."""
    for entry in claim["status"]["allocation"]["devices"].get("config") or []:
        opaque = entry.get("opaque") or {}
        if opaque.get("driver") == DRIVER:
            found: dict[str, Any] = opaque["parameters"]
            return found
    return {}


def _domain_id(claim: Manifest) -> str:
    return str(_parameters(claim).get("domainID", ""))


def _kind(claim: Manifest) -> str:
    return str(_parameters(claim).get("kind", ""))


def _gates(controller: Manifest) -> str:
    (container,) = controller["spec"]["template"]["spec"]["containers"]
    return next((entry.get("value", "") for entry in container.get("env", []) if entry["name"] == "FEATURE_GATES"), "")
