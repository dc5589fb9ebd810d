"""GKE versions: exact patches, compared part by part, with floors that hold within one Kubernetes minor."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

__all__ = ["SERVED_MINORS", "GkeVersion", "below_floor"]

_EXACT = re.compile(r"(\d+)\.(\d+)\.(\d+)-gke\.(\d+)")

SERVED_MINORS = ((1, 32), (1, 33), (1, 34), (1, 35), (1, 36))
"""Minors GKE offers for new clusters in late 2026; which patches of them is the inventory's."""


@dataclass(frozen=True, order=True)
class GkeVersion:
    """An exact GKE version, ``x.y.z-gke.n``."""

    major: int
    minor: int
    patch: int
    gke: int

    @classmethod
    def parse(cls, text: str) -> "GkeVersion":
        """Read an exact version. Raises ValueError for anything else, aliases such as ``1.35`` included."""
        found = _EXACT.fullmatch(text)
        if not found:
            raise ValueError(f"{text!r} is not an exact GKE version such as 1.35.8-gke.1036000")
        return cls(*(int(part) for part in found.groups()))

    def __str__(self) -> str:
        return f"{self.major}.{self.minor}.{self.patch}-gke.{self.gke}"


def below_floor(version: GkeVersion, floors: Iterable[GkeVersion]) -> GkeVersion | None:
    """Return the floor that the version misses; None when it is new enough.

    A floor counts within its own minor: 1.35.0 may lack what 1.34.3 has. A minor above the last floor has the feature.
    """
    ordered = sorted(floors)
    for floor in ordered:
        if (version.major, version.minor) == (floor.major, floor.minor):
            return floor if version < floor else None
    if ordered and (version.major, version.minor) < (ordered[0].major, ordered[0].minor):
        return ordered[0]
    return None
