"""How a program tells its user what is wrong with a stack.

``pulumi preview`` and ``pulumi up`` must show the same text as ``beamline plan`` and no traceback, whichever language
host runs the program. The official one (``pulumi-language-python-exec``, pulumi 3.260) prints a traceback for every
exception but ``pulumi.RunError``, and for that one adds a second error, "program exited with code 1". It treats exit
code 32 as "the user has been told" and adds nothing, so that is what a program must end with. The in-process engine
finds the problems again behind the exit.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pulumi
from pulumi.runtime.config import CONFIG

from stacks import StackSpec, resolve
from stacks.problems import EnvironmentProblem, Problem, ProblemsFound, has_errors, to_text
from stacks.settings import NAMESPACE, stack_file
from stacks.state_secrets import state_secrets_problems
from stacks.yaml_files import read_yaml

__all__ = ["USER_HAS_BEEN_TOLD", "checked_stack", "problems_reported", "report", "stack_config"]

USER_HAS_BEEN_TOLD = 32  # exit code that ends an update without a further message


@contextmanager
def problems_reported() -> Iterator[None]:
    """Run the body; show its ``ProblemsFound`` or ``EnvironmentProblem`` as the update's one error and end.

    Raises ``SystemExit`` with the original exception as its cause. Every other exception passes through.
    """
    try:
        yield
    except ProblemsFound as found:
        count = len(found.problems)
        pulumi.log.error(f"{count} {'problem' if count == 1 else 'problems'} in this stack:\n{found}")
        raise SystemExit(USER_HAS_BEEN_TOLD) from found
    except EnvironmentProblem as found:
        pulumi.log.error(str(found))
        raise SystemExit(USER_HAS_BEEN_TOLD) from found


def checked_stack(name: str, *, applying: bool) -> StackSpec:
    """Return the running stack, checked, and show what does not stop it; raises ``ProblemsFound`` with all that does.

    Pulumi's own settings are in the stack file, not in the config: what they say of secrets is read from there.
    """
    where, config = f"stacks/Pulumi.{name}.yaml", stack_config()
    project, file = config.get(f"{NAMESPACE}:project"), stack_file(name, Path(pulumi.get_root_directory()) / "stacks")
    written = read_yaml(file) if file.is_file() else {}
    own = state_secrets_problems(written, os.environ, project=project, applying=applying, where=where)
    try:
        spec = resolve(name, config, where=where, applying=applying)
    except ProblemsFound as found:
        raise ProblemsFound([*own, *found.problems]) from found
    if has_errors(own):
        raise ProblemsFound([*own, *spec.problems])
    report([*own, *spec.problems])
    return spec


def stack_config() -> dict[str, str]:
    """Return the whole configuration of the running stack, as text by key with namespace.

    ``pulumi.Config`` only answers for keys it is asked for, and so could never find a misspelt one.
    """
    return dict(CONFIG.get())


def report(problems: Sequence[Problem]) -> None:
    """Show what does not stop the update: warnings as one warning, notes as one message."""
    warnings = [problem for problem in problems if problem.severity == "warning"]
    notes = [problem for problem in problems if problem.severity == "note"]
    if warnings:
        pulumi.log.warn(to_text(warnings))
    if notes:
        pulumi.log.info(to_text(notes))
