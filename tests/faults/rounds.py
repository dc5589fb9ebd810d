"""One kill after the other, and what became of the stack: recovered, run again, compared with the world."""

from __future__ import annotations

import json
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from beamline.sandbox.cloud.ledger import Ledger
from tests.cli.command import run
from tests.faults.agreement import Agreement, agreement, in_ledger, in_server, in_state
from tests.faults.killing import Killed, kill_in
from tests.faults.schedule import Kill, Work
from tests.faults.stack import Stack

__all__ = ["CHANGES", "UP", "Survived", "compared", "recovered", "survived"]

UP = ("up", "--yes", "--skip-preview")
_DOWN = ("destroy", "--yes", "--skip-preview")
_UNPROTECT = ("state", "unprotect", "--all", "--yes")
"""What ``beamline down`` does before it destroys: the resources of a production stack are protected."""
_ATTEMPTS = 4
"""How often a kill may miss, because the operation had ended or there were too few."""
CHANGES: tuple[Mapping[str, Any], ...] = (
    {},
    {
        "system_pool": {"nodes": 3},
        "serving": {"engine": {"max_sequences": 8}},
        "monitoring": {"scrape_interval_s": 15},
    },
)
"""Overrides that take turns: each update changes a pool, a workload and a custom resource, and replaces objects."""


@dataclass(frozen=True)
class Survived:
    """One kill, what recover did about it, and whether all was well then."""

    kill: Kill
    stack: str
    killed: Killed | None = None
    """None where it did not come to the kill."""
    found: tuple[str, ...] = ()
    """What recover found."""
    did: tuple[str, ...] = ()
    """What it did."""
    converged: bool = False
    """The same command, run again, succeeded, and once more had nothing to do."""
    agreement: Agreement | None = None
    """None where it did not come to the comparison."""
    said: str = ""
    """What was said where it did not converge."""

    @property
    def operation(self) -> str:
        """What was killed, in words."""
        return str(self.killed.operation) if self.killed else "nothing"

    @property
    def is_well(self) -> bool:
        """It converged, and nothing is orphaned, missing or double."""
        return self.converged and self.agreement is not None and self.agreement.is_whole


def survived(stack: Stack, kill: Kill, report: Callable[[str], None]) -> Survived:
    """Kill, recover and compare. Whatever goes wrong on the way is the result: the kill was not survived."""
    result = Survived(kill, stack.preset)
    try:
        _set_stage(stack, kill)
        command = _DOWN if kill.work is Work.DELETE else UP
        result = replace(result, killed=_killed(stack, kill, command))
        report(f"kill {kill.number}: {kill.victim} in {result.operation}")
        found, did = recovered(stack)
        result = replace(result, found=found, did=did)
        converged, said = _again(stack, command)
        result = replace(result, converged=converged, said="" if converged else said)
        return replace(result, agreement=compared(stack))
    except Exception as failure:  # noqa: BLE001 - a defect in what is tested here is what is looked for
        said = "".join(traceback.format_exception_only(failure)).strip()
        return replace(result, converged=False, said=f"{result.said}\n{said}".strip())


def compared(stack: Stack) -> Agreement:
    """Compare state, ledger and API server."""
    there = [*in_ledger(Ledger(stack.home.ledger)), *in_server(stack.api)]
    return agreement(in_state(stack.state()), there)


def _set_stage(stack: Stack, kill: Kill) -> None:
    """Bring the stack to where the work begins: empty for a create, standing for the others.

    An update begins with what the last one made; a delete with what may be deleted, as ``beamline down`` sees to.
    """
    is_empty = not in_state(stack.state())
    if kill.work is Work.CREATE and not is_empty:
        _take_down(stack)
    if kill.work is not Work.CREATE and is_empty:
        stack.configure(_before(kill))
        _must(stack, *UP)
    stack.configure(CHANGES[kill.updates % len(CHANGES)])
    if kill.work is Work.DELETE:
        _must(stack, *_UNPROTECT)


def _before(kill: Kill) -> Mapping[str, Any]:
    """Return the overrides that the work begins with."""
    return CHANGES[(kill.updates - (kill.work is Work.UPDATE)) % len(CHANGES)]


def _take_down(stack: Stack) -> None:
    _must(stack, *_UNPROTECT)
    _must(stack, *_DOWN)


def _must(stack: Stack, *arguments: str) -> None:
    ran = stack.pulumi(*arguments)
    assert ran.code == 0, ran.output


def _killed(stack: Stack, kill: Kill, command: Sequence[str]) -> Killed:
    """Kill where the seed says; one that misses is tried again, earlier and earlier."""
    begin = int(kill.choice * _operations(stack, kill))
    for _ in range(_ATTEMPTS):
        killed = kill_in(stack, kill, begin, *command)
        if killed is not None:
            return killed
        recovered(stack)
        _set_again(stack, kill)
        begin //= 2
    raise AssertionError(f"kill {kill.number} ({kill.victim} in {kill.work}) hit nothing in {_ATTEMPTS} attempts")


def _set_again(stack: Stack, kill: Kill) -> None:
    """After a miss the work is done: undo it."""
    if kill.work is not Work.CREATE:
        stack.configure(_before(kill))
        _must(stack, *UP)
    _set_stage(stack, kill)


def _operations(stack: Stack, kill: Kill) -> int:
    """Return roughly how many operations the kill can choose from; it comes before the last third of them."""
    package = {"simulated Google provider": "gcp:", "Kubernetes provider": "kubernetes:"}.get(kill.victim, "")
    if kill.work is Work.UPDATE:
        return 1 if package == "gcp:" else 3
    count = 40 if kill.work is Work.CREATE else len(in_state(stack.state()))
    return {"gcp:": 12, "kubernetes:": 15}.get(package, count * 2 // 3)


def recovered(stack: Stack) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Run ``beamline recover`` as its user does."""
    ran = run("recover", stack.name, "--sandbox", "--yes", "--adopt", "--json")
    assert ran.code == 0, ran.stdout + ran.stderr
    found = json.loads(ran.stdout)
    return (
        tuple(f"{each['subject']}: {each['found']}" for each in found["findings"]),
        tuple(f"{each['subject']}: {each['did']}" for each in found["done"]),
    )


def _again(stack: Stack, command: Sequence[str]) -> tuple[bool, str]:
    """Run the command again, and once more to see that there is nothing left to do."""
    ran = stack.pulumi(*command)
    if ran.code != 0:
        return False, ran.output
    if command is _DOWN:
        return in_state(stack.state()) == [], ran.output
    ran = stack.pulumi(*UP, "--expect-no-changes")
    return ran.code == 0, ran.output
