"""Groups of pods that are one replica together: made whole, replaced whole.

LeaderWorkerSets and Grove's scaling groups both work so. The real ones put StatefulSets or PodCliques between
themselves and the pods; here the pods are made directly.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from beamline.sandbox.operators.pods import broken, going, is_ready
from beamline.sandbox.operators.world import Manifest
from beamline.sandbox.operators.writing import Writer

__all__ = ["REVISION", "Group", "Groups", "Progress", "revision_of"]

REVISION = "sandbox.beamline.dev/revision"
"""Annotation of a pod: the template it was made from."""


def revision_of(pod: Manifest) -> str | None:
    """Return the template that a pod was made from."""
    found: str | None = (pod["metadata"].get("annotations") or {}).get(REVISION)
    return found


@dataclass(frozen=True)
class Group:
    """One replica as it should be."""

    key: str
    """Unlike any other group's, whoever owns it."""
    revision: str
    pods: tuple[dict[str, Any], ...]
    """The leader first. Every pod carries the revision."""
    leader_first: bool = False
    """The others are made once the leader is ready."""


@dataclass
class Progress:
    """How far the groups of one owner are."""

    ready: int = 0
    updated: int = 0
    """Groups whose pods are all of the wanted revision."""
    refused: list[str] = field(default_factory=list)
    """Why pods could not be made."""


@dataclass(frozen=True)
class _Found:
    """A group beside the pods of it that there are."""

    group: Group
    pods: list[Manifest]

    @property
    def complete(self) -> bool:
        return len(self.pods) == len(self.group.pods)

    @property
    def ready(self) -> bool:
        return self.complete and all(map(is_ready, self.pods))

    @property
    def stale(self) -> bool:
        return bool({revision_of(pod) for pod in self.pods} - {self.group.revision})

    @property
    def leader(self) -> Manifest | None:
        name = self.group.pods[0]["metadata"]["name"]
        return next((pod for pod in self.pods if pod["metadata"]["name"] == name), None)


@dataclass
class Groups:
    """Keeps groups as wanted; remembers the pods of whole ones, to tell a lost pod from one not made yet."""

    writer: Writer
    _whole: dict[str, set[str]] = field(default_factory=dict)
    """Key of a group to the uids of its pods when it was last whole."""

    def reconcile(
        self, wanted: Sequence[Group], present: Iterable[Manifest], *, together: bool, max_unavailable: int = 1
    ) -> Progress:
        """Make, replace and remove pods.

        ``present`` are the owner's pods. ``together``: a pod that is lost or fails takes its group with it. At most
        ``max_unavailable`` groups are out of work for being replaced.
        """
        pods = {pod["metadata"]["name"]: pod for pod in present}
        named = {pod["metadata"]["name"] for group in wanted for pod in group.pods}
        self._remove(pod for name, pod in pods.items() if name not in named)
        found = [
            _Found(group, [pods[pod["metadata"]["name"]] for pod in group.pods if pod["metadata"]["name"] in pods])
            for group in wanted
        ]
        progress = Progress(
            ready=sum(one.ready for one in found), updated=sum(one.complete and not one.stale for one in found)
        )
        budget = max_unavailable - sum(not one.ready for one in found)
        for one in found:
            if not one.stale:
                progress.refused += self._fill(one, together=together)
            elif not one.ready or budget > 0:
                budget -= one.ready
                self._remove(one.pods)
        return progress

    def _fill(self, found: _Found, *, together: bool) -> list[str]:
        """Bring a group of the wanted revision to strength; return what was refused."""
        uids = {pod["metadata"]["uid"] for pod in found.pods}
        failed = [pod for pod in found.pods if broken(pod) or going(pod)]
        if found.complete and not failed:
            self._whole[found.group.key] = uids
            return []
        before = self._whole.get(found.group.key, set())
        if together and (failed or (before & uids and before - uids)):
            self._remove(found.pods)
            return []
        self._remove(pod for pod in failed if (pod.get("status") or {}).get("phase") == "Failed")
        first, *others = found.group.pods
        waits = found.group.leader_first and not (found.leader and is_ready(found.leader))
        there = {pod["metadata"]["name"] for pod in found.pods}
        missing = [pod for pod in [first, *([] if waits else others)] if pod["metadata"]["name"] not in there]
        return [refusal for pod in missing if (refusal := self.writer.create(pod))]

    def _remove(self, pods: Iterable[Manifest]) -> None:
        for pod in pods:
            self.writer.delete(pod)
