"""Buckets, secrets, keys and repositories: what stacks name and do not make."""

from __future__ import annotations

from typing import Any

from beamline.sandbox.google_api.routes import Call, Route, not_found

__all__ = ["ROUTES"]

_STORAGE, _SECRETS, _REGISTRY, _KEYS = (
    "storage.googleapis.com",
    "secretmanager.googleapis.com",
    "artifactregistry.googleapis.com",
    "cloudkms.googleapis.com",
)
_SHARDS, _SHARD_BYTES = 60, 20_000_000_000
"""A checkpoint under every prefix of every bucket, larger than any that the kit serves."""


def _named(call: Call, key: str, known: frozenset[str] | None) -> str:
    name = call.parts[key]
    if known is not None and name not in known:
        raise not_found(name)
    return name


def _objects(call: Call) -> dict[str, Any]:
    _named(call, "bucket", call.inventory.buckets)
    prefix = call.query.get("prefix", [""])[0]
    shards = [f"model-{number:05}-of-{_SHARDS:05}.safetensors" for number in range(1, _SHARDS + 1)]
    sizes = {"config.json": 2_000, "tokenizer.json": 20_000_000, **dict.fromkeys(shards, _SHARD_BYTES)}
    return {"items": [{"name": prefix + name, "size": str(size)} for name, size in sizes.items()]}


def _bucket_rights(call: Call) -> dict[str, Any]:
    _named(call, "bucket", call.inventory.buckets)
    return call.held(call.query.get("permissions", []))


def _secret_rights(call: Call) -> dict[str, Any]:
    _named(call, "secret", call.inventory.secrets)
    return call.held(call.body.get("permissions", []))


def _version(call: Call) -> dict[str, Any]:
    name = _named(call, "secret", call.inventory.secrets)
    return {"name": f"projects/{call.inventory.number}/secrets/{name}/versions/1", "state": "ENABLED"}


def _repository_rights(call: Call) -> dict[str, Any]:
    _named(call, "repository", call.inventory.repositories)
    return call.held(call.body.get("permissions", []))


def _key_rights(call: Call) -> dict[str, Any]:
    return call.held(call.body.get("permissions", []))


def _tag(call: Call) -> dict[str, Any]:
    _named(call, "repository", call.inventory.repositories)
    return {"name": call.parts["tag"], "version": f"packages/{call.parts['package']}/versions/sha256:{'0' * 64}"}


def _image(call: Call) -> dict[str, Any]:
    _named(call, "repository", call.inventory.repositories)
    return {
        "name": call.parts["image"],
        "imageManifests": [{"os": "linux", "architecture": arch} for arch in ("amd64", "arm64")],
    }


_REPOSITORY = "v1/projects/{owner}/locations/{location}/repositories/{repository}"
ROUTES = (
    Route("GET", _STORAGE, "storage/v1/b/{bucket}/o", "storage.objects.list", _objects),
    Route("GET", _STORAGE, "storage/v1/b/{bucket}/iam/testPermissions", "", _bucket_rights),
    Route("POST", _SECRETS, "v1/projects/{project}/secrets/{secret}:testIamPermissions", "", _secret_rights),
    Route(
        "GET",
        _SECRETS,
        "v1/projects/{project}/secrets/{secret}/versions/latest",
        "secretmanager.versions.get",
        _version,
    ),
    Route(
        "POST",
        _KEYS,
        "v1/projects/{owner}/locations/{location}/keyRings/{ring}/cryptoKeys/{key}:testIamPermissions",
        "",
        _key_rights,
    ),
    Route(
        "POST",
        _REGISTRY,
        f"{_REPOSITORY}:testIamPermissions",
        "",
        _repository_rights,
    ),
    Route(
        "GET",
        _REGISTRY,
        f"{_REPOSITORY}/packages/{{package}}/tags/{{tag}}",
        "artifactregistry.tags.get",
        _tag,
    ),
    Route("GET", _REGISTRY, f"{_REPOSITORY}/dockerImages/{{image}}", "artifactregistry.dockerimages.get", _image),
)
