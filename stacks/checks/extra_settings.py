"""What a preset hands to the engine as it is: nothing that the kit writes itself, and nothing the engine refuses."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from stacks.checks.candidate import Candidate, about
from stacks.checks.engine_arguments import refused
from stacks.flag_readings import known_spellings, reading, readings
from stacks.problems import Problem
from stacks.spec import PrefillDecode

__all__ = ["CHECKS"]

_ARGUMENTS, _ENVIRONMENT = "serving.engine.extra_arguments", "serving.engine.extra_environment"


@about("serving.engine.kind", "serving.engine.version")
def repeated_arguments(c: Candidate) -> Iterator[Problem]:
    """Of two flags of one name an engine takes the last; what the kit derived from the first would be wrong."""
    arguments = c.preset.serving.engine.extra_arguments
    known = known_spellings(c.rows) if arguments else {}
    owners = {
        _stem(name): (flag, owner) for flag, owner in _owned(c).items() for name in (flag, reading(flag, known)[0])
    }
    families = c.rows.engine.owned.argument_prefixes
    for given, value in arguments.items():
        names = [given, *sorted(name for name, _ in readings(given, known))]
        flag, owner = next((owners[_stem(name)] for name in names if _stem(name) in owners), ("", ""))
        why = f"the kit writes {'this flag' if given == flag else flag} itself; it follows from {owner}"
        if not flag:
            owner = next(filter(None, (_owner(_stem(name), families) for name in names)), "")
            why = f"what it sets follows from {owner}"
        if owner:
            yield Problem(
                rule="extra-argument-owned",
                path=f"{_ARGUMENTS}.{given}",
                value=value,
                why=f"{why}, and so do other numbers of the stack, which would not follow this one",
                allowed="flags that the kit has no key for",
                remedy=_instead(owner),
                source="stacks/catalog/engines",
            )


def _owner(name: str, families: Mapping[str, str]) -> str:
    """What a name follows from by its beginning; empty where nobody owns it."""
    return next((owner for prefix, owner in families.items() if name.startswith(prefix)), "")


def _instead(owner: str) -> str:
    return f"set {owner} in its place" if owner.startswith(("serving.", "model.")) else "leave it out"


def _owned(c: Candidate) -> dict[str, str]:
    """Flag -> what it follows from. What the model judges by its value is written only where experts are spread."""
    support = c.rows.model.engines[c.preset.serving.engine.kind]
    needs = support.expert_parallel_needs if c.preset.serving.shape.expert_parallel else None
    return {
        **{flag: owner for flag, owner in c.rows.engine.owned.arguments.items() if flag not in support.refuses},
        **dict.fromkeys(support.arguments, "the model's row"),
        **dict.fromkeys(needs.arguments if needs else {}, "serving.shape.expert_parallel"),
    }


def _stem(flag: str) -> str:
    """A switch that its owner sets is set by whichever word: enable-x, disable-x, no-enable-x."""
    for start in ("no-", "enable-", "disable-"):
        flag = flag.removeprefix(start)
    return flag


@about("serving.engine.kind", "serving.engine.version")
def extra_environment(c: Candidate) -> Iterator[Problem]:
    """A variable has one owner; and a few have no place where requests are served."""
    engine, transport = c.rows.engine, c.rows.transport
    moves_kv = isinstance(c.preset.serving.shape, PrefillDecode)
    theirs = transport.variables(engine.kind, moves_kv=moves_kv) if transport else {}
    for name, value in c.preset.serving.engine.extra_environment.items():
        why, owner = "", _owner(name, engine.owned.environment_prefixes)
        refusal = engine.refused_environment.get(name)
        if refusal is not None and refused(c, refusal, value):
            why = refusal.why
        elif name in theirs and transport:
            why = f"the transport {transport.name} sets it, together with what belongs to it"
        elif name in engine.owned.environment:
            why = "the kit sets it, and other parts of the stack depend on its value"
        elif owner:
            why = f"what it sets follows from {owner}, and so do other parts of the stack, which would not follow this"
        if why:
            yield Problem(
                rule="extra-variable-owned",
                path=f"{_ENVIRONMENT}.{name}",
                value=value,
                why=why,
                allowed="variables that nobody sets yet",
                remedy=_instead(owner),
                source="stacks/catalog/engines" if not transport or name not in theirs else "stacks/catalog/transports",
            )


CHECKS = (repeated_arguments, extra_environment)
