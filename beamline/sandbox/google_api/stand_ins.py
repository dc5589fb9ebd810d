"""Stand-ins for whom a preflight asks besides Google: every image is there for both processors, every revision, too."""

from __future__ import annotations

import json
import re
from http import HTTPStatus

__all__ = ["stand_in"]

_MANIFEST = re.compile(r"/registries/[^/]+/v2/.+/manifests/[^/]+")
_REVISION = re.compile(r"/hub/api/models/[^/]+/[^/]+/revision/[^/]+")
_INDEX = {
    "schemaVersion": 2,
    "mediaType": "application/vnd.oci.image.index.v1+json",
    "manifests": [{"platform": {"os": "linux", "architecture": arch}} for arch in ("amd64", "arm64")],
}


def stand_in(method: str, path: str) -> tuple[HTTPStatus, bytes] | None:
    """Return the answer of a registry or of the hub; None when the request is for neither."""
    if not path.startswith(("/registries/", "/hub/")):
        return None
    if method == "GET" and _MANIFEST.fullmatch(path):
        return HTTPStatus.OK, json.dumps(_INDEX).encode()
    if method == "GET" and _REVISION.fullmatch(path):
        return HTTPStatus.OK, b"{}"
    return HTTPStatus.NOT_FOUND, b"{}"
