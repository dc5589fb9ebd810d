"""What the simulated third-party operators write: objects as they want them, statuses, events.

An object is applied when it is missing or was applied differently; the annotation that tells is the simulation's, in
place of the hashes that the real operators keep. Nothing raises because an object is refused: the refusal comes back as
text, because it belongs into a status.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from beamline.sandbox.cloud.api_server import ApiServer, Kind
from beamline.sandbox.cloud.errors import CloudError
from beamline.sandbox.operators.conditions import changed
from beamline.sandbox.operators.world import WATCHED, Manifest, World, key_of

__all__ = ["Writer", "controls", "digest", "owner_of"]

_APPLIED = "sandbox.beamline.dev/applied"
_EVENT = Kind("v1", "Event", "events", namespaced=True)


@dataclass
class Writer:
    """Writes into one cluster; knows from the world what is there."""

    world: World
    api: ApiServer
    _said: set[tuple[str, str]] = field(default_factory=set)
    """Events already written, as uid and message."""

    def ensure(self, manifest: dict[str, Any]) -> str:
        """Create or change an object. Return why it was refused; empty when it is as wanted."""
        mark = digest(manifest)
        present = self.world.find(*key_of(manifest))
        if present is not None and (present["metadata"].get("annotations") or {}).get(_APPLIED) == mark:
            return ""
        metadata = manifest["metadata"]
        annotations = {**metadata.get("annotations", {}), _APPLIED: mark}
        try:
            self.api.apply(_kind(manifest), {**manifest, "metadata": {**metadata, "annotations": annotations}})
        except CloudError as refused:
            return _reason(refused)
        return ""

    def create(self, manifest: dict[str, Any]) -> str:
        """Create an object unless there is one of its name. Return why it was refused."""
        try:
            self.api.create(_kind(manifest), manifest)
        except CloudError as refused:
            return _reason(refused)
        return ""

    def delete(self, manifest: Manifest) -> None:
        """Ask for an object's deletion, once."""
        if "deletionTimestamp" not in manifest["metadata"]:
            self.api.delete(_path(manifest))

    def merge(self, manifest: Manifest, change: Mapping[str, Any]) -> None:
        """Change some fields of an object."""
        self.api.merge(_path(manifest), change)

    def status(self, manifest: Manifest, status: Mapping[str, Any]) -> None:
        """Write a status that says something new."""
        if changed(status, manifest.get("status") or {}):
            self.api.merge(f"{_path(manifest)}/status", {"status": status})

    def warn(self, manifest: Manifest, reason: str, message: str, component: str) -> None:
        """Write an event about an object, each message once."""
        metadata = manifest["metadata"]
        if (metadata["uid"], message) in self._said:
            return
        self._said.add((metadata["uid"], message))
        now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        group, version, _ = WATCHED[manifest["kind"]]
        about = {
            "apiVersion": f"{group}/{version}".strip("/"),
            "kind": manifest["kind"],
            **{key: metadata[key] for key in ("name", "namespace", "uid") if key in metadata},
        }
        event = {
            "metadata": {
                "name": f"{metadata['name']}.{digest([metadata['uid'], message])}",
                "namespace": metadata.get("namespace", "default"),
            },
            "type": "Warning",
            "reason": reason,
            "message": f"{message} (simulated)",
            "involvedObject": about,
            "source": {"component": component},
            "firstTimestamp": now,
            "lastTimestamp": now,
            "count": 1,
        }
        self.api.create(_EVENT, event)


def digest(value: object) -> str:
    """Return a short hash of plain data."""
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:10]


def owner_of(manifest: Manifest) -> dict[str, Any]:
    """Return the owner reference by which Kubernetes collects what an object made, once it is gone."""
    group, version, _ = WATCHED[manifest["kind"]]
    return {
        "apiVersion": f"{group}/{version}".strip("/"),
        "kind": manifest["kind"],
        "name": manifest["metadata"]["name"],
        "uid": manifest["metadata"]["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }


def controls(owner: Manifest, manifest: Manifest) -> bool:
    """Tell whether one object made another."""
    references = manifest["metadata"].get("ownerReferences") or []
    return any(reference["uid"] == owner["metadata"]["uid"] for reference in references)


def _reason(refused: CloudError) -> str:
    """Return what the server said, without the request that it refused."""
    return str(refused).partition(": ")[2] or str(refused)


def _kind(manifest: Manifest) -> Kind:
    group, version, plural = WATCHED[manifest["kind"]]
    namespaced = "namespace" in manifest["metadata"]
    return Kind(f"{group}/{version}".strip("/"), manifest["kind"], plural, namespaced=namespaced)


def _path(manifest: Manifest) -> str:
    metadata = manifest["metadata"]
    return _kind(manifest).path(metadata.get("namespace", ""), metadata["name"])
