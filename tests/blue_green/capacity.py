"""How many engine pods are ready, on which pool, at every moment: from the API server's own watch of them.

A watch tells every change in the order in which it happened, so that nothing between two looks is missed.
"""

from __future__ import annotations

import json
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

__all__ = ["Moment", "Pods", "Watch", "engine_pods", "moments", "recorded"]

Command = Callable[[Sequence[str]], list[str]]
"""Words of kubectl -> what to run."""
_LIMIT_S = 60
"""What the watch may lag behind; longer, and it has ended."""


@dataclass(frozen=True)
class Moment:
    """What there is after one change. Pods that were told to end count as ending, ready or not."""

    at_s: float
    ready: Mapping[str, int]
    """By pool; pools without a ready pod are left out."""
    starting: int
    ending: int

    @property
    def together(self) -> int:
        """Ready pods on all pools."""
        return sum(self.ready.values())


@dataclass
class Pods:
    """The pods as the watch has told them so far; ``pool_of`` says in which pool a node is."""

    pool_of: Callable[[str], str]
    found: dict[str, dict[str, Any]] = field(default_factory=dict)

    def told(self, event: Mapping[str, Any]) -> None:
        """Take one event."""
        pod = event["object"]
        if event["type"] in ("ADDED", "MODIFIED"):
            self.found[pod["metadata"]["uid"]] = pod
        elif event["type"] == "DELETED":
            self.found.pop(pod["metadata"]["uid"], None)
        else:
            raise ValueError(f"the watch ended: {pod}")

    def moment(self, at_s: float) -> Moment:
        """Return what there is now."""
        staying = [pod for pod in self.found.values() if "deletionTimestamp" not in pod["metadata"]]
        ready: dict[str, int] = {}
        for pod in filter(_is_ready, staying):
            pool = self.pool_of(pod["spec"]["nodeName"])
            ready[pool] = ready.get(pool, 0) + 1
        return Moment(at_s, ready, len(staying) - sum(ready.values()), len(self.found) - len(staying))


def _is_ready(pod: Mapping[str, Any]) -> bool:
    conditions = (pod.get("status") or {}).get("conditions") or []
    return any(condition["type"] == "Ready" and condition["status"] == "True" for condition in conditions)


@dataclass
class Watch:
    """A running watch: what it has told, each with the second it came."""

    events: list[tuple[float, dict[str, Any]]] = field(default_factory=list)
    changed: threading.Condition = field(default_factory=threading.Condition)

    def read(self, lines: Iterator[bytes], started: float) -> None:
        """Take everything the API server tells."""
        for line in lines:
            event = json.loads(line)
            with self.changed:
                self.events.append((time.monotonic() - started, event))
                self.changed.notify_all()

    def caught_up(self, listed: Mapping[str, Any]) -> None:
        """Wait until the watch has told what a list, made just now, has; TimeoutError when it does not."""
        wanted = {(pod["metadata"]["uid"], pod["metadata"]["resourceVersion"]) for pod in listed["items"]}
        with self.changed:
            if not self.changed.wait_for(lambda: wanted <= self._versions(), _LIMIT_S):
                raise TimeoutError("the watch does not tell what the list has")

    def _versions(self) -> set[tuple[str, str]]:
        told = [event["object"]["metadata"] for _, event in self.events]
        return {(metadata["uid"], metadata["resourceVersion"]) for metadata in told}


def engine_pods(stack: str, namespace: str) -> str:
    """Return the path by which the API server lists the engine pods of a stack."""
    labels = {"app.kubernetes.io/instance": stack, "app.kubernetes.io/component": "engine"}
    query = urlencode({"labelSelector": ",".join(f"{key}={value}" for key, value in labels.items())})
    return f"/api/v1/namespaces/{namespace}/pods?{query}"


def moments(watch: Watch, pool_of: Callable[[str], str], replicas: int) -> tuple[Moment, ...]:
    """What there was from the start, with ``replicas`` pods, and after each change of it."""
    pods, found = Pods(pool_of), list[Moment]()
    for index, (at_s, event) in enumerate(watch.events):
        pods.told(event)
        now = pods.moment(at_s)
        if index >= replicas - 1 and (not found or _what(now) != _what(found[-1])):
            found.append(now)
    return tuple(found)


def _what(moment: Moment) -> tuple[Mapping[str, int], int, int]:
    return moment.ready, moment.starting, moment.ending


@contextmanager
def recorded(kubectl: Command, environment: Mapping[str, str], path: str) -> Iterator[Watch]:
    """Watch ``path``, a list of pods with its query, for as long as the block runs."""

    def run(*words: str) -> subprocess.Popen[bytes]:
        return subprocess.Popen(kubectl(words), env=dict(environment), stdout=subprocess.PIPE)

    def listed() -> Mapping[str, Any]:
        with run("get", "--raw", path) as process:
            assert process.stdout is not None
            found: Mapping[str, Any] = json.loads(process.stdout.read())
            return found

    watch, started = Watch(), time.monotonic()
    with run("get", "--raw", f"{path}&watch=1") as process:
        assert process.stdout is not None
        reader = threading.Thread(target=watch.read, args=(process.stdout, started), daemon=True)
        reader.start()
        try:
            watch.caught_up(listed())
            yield watch
            watch.caught_up(listed())
        finally:
            process.terminate()
            reader.join()
