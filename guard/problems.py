"""Verdicts as problems: what is refused, and names that were allowed for nothing."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Literal

from guard.comparing import PropertyChange, Unknown
from guard.table import is_guarded, table
from guard.verdicts import Verdict
from stacks.problems import Problem
from stacks.typing_problems import nearest

__all__ = ["refusals", "unused_names"]

SETTING = "beamline:allow_replace"
_LOST = {
    "bucket": "with every object in it",
    "cluster": "with every node pool, workload and address in it",
    "network": "with everything that is in it",
    "node pool": "with all its nodes: their capacity may be given to somebody else before new ones come",
    "subnetwork": "with everything that is in it",
    "volume": "with the data on it",
}


def refusals(verdicts: Iterable[Verdict], allowed: Collection[str], where: str) -> list[Problem]:
    """Return a problem for each reason why a guarded resource would be replaced or deleted without being meant.

    ``allowed`` are the names for which it is meant, ``where`` the stack file.
    """
    refused = [v for v in verdicts if v.destroys and is_guarded(v.type) and v.name not in allowed]
    return [problem for verdict in refused for problem in _refusal(verdict, where)]


def unused_names(verdicts: Sequence[Verdict], allowed: Iterable[str], where: str) -> list[Problem]:
    """Return an error for each allowed name that no guarded resource has, a warning for each that nothing happens to.

    A name that stays allowed would let a later change through that nobody meant.
    """
    known = {verdict.name: verdict for verdict in verdicts if is_guarded(verdict.type)}
    return [_unused(name, known, where) for name in allowed if name not in known or not known[name].destroys]


def _refusal(verdict: Verdict, where: str) -> Iterator[Problem]:
    row = table().types[verdict.type]
    mean = f"to mean it: --allow-replace {verdict.name}, or {verdict.name} under {SETTING}"
    lost = f"the recorded {row.what} is deleted, {_LOST[row.what]}"
    source = f"schema of the Terraform provider, {table().as_of} (guard/properties.yaml)"
    if verdict.operation == "delete":
        yield Problem(
            rule="would-delete",
            path=verdict.name,
            why=f"the stack does not have it any more, so {lost}",
            remedy=f"undo what left it out; {mean}{_unprotect(verdict)}; to take the whole stack down: beamline down",
            where=where,
            source="Pulumi docs, how an update works",
        )
        return
    if verdict.cause:
        is_sure = verdict.operation == "replace"
        fate = "which would be replaced" if is_sure else "which may be replaced"
        yield Problem(
            rule="would-replace" if is_sure else "may-replace",
            path=verdict.name,
            why=f"it is inside {verdict.cause.rpartition('::')[2]}, {fate}, so {lost}",
            remedy=f"solve that one first; {mean}{_unprotect(verdict)}",
            where=where,
            source=source,
        )
    for change in verdict.changes:
        if change.effect == "update":
            continue
        yield Problem(
            rule="would-replace" if change.effect == "replace" else "may-replace",
            path=f"{verdict.name}.{change.path}",
            value=_shown(change.new),
            why=f"{_was(change)}; {_reason(change, row.what)}, so {lost}",
            allowed=str(_shown(change.old)) if change.old is not None else "left out",
            remedy=f"{row.remedy(change.path)}; {mean}",
            where=where,
            source=source,
        )


def _unprotect(verdict: Verdict) -> str:
    """What the engine also wants of a protected resource that is not replaced on its own account."""
    return f", and in production also: pulumi state unprotect '{verdict.urn}'"


def _was(change: PropertyChange) -> str:
    old = "nothing is recorded" if change.old is None else f"{_shown(change.old)} is recorded"
    return f"{old}, and now it is left out" if change.new is None else old


def _reason(change: PropertyChange, what: str) -> str:
    if isinstance(change.new, Unknown):
        return "the new value is unknown until applied, and another one cannot be had in place"
    if change.effect == "replace":
        return f"Google cannot change it on a {what} that exists"
    return "whether Google can change it in place is not in the table of properties, and counts as no"


def _shown(value: object) -> object:
    return str(value) if isinstance(value, Unknown) else value


def _unused(name: str, known: dict[str, Verdict], where: str) -> Problem:
    is_known = name in known
    guess = None if is_known else nearest(name, known)
    severity: Literal["warning", "error"] = "warning" if is_known else "error"
    return Problem(
        rule="allow-replace-unused",
        path="allow_replace",
        value=name,
        why="nothing would replace or delete it, and as long as the name stands here, a later change may"
        if is_known
        else "no guarded resource of the stack has this name" + (f"; did you mean {guess!r}?" if guess else ""),
        allowed=", ".join(sorted(known)) if known else "none",
        remedy=f"write {guess!r}" if guess else f"take it away: {SETTING}",
        where=where,
        source="guard/properties.yaml",
        severity=severity,
    )
