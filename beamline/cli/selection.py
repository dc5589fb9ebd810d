"""Which stack a verb is about: a stack file by name or path, or a preset with placeholder settings, plus ``--set``."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import typer

from beamline.cli.changes import Change, apply
from beamline.cli.completion import stack_names
from stacks.checks.launch import STACK_NAME
from stacks.cloud import PLACEHOLDER_PROJECT, PLACEHOLDER_SETTINGS, PLACEHOLDER_SUB_BLOCK, SANDBOX_PROJECT
from stacks.preset_files import compose, preset_names
from stacks.problems import Problem, ProblemsFound
from stacks.settings import NAMESPACE, read_stack_file, stack_file
from stacks.typing_problems import nearest
from stacks.yaml_files import shown

__all__ = ["Selection", "applied_stack", "in_simulated_project", "select", "select_preset", "stack_name"]


@dataclass(frozen=True)
class Selection:
    """A stack that was asked for, not yet checked.

    ``config`` is a stack file's section, keys with their namespace; ``file`` is None for a preset.
    """

    name: str
    config: dict[str, Any]
    where: str
    file: Path | None = None
    changes: tuple[Change, ...] = ()

    @property
    def preset(self) -> str | None:
        """The preset it names, if it names one."""
        found = self.config.get(f"{NAMESPACE}:preset")
        return found if isinstance(found, str) else None

    def blamed(self, problems: Sequence[Problem]) -> list[Problem]:
        """Return the problems, those about a value from ``--set`` naming it as their place."""
        return [self._blamed(problem) for problem in problems]

    def _blamed(self, problem: Problem) -> Problem:
        for change in self.changes:
            if problem.where == self.where and change.caused(problem):
                return replace(problem, where=f"--set {change.path}")
        return problem


def select(asked: str, changes: Sequence[Change] = ()) -> Selection:
    """Return the stack or preset that is asked for, with changes laid over it; raises ``ProblemsFound``."""
    return _changed(_by_path(asked) if _is_path(asked) else _by_name(asked), changes)


def select_preset(name: str, changes: Sequence[Change] = ()) -> Selection:
    """Return a preset as a stack of the same name where that can be one, with placeholder settings."""
    settings = {f"{NAMESPACE}:{key}": value for key, value in {"preset": name, **_placeholders(name)}.items()}
    return _changed(Selection(_stack_of(name), settings, f"preset {name}"), changes)


def in_simulated_project(selection: Selection) -> Selection:
    """Return the stack as a sandbox applies it: whatever project it names, it is the simulated one."""
    config = {key: _moved(value) for key, value in selection.config.items()}
    return replace(selection, config={**config, f"{NAMESPACE}:project": SANDBOX_PROJECT})


def _moved(value: Any) -> Any:
    if isinstance(value, str):
        return value.replace(PLACEHOLDER_PROJECT, SANDBOX_PROJECT)
    if isinstance(value, Mapping):
        return {key: _moved(item) for key, item in value.items()}
    return [_moved(item) for item in value] if isinstance(value, list) else value


def _placeholders(preset: str) -> dict[str, str]:
    """Settings to plan a preset with: one whose nodes are reserved needs a reservation's name too."""
    try:
        data, _ = compose(preset, key="preset", where=f"preset {preset}")
    except ProblemsFound:
        return PLACEHOLDER_SETTINGS  # resolve says what is wrong with it
    pools = data.get("accelerator_pools")
    said = (
        [pool.get("provisioning") for pool in pools.values() if isinstance(pool, dict)]
        if isinstance(pools, dict)
        else []
    )
    reserved = any(isinstance(one, dict) and one.get("kind") == "reservation" for one in said)
    return {**PLACEHOLDER_SETTINGS, "reservation": PLACEHOLDER_SUB_BLOCK} if reserved else PLACEHOLDER_SETTINGS


def _stack_of(preset: str) -> str:
    """Return the name a preset's stack has: its own, or a short one that no other preset's stack has."""
    if STACK_NAME.fullmatch(preset):
        return preset
    start = re.sub("[^a-z0-9]+", "-", preset.lower())[:8].strip("-")
    return f"{start if start[:1].isalpha() else 'p'}-{hashlib.sha256(preset.encode()).hexdigest()[:4]}"


def stack_name(asked: str) -> str:
    """Return the name of a stack that is asked for by name or by path."""
    return Path(asked).name.removeprefix("Pulumi.").removesuffix(".yaml") if _is_path(asked) else asked


def applied_stack(asked: str) -> str:
    """Return the name of a stack of the Pulumi backend, asked for by name or by the path of its stack file.

    Raises ``typer.BadParameter`` for anything else: Pulumi takes an empty name for the selected stack, and one with an
    owner for somebody else's.
    """
    file = Path(asked)
    is_file = _is_path(asked) and file.name == f"Pulumi.{stack_name(asked)}.yaml" and file.is_file()
    name = stack_name(asked) if is_file else asked
    if not STACK_NAME.fullmatch(name):
        wanted = "lower-case letters, digits and dashes, beginning with a letter; or the path of a Pulumi.NAME.yaml"
        raise typer.BadParameter(f"{asked!r} is no stack: its name is wanted, {wanted}", param_hint="STACK")
    return name


def _changed(selection: Selection, changes: Sequence[Change]) -> Selection:
    config = selection.config
    for change in changes:
        config = apply(change, config)
    return replace(selection, config=config, changes=tuple(changes))


def _is_path(asked: str) -> bool:
    return os.sep in asked or asked.endswith((".yaml", ".yml"))


def _by_path(asked: str) -> Selection:
    path = Path(asked)
    name = stack_name(asked)
    exists = os.path.exists(asked)  # noqa: PTH110 - unlike Path.exists it takes a folder without access for an answer
    if exists and path.name != f"Pulumi.{name}.yaml":
        raise ProblemsFound(
            [
                Problem(
                    rule="stack-file-name",
                    path="stack",
                    value=path.name,
                    why="the file's name says which stack it is; Pulumi reads no other, and resources carry its name",
                    allowed="Pulumi.<stack>.yaml",
                    remedy=f"rename it to Pulumi.{path.stem}.yaml",
                    where=asked,
                    source="Pulumi docs, stack settings file",
                )
            ]
        )
    file = path.resolve() if exists else path
    return Selection(name, read_stack_file(file), shown(file), file)


def _by_name(asked: str) -> Selection:
    if asked in stack_names():
        file = stack_file(asked)
        return Selection(asked, read_stack_file(file), shown(file), file)
    if asked in preset_names():
        return select_preset(asked)
    raise ProblemsFound([_unknown(asked)])


def _unknown(asked: str) -> Problem:
    guess = nearest(asked, [*stack_names(), *preset_names()])
    return Problem(
        rule="unknown-stack",
        path="stack",
        value=asked,
        why=f"there is no stack or preset {asked!r}" + (f"; did you mean {guess!r}?" if guess else ""),
        allowed=f"stacks: {', '.join(stack_names()) or 'none'}; presets: {', '.join(preset_names())}; or a path",
        remedy=f"write {guess!r}" if guess else f"write an existing name, or create stacks/Pulumi.{asked}.yaml",
        where="stacks",
        source="stacks, stacks/presets",
    )
