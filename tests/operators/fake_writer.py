"""A writer into a world of its own: what is created is there at once, what is deleted is gone at once."""

from __future__ import annotations

import copy
from typing import Any

from beamline.sandbox.operators.world import Manifest, World
from beamline.sandbox.operators.writing import Writer


class FakeWriter(Writer):
    def __init__(self) -> None:
        super().__init__(World(), api=None)  # type: ignore[arg-type]
        self.log: list[str] = []
        self.refuses = ""
        self._made = 0

    def create(self, manifest: dict[str, Any]) -> str:
        if self.refuses:
            return self.refuses
        self._made += 1
        made = copy.deepcopy(manifest)
        made["metadata"]["uid"] = f"uid-{self._made}"
        self.log.append(f"create {made['metadata']['name']}")
        self.world.put(made)
        return ""

    def delete(self, manifest: Manifest) -> None:
        self.log.append(f"delete {manifest['metadata']['name']}")
        self.world.drop(manifest)

    def warn(self, manifest: Manifest, reason: str, message: str, component: str) -> None:
        self.log.append(f"{component} of {manifest['metadata']['name']}: {reason}: {message}")

    def status_of(self, name: str, **status: Any) -> None:
        """Let a pod report."""
        pod = self.world.find("Pod", "serving", name)
        assert pod is not None
        self.world.put({**pod, "status": status})

    def taken(self) -> list[str]:
        """Return what was done since the last time."""
        done, self.log = self.log, []
        return done
