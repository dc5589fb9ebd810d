"""One difference between two pieces of data: where, what kind, and both values."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any, Literal

__all__ = ["Change", "Difference", "Opaque", "Path", "key_step", "renamed", "step", "written"]

Change = Literal["added", "removed", "changed", "replaced"]
"""``replaced``: an element that is told by comparing it with another one, whose place it takes."""
Path = tuple[str, ...]
"""Steps from the top: ``key``, ``--flag``, and in brackets what names an element of a list, or its place in it."""

_PLAIN_KEY = re.compile(r"[A-Za-z_$-][\w$-]*|\(\w+\)")
_ARROW = " -> "


@dataclass(frozen=True)
class Opaque:
    """A value that is not to be shown, or not known yet; ``hidden`` is compared, and never written anywhere."""

    word: Literal["secret", "unknown"]
    hidden: Any = field(default=None, repr=False)


@dataclass(frozen=True)
class Difference:
    """What differs at ``path``. What is added has no ``old``, what is removed no ``new``."""

    path: Path
    change: Change
    old: Any = None
    new: Any = None

    def mirrored(self) -> Difference:
        """Return the same difference seen from the other side."""
        other: dict[Change, Change] = {"added": "removed", "removed": "added"}
        path = tuple(_mirrored(part) for part in self.path)
        return Difference(path, other.get(self.change, self.change), self.new, self.old)


def step(identity: object) -> str:
    """Write what names an element of a list as a step."""
    return f"[{identity}]"


def key_step(key: object) -> str:
    """Write a key of a mapping as a step; one with dots or slashes stands in brackets."""
    text = str(key)
    return text if _PLAIN_KEY.fullmatch(text) else step(text)


def renamed(old: object, new: object) -> str:
    """Write the step of an element that takes the place of another one."""
    return step(old if old == new else f"{old}{_ARROW}{new}")


def _mirrored(part: str) -> str:
    if part.startswith("[") and _ARROW in part:
        old, _, new = part[1:-1].partition(_ARROW)
        return renamed(new, old)
    return part


def written(path: Path) -> str:
    """Return a path as one word: ``spec.template.spec.containers[engine].args.--max-num-seqs``."""
    text = ""
    for part in path:
        text += part if part.startswith("[") or not text else f".{part}"
    return text
