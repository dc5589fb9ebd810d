"""One kill after the other, and what became of the stack: recovered, run again, compared with the world."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from beamline.sandbox.cloud.ledger import Ledger
from tests.cli.command import run
from tests.faults.agreement import Agreement, agreement, in_ledger, in_server, in_state
from tests.faults.killing import Killed, kill_in
from tests.faults.schedule import Kill, Work
from tests.faults.stack import Stack

__all__ = ["UP", "Survived", "compared", "recovered", "survive"]

UP = ("up", "--yes", "--skip-preview")
_DOWN = ("destroy", "--yes", "--skip-preview")
_ATTEMPTS = 4
"""How often a kill may miss, because the operation had ended or there were too few."""
_CHANGES: tuple[Mapping[str, Any], ...] = (
    {},
    {
        "system_pool": {"nodes": 2},
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
    killed: Killed
    found: tuple[str, ...]
    """What recover found."""
    did: tuple[str, ...]
    """What it did."""
    converged: bool
    """The same command, run again, succeeded, and once more had nothing to do."""
    agreement: Agreement
    said: str = ""
    """What Pulumi said where it did not converge."""


def survive(stack: Stack, kills: Sequence[Kill], report: Callable[[str], None]) -> Iterator[Survived]:
    """Kill, recover and compare, kill by kill; a create begins with an empty stack, the others with one that stands."""
    turn = 0
    for kill in kills:
        if kill.work is Work.UPDATE:
            turn += 1
        stack.configure(_CHANGES[turn % len(_CHANGES)])
        _set_stage(stack, kill)
        command = _DOWN if kill.work is Work.DELETE else UP
        killed = _killed(stack, kill, command)
        report(f"kill {kill.number}: {kill.victim} in {killed.operation}")
        found, did = recovered(stack)
        converged, said = _again(stack, command)
        agreed = compared(stack)
        yield Survived(kill, stack.preset, killed, found, did, converged, agreed, "" if converged else said)


def compared(stack: Stack) -> Agreement:
    """Compare state, ledger and API server."""
    there = [*in_ledger(Ledger(stack.home.ledger)), *in_server(stack.api)]
    return agreement(in_state(stack.state()), there)


def _set_stage(stack: Stack, kill: Kill) -> None:
    """Bring the stack to where the work begins: empty for a create, standing for the others."""
    is_empty = not in_state(stack.state())
    if kill.work is Work.CREATE and not is_empty:
        _must(stack, *_DOWN)
    if kill.work is not Work.CREATE and is_empty:
        _must(stack, *UP)


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
    if kill.work is Work.CREATE:
        _must(stack, *_DOWN)
    elif kill.work is Work.DELETE:
        _must(stack, *UP)
    else:
        stack.configure(_CHANGES[0])
        _must(stack, *UP)
        stack.configure(_CHANGES[1])


def _operations(stack: Stack, kill: Kill) -> int:
    """Return roughly how many operations the kill can choose from; it comes before the last third of them."""
    package = {"simulated Google provider": "gcp:", "Kubernetes provider": "kubernetes:"}.get(kill.victim, "")
    if kill.work is Work.UPDATE:
        return 3
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
