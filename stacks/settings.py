"""The stack file: Pulumi's own stack config, read the same way from YAML and from inside a Pulumi program.

Pulumi hands a program every value as text: scalars as written, structures as JSON. ``pulumi_config`` brings a stack
file into that form, so that ``beamline plan``, ``pulumi preview`` and ``pulumi up`` see the same thing and say the same.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, StringConstraints, ValidationError

from stacks.problems import Problem, ProblemsFound
from stacks.rows import Strict
from stacks.typing_problems import nearest, validation_problems
from stacks.yaml_files import read_yaml

__all__ = ["NAMESPACE", "STACKS_DIR", "Settings", "parse_config", "pulumi_config", "read_stack_file", "stack_file"]

NAMESPACE = "beamline"
STACKS_DIR = Path(__file__).parent
_STRUCTURED = {"accept_unverified": list, "overrides": dict}


class Settings(Strict):
    """Keys of a stack file under ``config:``, each written as ``beamline:<key>``."""

    preset: str = Field(description="A preset of stacks/presets.")
    project: Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9-]{4,40}[a-z0-9]$")] = Field(
        description="Google Cloud project id."
    )
    region: Annotated[str, StringConstraints(pattern=r"^[a-z]+-[a-z]+\d+$")]
    zone: Annotated[str, StringConstraints(pattern=r"^[a-z]+-[a-z]+\d+-[a-z]$")]
    mirror: Annotated[str, StringConstraints(pattern=r"^[a-z0-9.:-]+(/[a-z0-9._/-]+)?$")] | None = Field(
        default=None, description="Registry, with path, that replaces the public registries (air-gapped sites)."
    )
    accept_unverified: list[str] = Field(
        default_factory=list, description="Features without evidence that you accept, as plan names them."
    )
    overrides: dict[str, Any] = Field(default_factory=dict, description="Laid over the preset, key by key.")


def stack_file(stack: str, root: Path = STACKS_DIR) -> Path:
    """Path of a stack's file: ``stacks/Pulumi.<stack>.yaml``."""
    return root / f"Pulumi.{stack}.yaml"


def pulumi_config(config: Mapping[str, Any]) -> dict[str, str]:
    """Return a stack file's ``config`` as Pulumi hands it to a program: all text, structures as JSON."""
    return {key: _as_text(value) for key, value in config.items() if value is not None}


def _as_text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict | list):
        return json.dumps(value, default=str)
    return str(value)


def read_stack_file(path: Path) -> dict[str, Any]:
    """Return the ``config`` section of a stack file; raises ``ProblemsFound``."""
    data = read_yaml(path)
    config = data.get("config") or {}
    if not isinstance(config, dict):
        raise ProblemsFound(
            [
                Problem(
                    rule="stack-file",
                    path="config",
                    why="must be a mapping",
                    remedy="write key: value lines",
                    where=str(path),
                )
            ]
        )
    return config


def parse_config(config: Mapping[str, str], where: str) -> tuple[dict[str, Any], list[Problem]]:
    """Return the valid settings among a program's config, and a problem for every other one.

    Keys of other namespaces (``gcp:``) are Pulumi's business. A setting that is wrong is left out of the result, so that
    the rest can still be checked.
    """
    prefix = f"{NAMESPACE}:"
    own = {key.removeprefix(prefix): value for key, value in config.items() if key.startswith(prefix)}
    values: dict[str, Any] = {}
    problems: list[Problem] = []
    for key, text in own.items():
        try:
            values[key] = _structure(key, text) if key in _STRUCTURED else text
        except (TypeError, ValueError) as error:
            problems.append(_not_structured(key, text, str(error), where))
    try:
        Settings.model_validate(values)
    except ValidationError as error:
        found = validation_problems(error, model=Settings, data=values, where=where)
        problems += [p for p in found if p.path not in {q.path for q in problems}]
        values = {k: v for k, v in values.items() if k in Settings.model_fields and k not in {p.path for p in found}}
    return values, [*problems, *_without_namespace(config, own, where)]


def _structure(key: str, text: str) -> Any:
    value = json.loads(text)
    if not isinstance(value, _STRUCTURED[key]):
        raise TypeError(f"expected a {'mapping' if _STRUCTURED[key] is dict else 'list'}")
    return value


def _not_structured(key: str, text: str, reason: str, where: str) -> Problem:
    kind = "mapping" if _STRUCTURED[key] is dict else "list"
    return Problem(
        rule="wrong-value",
        path=key,
        value=text,
        why=f"this must be a {kind} ({reason})",
        allowed=f"a {kind}",
        remedy=f"write it as a YAML {kind} under {NAMESPACE}:{key}",
        where=where,
        source="schema of Settings",
    )


def _without_namespace(config: Mapping[str, str], own: Mapping[str, str], where: str) -> list[Problem]:
    """A known key without its namespace belongs to another project and would silently do nothing."""
    problems = []
    for key, value in config.items():
        name = key.rpartition(":")[2]
        namespace = key.rpartition(":")[0]
        guess = nearest(namespace, [NAMESPACE]) if namespace else NAMESPACE
        if namespace != NAMESPACE and guess and name in Settings.model_fields and name not in own:
            problems.append(
                Problem(
                    rule="unknown-key",
                    path=key,
                    value=value,
                    why=f"only keys of the namespace {NAMESPACE!r} are read, so this would do nothing",
                    allowed=f"{NAMESPACE}:{name}",
                    remedy=f"rename it to {NAMESPACE}:{name}",
                    where=where,
                    source="schema of Settings",
                )
            )
    return problems
