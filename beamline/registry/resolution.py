"""One image: from its catalog row to a digest that is worth writing down."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from beamline.registry.client import RefusedError, RegistryClient
from stacks.rows import ImageRow

__all__ = ["architectures", "environment", "image_name", "resolve_digest"]


def image_name(row: ImageRow) -> str:
    """Return ``registry/repository:tag``, the key in the lock file."""
    return f"{row.registry}/{row.repository}:{row.tag}"


def resolve_digest(client: RegistryClient, row: ImageRow, known: str | None) -> str:
    """Return the digest of a row's tag; raises ``UnreachableError`` or ``RefusedError``.

    A digest that is already known was verified when it was written, so its manifest is not fetched again: registries
    count fetches against a limit.
    """
    named = client.digest(row.registry, row.repository, row.tag)
    if named is not None and named == known:
        return named
    answer = client.manifest(row.registry, row.repository, named or row.tag)
    _check_architectures(row, _architectures(client, row.registry, row.repository, _json(answer.body)))
    return answer.digest


def architectures(client: RegistryClient, registry: str, repository: str, reference: str) -> set[str]:
    """Return the architectures an image runs on; raises ``UnreachableError`` or ``RefusedError``."""
    answer = client.manifest(registry, repository, reference)
    return _architectures(client, registry, repository, _json(answer.body))


def environment(client: RegistryClient, registry: str, repository: str, reference: str, arch: str) -> dict[str, str]:
    """Return the environment an image gives its containers; raises ``UnreachableError`` or ``RefusedError``."""
    manifest = _json(client.manifest(registry, repository, reference).body)
    for entry in manifest.get("manifests", []):
        platform = entry.get("platform") or {}
        if (platform.get("os"), platform.get("architecture")) == ("linux", arch):
            manifest = _json(client.manifest(registry, repository, entry["digest"]).body)
            break
    config = (manifest.get("config") or {}).get("digest", "")
    said = _json(client.blob(registry, repository, config).body).get("config") or {}
    pairs = (line.partition("=") for line in said.get("Env") or [])
    return {name: value for name, _, value in pairs}


def _json(body: bytes) -> Mapping[str, Any]:
    try:
        found = json.loads(body)
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise RefusedError(
            "registry-answer",
            "the registry sent something that is not a manifest",
            "check registry and repository in the catalog row",
        )
    return found


def _architectures(client: RegistryClient, registry: str, repository: str, manifest: Mapping[str, Any]) -> set[str]:
    """Architectures an image runs on: of each entry of an index, or of the one image's config."""
    if "manifests" in manifest:
        platforms = [entry.get("platform") or {} for entry in manifest["manifests"]]
        return {str(p.get("architecture")) for p in platforms if p.get("os") == "linux"}
    config = (manifest.get("config") or {}).get("digest", "")
    said = _json(client.blob(registry, repository, config).body)
    return {str(said.get("architecture"))}


def _check_architectures(row: ImageRow, found: set[str]) -> None:
    missing = sorted(set(row.archs) - found)
    if missing:
        raise RefusedError(
            "image-architecture",
            f"the catalog row promises {', '.join(row.archs)}, the image is for {', '.join(sorted(found)) or 'none'}",
            "choose a tag that has them, or correct archs in the catalog row",
        )
