"""Stand-ins for whom a preflight asks besides Google: every image is there for both processors, every revision, too."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from functools import cache
from http import HTTPStatus
from typing import Any

__all__ = ["stand_in"]

_CONTENT = re.compile(r"/registries/[^/]+/v2/.+/(manifests|blobs)/([^/]+)")
_REVISION = re.compile(r"/hub/api/models/[^/]+/[^/]+/revision/[^/]+")
_OCI = "application/vnd.oci.image"
_CUDA = "13.0.1"
"""What every image is built with."""


def stand_in(method: str, path: str) -> tuple[HTTPStatus, bytes] | None:
    """Return the answer of a registry or of the hub; None when the request is for neither."""
    if not path.startswith(("/registries/", "/hub/")):
        return None
    found = _CONTENT.fullmatch(path)
    if method == "GET" and found:
        known = _contents()
        body = known.get(found[2], known["index"] if found[1] == "manifests" else None)
        return (HTTPStatus.OK, body) if body is not None else (HTTPStatus.NOT_FOUND, b"{}")
    if method == "GET" and _REVISION.fullmatch(path):
        return HTTPStatus.OK, b"{}"
    return HTTPStatus.NOT_FOUND, b"{}"


@cache
def _contents() -> dict[str, bytes]:
    """Return the one image there is by digest, and its index."""
    found: dict[str, bytes] = {}
    entries = []
    for arch in ("amd64", "arm64"):
        config = _added(found, {"os": "linux", "architecture": arch, "config": {"Env": [f"CUDA_VERSION={_CUDA}"]}})
        digest = _added(
            found, {"schemaVersion": 2, "mediaType": f"{_OCI}.manifest.v1+json", "config": {"digest": config}}
        )
        entries.append({"digest": digest, "platform": {"os": "linux", "architecture": arch}})
    index = {"schemaVersion": 2, "mediaType": f"{_OCI}.index.v1+json", "manifests": entries}
    found["index"] = json.dumps(index).encode()
    return found


def _added(contents: dict[str, bytes], content: Mapping[str, Any]) -> str:
    body = json.dumps(content).encode()
    digest = f"sha256:{hashlib.sha256(body).hexdigest()}"
    contents[digest] = body
    return digest
