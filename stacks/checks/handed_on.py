"""What a preset hands to the engine, against what that version of the engine takes: flags, their values, variables.

``beamline check`` judges whole command lines; a stack with a flag that no engine knows must not get as far as a node.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from stacks.checks.candidate import Candidate, about
from stacks.checks.engine_arguments import refused_arguments
from stacks.checks.extra_settings import extra_environment, repeated_arguments
from stacks.flag_readings import known_flags, known_spellings, known_variables
from stacks.problems import Problem
from stacks.rows.engine_flags import Flag
from stacks.typing_problems import nearest

__all__ = ["CHECKS"]

_ARGUMENTS, _ENVIRONMENT = "serving.engine.extra_arguments", "serving.engine.extra_environment"
_REFERENCE = re.compile(r"\$\([A-Za-z_]\w*\)")
_SOURCE = "stacks/catalog/engine_flags"


@about("serving.engine.kind", "serving.engine.version", "serving.router.kind", "serving.router.release")
def flags(c: Candidate) -> Iterator[Problem]:
    """An engine ends at start for a flag that it does not know, and for a value that a flag does not take."""
    engine, given = c.preset.serving.engine, c.preset.serving.engine.extra_arguments
    known = known_spellings(c.rows) if given else {}
    said = {problem.path for check in (repeated_arguments, refused_arguments) for problem in check(c)}
    for name, value in given.items() if known else ():
        path = f"{_ARGUMENTS}.{name}"
        if path in said:
            continue
        if name not in known:
            guess = nearest(name, known)
            longer = sorted(other for other in known if other.startswith(name))
            why = f"{engine.kind} {engine.version} knows no flag --{name} and would end at start"
            if longer:
                why = f"--{name} is the beginning of --{', --'.join(longer[:3])}: the engine takes it for one, or ends"
                guess = longer[0]
            yield Problem(
                rule="extra-argument-unknown",
                path=path,
                value=value,
                why=why + (f"; did you mean {guess!r}?" if guess else ""),
                allowed="flags of this version of the engine, in full and without dashes",
                remedy=f"rename it to {guess!r}" if guess else "take it out",
                source=_SOURCE,
            )
        elif value is not False and (takes := _instead(known_flags(c.rows)[known[name][0]], value)):
            yield Problem(
                rule="extra-argument-value",
                path=path,
                value=value,
                why=f"{engine.kind} {engine.version} does not take this for --{name} and would end at start",
                allowed=takes,
                remedy="set it to what is allowed, or take it out",
                source=_SOURCE,
            )


def _instead(flag: Flag, value: object) -> str:
    """What a flag takes; empty where the value will do, or is only known in the container."""
    text = str(value)
    if flag.kind == "switch":
        return "" if value is True else "true, or false to leave it out"
    if value is True:
        return "" if flag.values == "optional" else "a value"
    if _REFERENCE.search(text):
        return ""
    if flag.choices:
        return "" if text in flag.choices else ", ".join(flag.choices)
    return flag.form_missed(text)


@about("serving.engine.kind", "serving.engine.version", "serving.router.kind", "serving.router.release")
def variables(c: Candidate) -> Iterator[Problem]:
    """A variable of the engine's, by its prefix, that nothing reads does nothing, or ends the engine."""
    given, said = c.preset.serving.engine.extra_environment, {problem.path for problem in extra_environment(c)}
    for name, value in given.items():
        for prefix, (names, texts) in known_variables(c.rows).items() if f"{_ENVIRONMENT}.{name}" not in said else ():
            if name.startswith(prefix) and name not in names and not any(text.startswith(name) for text in texts):
                guess = nearest(name, names, cutoff=0.8)
                yield Problem(
                    rule="extra-variable-unknown",
                    path=f"{_ENVIRONMENT}.{name}",
                    value=value,
                    why="nothing reads this variable, so it does nothing, or ends the engine where it checks its "
                    "environment" + (f"; did you mean {guess!r}?" if guess else ""),
                    allowed=f"variables {prefix}... that this version reads",
                    remedy=f"rename it to {guess!r}" if guess else "take it out",
                    source=_SOURCE,
                )


CHECKS = (flags, variables)
