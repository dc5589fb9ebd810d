"""What a rule is: an id, the reason it exists, the way out, who says so, and the function that looks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from beamline.engine.graph import Graph
from stacks.problems import Problem, Severity

__all__ = ["Finding", "Rule"]


@dataclass(frozen=True)
class Finding:
    """One place where a rule does not hold.

    ``path`` is ``Kind/name.field`` of the object, ``urn`` the resource behind it, ``detail`` what is wrong there.
    """

    path: str
    urn: str
    detail: str
    value: object = None
    allowed: str = ""


@dataclass(frozen=True)
class Rule:
    """One rule. ``why`` says what happens when it is broken; ``find`` yields every place, never just the first."""

    id: str
    why: str
    remedy: str
    source: str
    find: Callable[[Graph], Iterator[Finding]]
    severity: Severity = "error"

    def problems(self, graph: Graph) -> list[Problem]:
        """Return one problem per finding."""
        return [
            Problem(
                rule=self.id,
                path=finding.path,
                value=finding.value,
                why=f"{finding.detail}; {self.why}",
                allowed=finding.allowed,
                remedy=self.remedy,
                where=finding.urn,
                source=self.source,
                severity=self.severity,
            )
            for finding in self.find(graph)
        ]
