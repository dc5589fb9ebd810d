"""Finds out what a crash left behind in a stack, and clears it: the same steps for a user's stack and a sandbox's.

Nothing in a cloud is created, changed or deleted here, with one exception that is said: a Helm release that was cut off
is marked as failed. What exists is entered into the state, what does not is forgotten; the next ``pulumi up`` does the
rest.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from beamline.recovery.engine import NO_KEY, Engine, RefusedError, as_problem
from beamline.recovery.findings import (
    Finding,
    Lookup,
    about_to,
    examine,
    hand_work,
    is_release,
    lookups,
    named,
    planned,
    targets,
)
from beamline.recovery.identities import identify
from beamline.recovery.locks import Lock, held, locks_in_files
from beamline.recovery.releases import Revision, Unreachable, cluster, latest, marked_failed
from beamline.recovery.state import Resource, State, read_state
from beamline.recovery.surgery import Conclusion, concluded, entered, withdrawn
from stacks.problems import EnvironmentProblem, Problem, ProblemsFound

__all__ = ["Case", "Outcome", "Recovery", "look", "mend"]

Refresh = Callable[[Sequence[str]], None]
Report = Callable[[str], None]


@dataclass(frozen=True)
class Case:
    """What was found out about a stack; nothing was changed for it."""

    stack: str
    exported: str
    """The state as it was looked at."""
    locks: tuple[Lock, ...]
    lookups: tuple[Lookup, ...]
    releases: tuple[Resource, ...]
    """Helm releases that may have been cut off."""
    findings: tuple[Finding, ...]
    notes: tuple[Problem, ...]
    """What could not be looked at."""


@dataclass(frozen=True)
class Outcome:
    """What was done about one thing."""

    subject: str
    did: str


@dataclass(frozen=True)
class Recovery:
    """What was done, and what remains for a human."""

    outcomes: tuple[Outcome, ...]
    problems: tuple[Problem, ...]


def look(engine: Engine, stack: str, report: Report, *, adopt: bool = False) -> Case:
    """Find out what a crash left behind. Raises ProblemsFound, also for a stack that is being worked on right now.

    With ``adopt``, what the program is about to create is looked up as well, and taken over where it is as asked for.
    """
    exported = engine.must(stack, "stack", "export")
    state = read_state(exported, stack, engine.project)
    locks = locks_in_files(engine.backend(), engine.project, stack)
    if working := [lock for lock in locks if not lock.is_stale]:
        raise ProblemsFound([held(lock, stack) for lock in working])
    report("asking the program what it would create")
    to_come, notes = _planned(engine, stack, state)
    if to_come and not adopt:
        notes.append(_not_looked_up(to_come, stack))
        to_come = []
    findings = [_lock(lock) for lock in locks] + examine(state, stack) + [about_to(each) for each in to_come]
    releases = [each for each in _releases(state, to_come) if state.provider_of(each) is not None]
    if releases:
        findings += [_release(each) for each in releases]
    sought = [each for each in lookups(state) if adopt or not each.is_planned]
    return Case(stack, exported, tuple(locks), (*sought, *to_come), tuple(releases), tuple(findings), tuple(notes))


def mend(engine: Engine, case: Case, report: Report, refresh: Refresh | None = None) -> Recovery:
    """Do what ``look`` said. Can be interrupted and repeated at any point.

    ``refresh`` lets the engine read the named resources again, and may read more. Raises ProblemsFound.
    """
    stack, before = case.stack, read_state(case.exported, case.stack, engine.project)
    if engine.must(stack, "stack", "export") != case.exported:
        raise ProblemsFound([_moved(stack)])
    if hand_work(before):
        return Recovery((), (*(_by_hand(finding) for finding in case.findings if finding.by_hand), *case.notes))
    outcomes = _cancel(engine, case)
    done, problems = _finish_releases(engine, case)
    outcomes += done
    dropped = [each for each in lookups(before) if each.is_planned and each not in case.lookups]
    work = withdrawn(before, entered(before, case.lookups), dropped)
    outcomes += [Outcome(named(each.urn), "taken out of the state, not looked up") for each in dropped]
    if not work.is_like(before):
        _write(engine, stack, work)
    names = targets(work, case.lookups)
    names += [str(each["urn"]) for each in case.releases if each["urn"] not in names and before.live(each["urn"])]
    try:
        if names or refresh:
            report(f"reading {len(names)} resources again")
            (refresh or (lambda urns: engine.refresh(stack, urns)))(names)
        result = _concluded(engine, case, before)
    except (ProblemsFound, EnvironmentProblem, OSError):
        _withdraw(engine, case, before)
        raise
    outcomes += _said(before, result)
    problems += [_by_hand(finding) for finding in case.findings if finding.by_hand]
    problems += [_not_ours(lookup, stack) for lookup in result.foreign]
    return Recovery(tuple(outcomes), (*problems, *case.notes))


def _concluded(engine: Engine, case: Case, before: State) -> Conclusion:
    """Write what follows from what was read."""
    after = read_state(engine.must(case.stack, "stack", "export"), case.stack, engine.project)
    result = concluded(before, after, case.lookups)
    if not result.state.is_like(after):
        _write(engine, case.stack, result.state)
    return result


def _withdraw(engine: Engine, case: Case, before: State) -> None:
    """Take out again what was entered only because the program is about to create it, and could not be read."""
    entered_now = read_state(engine.must(case.stack, "stack", "export"), case.stack, engine.project)
    state = withdrawn(before, entered_now, case.lookups)
    if not state.is_like(entered_now):
        _write(engine, case.stack, state)


def _planned(engine: Engine, stack: str, state: State) -> tuple[list[Lookup], list[Problem]]:
    if not state.resources:
        return [], []
    try:
        return planned(engine.ask("preview", "--json", "--stack", stack), state), []
    except (RefusedError, ValueError) as error:
        problem = as_problem(str(error), stack, ("preview",))
        if isinstance(problem, ProblemsFound) and problem.problems[0].rule == NO_KEY:
            raise problem from error  # nothing can be done without
        why = "the program cannot be previewed, so what a provider had begun when it died alone was not looked for"
        remedy = f"`pulumi preview --stack {stack}` says why; mend that and repeat"
        return [], [Problem(rule="not-looked-at", path=stack, why=why, remedy=remedy, severity="warning")]


def _releases(state: State, about_to: Sequence[Lookup]) -> list[Resource]:
    """Return the releases that something points at: an operation, a status, a create to come."""
    found = [each for each in state.resources if is_release(each) and not each.get("delete") and _is_not_deployed(each)]
    found += [operation.resource for operation in state.operations if is_release(operation.resource)]
    found += [lookup.resource for lookup in about_to if is_release(lookup.resource)]
    return list({each["urn"]: each for each in found}.values())


def _is_not_deployed(resource: Resource) -> bool:
    status = (resource.get("outputs") or {}).get("status")
    word = status.get("status") if isinstance(status, Mapping) else None
    return bool(resource.get("initErrors")) or word not in (None, "deployed")


def _cancel(engine: Engine, case: Case) -> list[Outcome]:
    if not case.locks:
        return []
    engine.must(case.stack, "cancel", "--yes")
    return [Outcome(f"lock of {lock.user}@{lock.host}", "cancelled") for lock in case.locks]


def _finish_releases(engine: Engine, case: Case) -> tuple[list[Outcome], list[Problem]]:
    if not case.releases:
        return [], []
    plain = State(json.loads(engine.must(case.stack, "stack", "export", "--show-secrets")))
    outcomes, problems = [], []
    for release in case.releases:
        identity = identify(str(release["type"]), release["inputs"], {})
        namespace, _, name = (identity.id if identity else "").rpartition("/")
        try:
            status = _finished(engine, plain.provider_of(release) or {}, namespace, name)
        except Unreachable as reason:
            problems.append(_not_asked(release, namespace, name, str(reason)))
            continue
        if status:
            did = f"Helm had been cut off ({status}): marked as failed, as Helm does when it is interrupted"
            outcomes.append(Outcome(named(str(release["urn"])), did))
    return outcomes, problems


def _finished(engine: Engine, settings: Mapping[str, Any], namespace: str, name: str) -> str:
    """Mark a release that was cut off as failed; return the status it had, empty where it had been finished."""
    with cluster(engine, settings) as where:
        revision: Revision | None = latest(where, namespace, name)
        if revision is None or not revision.is_unfinished:
            return ""
        marked_failed(where, revision)
        return revision.status


def _write(engine: Engine, stack: str, state: State) -> None:
    """Let the engine take over a state; it checks it, and keeps secrets as they are."""
    with tempfile.TemporaryDirectory(prefix="beamline-") as folder:
        file = Path(folder) / "state.json"
        with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as out:
            json.dump(state.document, out)
        engine.must(stack, "stack", "import", "--file", str(file))


def _said(before: State, result: Conclusion) -> list[Outcome]:
    outcomes = [
        Outcome(named(lookup.urn), f"exists as {lookup.identity.id}: entered into the state")
        for lookup in result.taken_over
    ]
    never = "does not exist: forgotten, the next run creates it"
    outcomes += [Outcome(named(lookup.urn), never) for lookup in result.absent if not lookup.is_planned]
    looked_up = {lookup.urn for lookup in (*result.taken_over, *result.absent, *result.foreign)}
    for operation in before.operations:
        if operation.urn not in looked_up:
            exists = any(each["urn"] == operation.urn for each in result.state.resources)
            did = "read again" if exists else "it is gone"
            outcomes.append(Outcome(named(operation.urn), f"{did}; {operation.kind} forgotten"))
    return outcomes


def _lock(lock: Lock) -> Finding:
    return Finding(f"lock of {lock.user}@{lock.host}", f"process {lock.pid} is gone, its lock is not", "cancel it")


def _not_looked_up(found: Sequence[Lookup], stack: str) -> Problem:
    return Problem(
        rule="not-looked-up",
        path=f"{len(found)} resources about to be created",
        why="the state does not have them; a provider that died alone may have made some, and so may somebody else",
        remedy=f"pulumi up creates them; if it says that one exists already: beamline recover {stack} --adopt",
        severity="note",
    )


def _release(release: Resource) -> Finding:
    will = "if Helm was cut off, mark the revision as failed, as Helm does; the next run upgrades it"
    return Finding(named(str(release["urn"])), "a Helm release that may be half done", will)


def _by_hand(finding: Finding) -> Problem:
    return Problem(rule="by-hand", path=finding.subject, why=finding.found, remedy=finding.by_hand)


def _not_ours(lookup: Lookup, stack: str) -> Problem:
    remedy = (
        "remove or rename it; or, to let the stack own it: "
        f"pulumi import {lookup.resource['type']} NAME '{lookup.identity.import_id}' --stack {stack}"
    )
    why = "it exists, and it is not what this stack asked for, so somebody else made it"
    return Problem(rule="not-ours", path=named(lookup.urn), value=lookup.identity.id, why=why, remedy=remedy)


def _not_asked(release: Resource, namespace: str, name: str, reason: str) -> Problem:
    helm = f"helm --namespace {namespace}"
    return Problem(
        rule="helm-not-asked",
        path=named(str(release["urn"])),
        value=f"{namespace}/{name}",
        why=f"whether Helm was cut off could not be looked at: {reason}",
        remedy=f"`{helm} status {name}`; pending-upgrade: `{helm} rollback {name}`; "
        f"pending-install: `{helm} uninstall {name}`",
        severity="warning",
    )


def _moved(stack: str) -> Problem:
    return Problem(
        rule="state-moved",
        path=f"state of {stack}",
        why="it changed since it was looked at, so somebody is working on the stack",
        remedy="wait until that ends, then repeat; nothing was changed",
    )
