"""Asks everything at once. One slow or broken question costs the others nothing."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from beamline.preflight.findings import Check, Finding, Standing
from beamline.preflight.google import NotFoundError, UnansweredError
from beamline.preflight.target import Target
from beamline.preflight.world import World

__all__ = ["Report", "run_checks"]


@dataclass(frozen=True)
class Report:
    """The findings of every check that applies, in the order of the checks."""

    findings: Mapping[str, Sequence[Finding]]

    def of(self, standing: Standing) -> list[Finding]:
        """Return the findings that ended so."""
        return [finding for found in self.findings.values() for finding in found if finding.standing is standing]


def run_checks(
    checks: Sequence[Check[Any]],
    target: Target,
    world: World,
    *,
    clock: Callable[[], float] = time.monotonic,
    report: Callable[[Check[Any]], None] = lambda _: None,
) -> Report:
    """Ask every check that applies to the stack; ``report`` is called as each of them ends.

    No check outlives its deadline, so the whole takes no longer than the longest of them. Threads that still wait for
    an answer end with the process.
    """
    asked = [check for check in checks if check.applies(target)]
    answers: queue.SimpleQueue[tuple[str, list[Finding]]] = queue.SimpleQueue()
    for check in asked:
        work = threading.Thread(
            target=lambda c=check: answers.put((c.id, _answered(c, target, world))), name=check.id, daemon=True
        )
        work.start()
    ends = {check.id: clock() + check.deadline_s for check in asked}
    found: dict[str, list[Finding]] = {}
    waiting = {check.id: check for check in asked}
    while waiting:
        _take(answers, waiting, found, min(ends[name] for name in waiting) - clock(), report)
        for name, check in list(waiting.items()):
            if name not in found and clock() >= ends[name]:
                found[name] = [_late(check)]
                report(waiting.pop(name))
    return Report({check.id: [_sourced(check, finding) for finding in found[check.id]] for check in asked})


def _take(
    answers: queue.SimpleQueue[tuple[str, list[Finding]]],
    waiting: dict[str, Check[Any]],
    found: dict[str, list[Finding]],
    seconds: float,
    report: Callable[[Check[Any]], None],
) -> None:
    """Wait for the next answer, at most so long; one that comes after its deadline is not taken."""
    try:
        name, findings = answers.get(timeout=max(seconds, 0))
    except queue.Empty:
        return
    if name in waiting:
        found[name] = findings
        report(waiting.pop(name))


def _answered(check: Check[Any], target: Target, world: World) -> list[Finding]:
    try:
        return check.judge(target, check.look(target, world))
    except NotFoundError as error:
        return [_of_nothing(check, target, error)]
    except UnansweredError as error:
        return [Finding.unknown(check.asks, str(error), "see to it that the question can be answered, and ask again")]
    except Exception as error:  # noqa: BLE001 - whatever went wrong, the question stays open and the others go on
        return [
            Finding.unknown(
                check.asks,
                f"the answer could not be understood ({type(error).__name__}: {error})",
                "ask again; if it stays so, report it with this line",
            )
        ]


def _of_nothing(check: Check[Any], target: Target, error: NotFoundError) -> Finding:
    """Return the problem that the place itself is not there: a check knows what else it asks about may be missing."""
    return Finding.problem(
        "project-or-region-missing",
        "project",
        check.asks,
        found=str(error),
        needed=f"a project {target.project} that is there and shown to you, and a region {target.region} of Google's",
        remedy="correct project and region; gcloud projects list and gcloud compute regions list show those there are",
    )


def _sourced(check: Check[Any], finding: Finding) -> Finding:
    return finding if finding.source else replace(finding, source=check.source)


def _late(check: Check[Any]) -> Finding:
    return Finding.unknown(check.asks, f"no answer within {check.deadline_s:g} s", "ask again when the network is well")
