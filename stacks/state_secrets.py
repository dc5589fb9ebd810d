"""Whether the secrets in a stack's state are really encrypted, as far as that can be known before Pulumi runs.

A stack file says which provider keeps the key: ``secretsprovider`` names a key service, ``encryptionsalt`` stands for a
passphrase. An empty passphrase is a passphrase to Pulumi: the state then looks encrypted, and whoever has the file can
read it. What cannot be known here: how good a passphrase is, with which one the state was first written, and, when the
file names no provider, whether Pulumi Cloud keeps the key or the stack does not exist yet.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from stacks.cloud import SANDBOX_PROJECT
from stacks.problems import Problem

__all__ = ["state_secrets_problems"]

_KEY_SERVICES = ("awskms", "azurekeyvault", "gcpkms", "hashivault")
_WITHOUT_ADDRESS = ("default", "passphrase")
_CHANGE = "pulumi stack change-secrets-provider gcpkms://projects/P/locations/L/keyRings/R/cryptoKeys/K"
_SOURCE = "Pulumi docs, secrets: configuring secrets encryption"


def state_secrets_problems(
    stack_file: Mapping[str, Any], environ: Mapping[str, str], *, project: object, applying: bool, where: str
) -> list[Problem]:
    """Return what is wrong with the provider that ``stack_file`` (whole, not its config) and ``environ`` name."""
    if project == SANDBOX_PROJECT:
        return []
    provider = str(stack_file.get("secretsprovider") or "")
    scheme = provider.partition("://")[0]
    if provider and scheme not in (*_KEY_SERVICES, *_WITHOUT_ADDRESS):
        return [
            Problem(
                rule="secrets-provider",
                path="secretsprovider",
                value=provider,
                why="Pulumi has no secrets provider of this kind: it could neither read nor write the stack's secrets",
                allowed=", ".join((*(f"{service}://..." for service in _KEY_SERVICES), *_WITHOUT_ADDRESS)),
                remedy=_CHANGE,
                where=where,
                source=_SOURCE,
            )
        ]
    by_passphrase = scheme == "passphrase" or (not provider and "encryptionsalt" in stack_file)
    if by_passphrase and _passphrase_is_empty(environ):
        return [
            Problem(
                rule="passphrase-empty",
                path="secretsprovider",
                value=provider or None,
                why="the passphrase is empty: the state's secrets, the kubeconfig among them, are open to whoever can "
                "read the state",
                allowed="a key service, or a passphrase",
                remedy=f"{_CHANGE}, or passphrase with PULUMI_CONFIG_PASSPHRASE set",
                where=where,
                source=_SOURCE,
                severity="error" if applying else "note",
            )
        ]
    return []


def _passphrase_is_empty(environ: Mapping[str, str]) -> bool:
    """The variable wins over the file, as in Pulumi; without either, Pulumi asks, and nobody knows the answer here."""
    if "PULUMI_CONFIG_PASSPHRASE" in environ:
        return not environ["PULUMI_CONFIG_PASSPHRASE"]
    file = environ.get("PULUMI_CONFIG_PASSPHRASE_FILE")
    try:
        return file is not None and not Path(file).read_text(encoding="utf-8").strip()
    except OSError:
        return False  # Pulumi will say so itself
