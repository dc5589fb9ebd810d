"""Helm releases that were cut off: Helm refuses to touch one that says it is being worked on.

Helm keeps each revision of a release in a Secret, with its status. One that was interrupted politely says ``failed``,
and the next upgrade goes on from there; one that was killed says ``pending-install`` or ``pending-upgrade`` for ever.
So the status is set to what Helm itself would have written. Nothing that the chart installed is touched.

Helm's states: https://github.com/helm/helm/blob/v3.19.0/pkg/release/status.go
"""

from __future__ import annotations

import base64
import gzip
import json
import os
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from beamline.recovery.engine import Engine

__all__ = ["Cluster", "Revision", "Unreachable", "cluster", "latest", "marked_failed"]

UNFINISHED = ("pending-install", "pending-upgrade", "pending-rollback", "uninstalling")
_TIMEOUT_S = 60


class Unreachable(Exception):  # noqa: N818 - a fact about the cluster
    """The cluster cannot be asked; the text says why."""


@dataclass(frozen=True)
class Cluster:
    """A cluster, asked through kubectl."""

    kubectl: str
    kubeconfig: Path
    environment: Mapping[str, str]

    def ask(self, *arguments: str, stdin: str = "") -> str:
        """Run one command and return its output. Raises Unreachable with what it said when it fails."""
        command = [self.kubectl, "--kubeconfig", str(self.kubeconfig), f"--request-timeout={_TIMEOUT_S}s", *arguments]
        done = subprocess.run(
            command, input=stdin, env=dict(self.environment), capture_output=True, text=True, check=False
        )
        if done.returncode != 0:
            raise Unreachable(done.stderr.strip().rpartition("\n")[2])  # before that it repeats itself
        return done.stdout


@dataclass(frozen=True)
class Revision:
    """The latest revision of a release, as Helm keeps it."""

    secret: Mapping[str, Any]

    @property
    def status(self) -> str:
        """What Helm says of it."""
        return str(self._record()["info"]["status"])

    @property
    def is_unfinished(self) -> bool:
        """Helm was working on it."""
        return self.status in UNFINISHED

    def failed(self) -> dict[str, Any]:
        """Return the Secret that says so."""
        record = self._record()
        record["info"] |= {"status": "failed", "description": f"interrupted while {record['info']['status']}"}
        packed = base64.b64encode(gzip.compress(json.dumps(record).encode(), mtime=0))
        metadata = self.secret["metadata"]
        labels = {**metadata["labels"], "status": "failed"}
        data = {"release": base64.b64encode(packed).decode()}
        return {**self.secret, "metadata": {**metadata, "labels": labels}, "data": data}

    def _record(self) -> dict[str, Any]:
        raw = base64.b64decode(base64.b64decode(self.secret["data"]["release"]))
        found: dict[str, Any] = json.loads(gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw)
        return found


@contextmanager
def cluster(engine: Engine, settings: Mapping[str, Any]) -> Iterator[Cluster]:
    """Give the cluster that a Kubernetes provider with these settings talks to. Raises Unreachable."""
    kubectl, kubeconfig = engine.tool("kubectl"), _plain(settings.get("kubeconfig"))
    if kubectl is None:
        raise Unreachable("kubectl is not on PATH")
    if kubeconfig is None:
        raise Unreachable("the state has no kubeconfig")
    with tempfile.TemporaryDirectory(prefix="beamline-") as folder:
        file = Path(folder) / "kubeconfig"
        with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as out:
            out.write(kubeconfig)
        yield Cluster(kubectl, file, engine.environment)


def latest(where: Cluster, namespace: str, name: str) -> Revision | None:
    """Return the latest revision of a release; None when there is none. Raises Unreachable."""
    selector = f"owner=helm,name={name}"
    answer = json.loads(where.ask("get", "secrets", "--namespace", namespace, "--selector", selector, "-o", "json"))
    found = sorted(answer["items"], key=lambda each: int(each["metadata"]["labels"]["version"]))
    return Revision(found[-1]) if found else None


def marked_failed(where: Cluster, revision: Revision) -> None:
    """Write that a revision failed, unless somebody changed it meanwhile. Raises Unreachable."""
    where.ask("replace", "--filename", "-", stdin=json.dumps(revision.failed()))


def _plain(value: Any) -> str | None:
    """Return a text, also where the state shows it as a secret in plain."""
    if isinstance(value, Mapping):
        value = json.loads(value.get("plaintext", "null"))
    return value if isinstance(value, str) else None
