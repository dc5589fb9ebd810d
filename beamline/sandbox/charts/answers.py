"""What the registries answer: the pull half of the OCI distribution API, and classic Helm repositories.

Specifications: https://github.com/opencontainers/distribution-spec (pull) and https://helm.sh/docs/topics/registries,
https://helm.sh/docs/topics/chart_repository.
"""

import hashlib
import json
from dataclasses import dataclass

import yaml

from beamline.sandbox.charts.catalog import Chart, charts
from beamline.sandbox.charts.packages import metadata, packed

__all__ = ["Answer", "answer"]

_MANIFEST = "application/vnd.oci.image.manifest.v1+json"
_CONFIG = "application/vnd.cncf.helm.config.v1+json"
_LAYER = "application/vnd.cncf.helm.chart.content.v1.tar+gzip"
_LONG_AGO = "1970-01-01T00:00:00Z"


@dataclass(frozen=True)
class Answer:
    """An HTTP answer; an OCI registry also names its body's digest."""

    status: int
    content_type: str
    body: bytes
    digest: str = ""


def answer(host: str, path: str) -> Answer:
    """Return what ``https://host/path`` holds; 404 with the reason where that is nothing."""
    for chart in charts():
        if chart.host == host and (found := _from(chart, path.partition("?")[0])) is not None:
            return found
    known = ", ".join(f"{chart.reference} {version}" for chart in charts() for version in chart.versions)
    text = f"the sandbox has no {path} of {host}; its stand-in charts: {known}"
    errors = [{"code": "NOT_FOUND", "message": text}]
    return Answer(404, "application/json", json.dumps({"errors": errors}).encode())


def _from(chart: Chart, path: str) -> Answer | None:
    return _from_registry(chart, path) if chart.is_oci else _from_repository(chart, path)


def _from_registry(chart: Chart, path: str) -> Answer | None:
    root = f"/v2/{chart.path}/"
    if path == f"{root}tags/list":
        body = {"name": chart.path, "tags": list(chart.versions)}
        return Answer(200, "application/json", json.dumps(body).encode())
    for version in chart.versions:
        config = json.dumps(metadata(chart, version), sort_keys=True).encode()
        manifest = _manifest(config, packed(chart, version))
        if path in (f"{root}manifests/{version}", f"{root}manifests/{_digest(manifest)}"):
            return Answer(200, _MANIFEST, manifest, _digest(manifest))
        for blob in (config, packed(chart, version)):
            if path == f"{root}blobs/{_digest(blob)}":
                return Answer(200, "application/octet-stream", blob, _digest(blob))
    return None


def _from_repository(chart: Chart, path: str) -> Answer | None:
    root = f"/{chart.path}/"
    if path == f"{root}index.yaml":
        return Answer(200, "application/yaml", yaml.safe_dump(_index(chart)).encode())
    for version in chart.versions:
        if path == f"{root}charts/{chart.name}-{version}.tgz":
            return Answer(200, "application/gzip", packed(chart, version))
    return None


def _index(chart: Chart) -> dict[str, object]:
    entries = [
        {
            **metadata(chart, version),
            "created": _LONG_AGO,
            "digest": _digest(packed(chart, version)).removeprefix("sha256:"),
            "urls": [f"https://{chart.host}/{chart.path}/charts/{chart.name}-{version}.tgz"],
        }
        for version in chart.versions
    ]
    return {"apiVersion": "v1", "entries": {chart.name: entries}, "generated": _LONG_AGO}


def _manifest(config: bytes, layer: bytes) -> bytes:
    def descriptor(media_type: str, blob: bytes) -> dict[str, object]:
        return {"mediaType": media_type, "digest": _digest(blob), "size": len(blob)}

    manifest = {
        "schemaVersion": 2,
        "mediaType": _MANIFEST,
        "config": descriptor(_CONFIG, config),
        "layers": [descriptor(_LAYER, layer)],
    }
    return json.dumps(manifest, sort_keys=True).encode()


def _digest(blob: bytes) -> str:
    return f"sha256:{hashlib.sha256(blob).hexdigest()}"
