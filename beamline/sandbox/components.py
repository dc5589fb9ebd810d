"""The servers of a sandbox and the flags that make them a cluster on loopback, as a table.

Real: etcd, kube-apiserver, kube-scheduler, kube-controller-manager, configured as close to GKE's as their flags allow.
Simulated: kwok plays kubelets and containers; ``beamline.sandbox.operators`` plays GKE's own controllers and operators
of third parties; ``beamline.sandbox.charts`` plays the registries that third-party charts come from.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import yaml

from beamline.sandbox.credentials import CONTROLLER_MANAGER, SCHEDULER, kubeconfig_of
from beamline.sandbox.home import CHECKOUT, Home, Record, write_atomically
from beamline.sandbox.ports import LOOPBACK

__all__ = ["PORTS", "SIMULATED", "TOOLS", "Component", "components", "write_configuration"]

PORTS = ("etcd", "etcd-peer", "kube-apiserver", "kube-scheduler", "kube-controller-manager", "kwok", "charts")
"""Every listener of a sandbox has a port of its own, kept for the sandbox's life."""

SIMULATED = ("kwok", "operators", "charts")
"""The servers that stand in for something else; the others are Kubernetes' own."""

TOOLS = ("etcd", "kube-apiserver", "kube-scheduler", "kube-controller-manager", "kwok")

_PASSED_ON = ("HOME", "LANG", "LC_ALL", "PATH", "TMPDIR", "TZ")
_LIMITED_CLASSES = ["system-node-critical", "system-cluster-critical"]


@dataclass(frozen=True)
class Component:
    """One server: how it is started, and the address that answers once it works."""

    name: str
    argv: list[str]
    environment: Mapping[str, str]
    ready_url: str = ""
    """Empty where being alive is all that can be asked."""


def write_configuration(home: Home, record: Record) -> None:
    """Write the files that the servers read: admission rules and the simulated kubelets' stages."""
    write_atomically(home.kubernetes / "admission.yaml", yaml.safe_dump(_admission(), sort_keys=False))
    stages = sorted((Path(__file__).parent / "stages").glob("*.yaml"))
    scaled = [path.read_text(encoding="utf-8").replace("TIME_SCALE", f"{record.time_scale:g}") for path in stages]
    write_atomically(home.kubernetes / "kwok.yaml", "---\n".join(scaled))


def components(home: Home, record: Record, tools: Mapping[str, Path]) -> list[Component]:
    """Return the servers in the order they are started; each needs those before it."""
    environment = {key: os.environ[key] for key in _PASSED_ON if key in os.environ}
    url = {name: f"https://{LOOPBACK}:{port}" for name, port in record.ports.items()}
    url |= {name: f"http://{LOOPBACK}:{record.ports[name]}" for name in ("etcd", "etcd-peer", "kwok")}
    argv = {
        "etcd": _etcd(home, url),
        "kube-apiserver": _apiserver(home, record, url),
        "kube-scheduler": _scheduler(home, record),
        "kube-controller-manager": _controller_manager(home, record),
        "kwok": _kwok(home, record),
    }
    ready = {name: f"{url[name]}/{'health' if name == 'etcd' else 'readyz'}" for name in argv}
    ready |= {name: f"{url[name]}/healthz" for name in ("kube-scheduler", "kube-controller-manager", "kwok")}
    servers = [Component(name, [str(tools[name]), *argv[name]], environment, ready[name]) for name in argv]
    operators = [sys.executable, "-m", "beamline.sandbox.operators"]
    charts = [sys.executable, "-m", "beamline.sandbox.charts", str(record.ports["charts"]), str(home.charts_ca_file)]
    own = {**environment, "BEAMLINE_SANDBOX": str(home.folder), "PYTHONPATH": str(CHECKOUT), "PYTHONUNBUFFERED": "1"}
    return [
        *servers,
        Component("operators", operators, own),
        Component("charts", charts, own, f"http://{LOOPBACK}:{record.ports['charts']}/"),
    ]


