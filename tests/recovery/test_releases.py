"""Helm's own record of a release: read, and set to failed; nothing else of it changes."""

from __future__ import annotations

import base64
import gzip
import json
from typing import Any

import pytest

from beamline.recovery.releases import Revision


def _secret(status: str, *, zipped: bool = True) -> dict[str, Any]:
    raw = json.dumps({"name": "lws", "info": {"status": status, "first_deployed": "T"}, "manifest": "---"}).encode()
    packed = base64.b64encode(gzip.compress(raw) if zipped else raw)
    labels = {"owner": "helm", "name": "lws", "version": "1", "status": status}
    metadata = {"name": "sh.helm.release.v1.lws.v1", "resourceVersion": "42", "labels": labels}
    return {"kind": "Secret", "metadata": metadata, "data": {"release": base64.b64encode(packed).decode()}}


def _record(secret: dict[str, Any]) -> Any:
    return json.loads(gzip.decompress(base64.b64decode(base64.b64decode(secret["data"]["release"]))))


@pytest.mark.parametrize(
    ("status", "is_unfinished"),
    [
        ("pending-install", True),
        ("pending-upgrade", True),
        ("pending-rollback", True),
        ("uninstalling", True),
        ("deployed", False),
        ("failed", False),
    ],
)
@pytest.mark.parametrize("zipped", [True, False])
def test_a_revision_says_whether_helm_was_cut_off(status: str, *, is_unfinished: bool, zipped: bool) -> None:
    revision = Revision(_secret(status, zipped=zipped))
    assert (revision.status, revision.is_unfinished) == (status, is_unfinished)


def test_a_revision_marked_as_failed_is_otherwise_the_same() -> None:
    """With the version that was read: the API server refuses it when somebody was faster."""
    before = _secret("pending-install")
    after = Revision(before).failed()
    assert _record(after) == {
        "name": "lws",
        "info": {"status": "failed", "first_deployed": "T", "description": "interrupted while pending-install"},
        "manifest": "---",
    }
    assert after["metadata"] == {**before["metadata"], "labels": {**before["metadata"]["labels"], "status": "failed"}}
