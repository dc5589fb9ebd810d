"""Container registries: from the tag in a catalog row to the digest in images.lock.yaml.

``beamline lock`` and ``beamline preflight`` talk to registries. A digest is written down when a registry has said it
and the bytes agree; it is never guessed, and a registry that cannot be asked never costs an entry that was known.
"""

from __future__ import annotations

from beamline.registry.client import RefusedError, RegistryClient, UnreachableError
from beamline.registry.lock import Entry, Locked, catalog_images, refresh, write_lock
from beamline.registry.resolution import architectures, environment

__all__ = [
    "Entry",
    "Locked",
    "RefusedError",
    "RegistryClient",
    "UnreachableError",
    "architectures",
    "catalog_images",
    "environment",
    "refresh",
    "write_lock",
]