def _etcd(home: Home, url: Mapping[str, str]) -> list[str]:
    return [
        f"--data-dir={home.kubernetes / 'etcd'}",
        f"--listen-client-urls={url['etcd']}",
        f"--advertise-client-urls={url['etcd']}",
        f"--listen-peer-urls={url['etcd-peer']}",
        f"--initial-advertise-peer-urls={url['etcd-peer']}",
        f"--initial-cluster=default={url['etcd-peer']}",
        "--log-level=warn",
        "--unsafe-no-fsync",  # a sandbox survives a killed process, not a power cut
    ]


def _apiserver(home: Home, record: Record, url: Mapping[str, str]) -> list[str]:
    # The server makes itself a certificate and key in --cert-dir before it reads the other files; the same key signs
    # service account tokens, so that nothing else on the machine needs to be able to make keys.
    key = home.ca_file.with_suffix(".key")
    return [
        f"--etcd-servers={url['etcd']}",
        f"--bind-address={LOOPBACK}",
        f"--advertise-address={LOOPBACK}",
        "--endpoint-reconciler-type=none",  # no pod runs that could reach the server by its Service
        f"--secure-port={record.ports['kube-apiserver']}",
        f"--cert-dir={home.ca_file.parent}",
        f"--token-auth-file={home.kubernetes / 'tokens.csv'}",
        "--authorization-mode=RBAC",
        f"--admission-control-config-file={home.kubernetes / 'admission.yaml'}",
        "--allow-privileged=true",
        f"--service-account-key-file={key}",
        f"--service-account-signing-key-file={key}",
        "--service-account-issuer=https://kubernetes.default.svc.cluster.local",
        "--service-cluster-ip-range=10.96.0.0/16",
        "--event-ttl=72h",  # events are the diagnosis; a sandbox may stand over a weekend
    ]


def _scheduler(home: Home, record: Record) -> list[str]:
    kubeconfig = kubeconfig_of(home, SCHEDULER)
    return [f"--kubeconfig={kubeconfig}", *_serving(home, record, "kube-scheduler", kubeconfig)]


def _controller_manager(home: Home, record: Record) -> list[str]:
    kubeconfig = kubeconfig_of(home, CONTROLLER_MANAGER)
    return [
        f"--kubeconfig={kubeconfig}",
        *_serving(home, record, "kube-controller-manager", kubeconfig),
        "--use-service-account-credentials=true",
        f"--service-account-private-key-file={home.ca_file.with_suffix('.key')}",
        f"--root-ca-file={home.ca_file}",
        # A claim that just misses its volume binds at the next look. The usual 15 s would be hours of simulated time.
        "--pvclaimbinder-sync-period=1s",
    ]


def _serving(home: Home, record: Record, name: str, kubeconfig: Path) -> list[str]:
    return [
        f"--authentication-kubeconfig={kubeconfig}",
        f"--authorization-kubeconfig={kubeconfig}",
        f"--bind-address={LOOPBACK}",
        f"--secure-port={record.ports[name]}",
        f"--tls-cert-file={home.ca_file}",
        f"--tls-private-key-file={home.ca_file.with_suffix('.key')}",
        "--leader-elect=false",
    ]


def _kwok(home: Home, record: Record) -> list[str]:
    return [
        f"--kubeconfig={home.kubeconfig}",
        f"--config={home.kubernetes / 'kwok.yaml'}",
        "--manage-nodes-with-annotation-selector=kwok.x-k8s.io/node=fake",
        "--node-lease-duration-seconds=40",
        "--cidr=10.4.0.0/14",
        f"--server-address={LOOPBACK}:{record.ports['kwok']}",
    ]


def _admission() -> dict[str, object]:
    """Return GKE's rule: pods of the system priority classes only where a ResourceQuota allows them."""
    scope = {"scopeName": "PriorityClass", "operator": "In", "values": _LIMITED_CLASSES}
    quota = {
        "apiVersion": "apiserver.config.k8s.io/v1",
        "kind": "ResourceQuotaConfiguration",
        "limitedResources": [{"resource": "pods", "matchScopes": [scope]}],
    }
    return {
        "apiVersion": "apiserver.config.k8s.io/v1",
        "kind": "AdmissionConfiguration",
        "plugins": [{"name": "ResourceQuota", "configuration": quota}],
    }
