"""Its log."""

from __future__ import annotations

import json
import sys
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

__all__ = ["Log"]


class Log:
    """One JSON object a line; an event comes at most once in ``every_s``, and then says how many were left out."""

    def __init__(self, write: Callable[[str], object] = sys.stdout.write, every_s: float = 30.0) -> None:
        self._write = write
        self._every_s = every_s
        self._said: dict[str, float] = {}
        self._left_out: Counter[str] = Counter()

    def say(self, event: str, **values: Any) -> None:
        """Say that something happened."""
        now = time.monotonic()
        if now - self._said.get(event, -self._every_s) < self._every_s:
            self._left_out[event] += 1
            return
        self._said[event] = now
        left_out = self._left_out.pop(event, 0)
        line = {"event": event, "time": round(time.time(), 3), **values, **({"left_out": left_out} if left_out else {})}
        self._write(json.dumps(line) + "\n")
        sys.stdout.flush()
