"""Who may speak to the sandbox's API server: random tokens in files that only the owner reads.

Scheduler and controller manager run as the users that Kubernetes' own RBAC rules are written for, not as
administrators, so that a missing permission shows here as it would in a cluster.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from pathlib import Path

import yaml

from beamline.sandbox.home import Home, write_atomically

__all__ = ["ADMIN", "CONTROLLER_MANAGER", "SCHEDULER", "Identity", "kubeconfig_of", "write_kubeconfigs", "write_tokens"]


@dataclass(frozen=True)
class Identity:
    """A user of the API server."""

    file: str
    user: str
    group: str = ""


ADMIN = Identity("kubeconfig.yaml", "sandbox-admin", "system:masters")
SCHEDULER = Identity("scheduler.kubeconfig.yaml", "system:kube-scheduler")
CONTROLLER_MANAGER = Identity("controller-manager.kubeconfig.yaml", "system:kube-controller-manager")
_IDENTITIES = (ADMIN, SCHEDULER, CONTROLLER_MANAGER)


def write_tokens(home: Home) -> None:
    """Make the tokens of a new sandbox; tokens that exist stay, because kubeconfigs carry them."""
    file = home.kubernetes / "tokens.csv"
    if file.exists():
        return
    lines = []
    for identity in _IDENTITIES:
        token = secrets.token_urlsafe(32)
        if identity is ADMIN:
            write_atomically(home.admin_token_file, token + "\n")
        lines.append(f'{token},{identity.user},{identity.user},"{identity.group}"')
    write_atomically(file, "\n".join(lines) + "\n")


def write_kubeconfigs(home: Home, endpoint: str) -> None:
    """Write a kubeconfig for each identity; ``endpoint`` is the API server's ``host:port``."""
    rows = (line.split(",") for line in (home.kubernetes / "tokens.csv").read_text(encoding="utf-8").splitlines())
    tokens = {row[1]: row[0] for row in rows}
    for identity in _IDENTITIES:
        cluster = {"server": f"https://{endpoint}", "certificate-authority": str(home.ca_file)}
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": home.name, "cluster": cluster}],
            "users": [{"name": identity.user, "user": {"token": tokens[identity.user]}}],
            "contexts": [{"name": home.name, "context": {"cluster": home.name, "user": identity.user}}],
            "current-context": home.name,
        }
        write_atomically(kubeconfig_of(home, identity), yaml.safe_dump(config, sort_keys=False))


def kubeconfig_of(home: Home, identity: Identity) -> Path:
    """Return the path of an identity's kubeconfig."""
    return home.kubernetes / identity.file
