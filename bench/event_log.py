"""When resources were begun and done, read from the engine's event log as it grows.

The log's own timestamps are whole seconds, so each line is stamped as it is seen.
"""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import Any

__all__ = ["Stamped", "follow", "span_s"]

_LOOK_EVERY_S = 0.01

Stamped = tuple[float, dict[str, Any]]
"""Seconds of a monotonic clock, and the event."""


def follow(process: subprocess.Popen[bytes], log: Path) -> Iterator[Stamped]:
    """Yield the log's events until the process has ended; one is seen at most some 10 ms after it was written."""
    log.touch()
    with log.open("rb") as file:
        partial = b""
        ended = False
        while not ended:
            ended = process.poll() is not None  # before reading: what it wrote last is read, too
            seen = time.perf_counter()
            *lines, partial = (partial + file.read()).split(b"\n")
            yield from ((seen, json.loads(line)) for line in lines if line)
            if not ended and not lines:
                time.sleep(_LOOK_EVERY_S)


def span_s(events: Iterable[Stamped], urns: Collection[str]) -> float:
    """Return the seconds from when the first of ``urns`` was begun until the last was created.

    Raises ValueError unless the engine created just these and, of Kubernetes, nothing else.
    """
    begun: list[float] = []
    created: dict[str, float] = {}
    for seen, event in events:
        if "resourcePreEvent" in event and event["resourcePreEvent"]["metadata"]["urn"] in urns:
            begun.append(seen)
        elif "resOutputsEvent" in event:
            metadata = event["resOutputsEvent"]["metadata"]
            if metadata["op"] == "create" and metadata["type"].startswith("kubernetes:"):
                created[metadata["urn"]] = seen
    if set(created) != set(urns):
        raise ValueError(f"the engine created other objects than meant: {sorted(set(created) ^ set(urns))}")
    return max(created.values()) - min(begun)
