"""The stack file: Pulumi's own stack config, read the same way from YAML and from inside a Pulumi program."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, ClassVar

from pydantic import Discriminator, Field, Tag, ValidationError

from stacks.forms import FeatureName, Mirror, PoolName, ProjectId, Region, ReservationName, Text, Zone
from stacks.problems import Problem, ProblemsFound
from stacks.pulumi_values import NAMESPACE, full_key, is_secret, pulumi_config
from stacks.rows import Strict
from stacks.typing_problems import nearest, validation_problems
from stacks.yaml_files import read_yaml, shown, unwieldy

__all__ = ["NAMESPACE", "STACKS_DIR", "Settings", "parse_config", "pulumi_config", "read_stack_file", "stack_file"]

STACKS_DIR = Path(__file__).parent
_STRUCTURED: Mapping[str, tuple[type, str]] = {
    "accept_unverified": (list, "a list"),
    "allow_replace": (list, "a list"),
    "overrides": (dict, "a section with keys of its own"),
}
_PULUMIS_OWN_KEYS = ("config", "encryptedkey", "encryptionsalt", "environment", "secretsprovider")
_PLACE = ("project", "region", "zone")
"""Settings that Pulumi's Google provider knows by the same name, under ``gcp:``."""
_CLOSE = 0.75
"""How alike a namespace must be to count as a misspelling: ``pipeline`` is another project's, ``beamlin`` is not."""


def _one_or_by_pool(value: Any) -> str:
    return "by_pool" if isinstance(value, Mapping) else "one"


Reservations = Annotated[
    Annotated[ReservationName, Tag("one")] | Annotated[dict[PoolName, ReservationName], Tag("by_pool")],
    Discriminator(_one_or_by_pool),
]


class Settings(Strict):
    """Keys of a stack file under ``config:``, each written as ``beamline:<key>``."""

    schema_file: ClassVar[str] = "stack"

    preset: Text = Field(description="A preset of stacks/presets.")
    project: ProjectId = Field(description="Google Cloud project id.")
    region: Region = Field(description="Region of network and cluster.")
    zone: Zone = Field(description="Zone of all nodes, in that region.")
    reservation: Reservations | None = Field(
        default=None,
        description="Where accelerator nodes come from whose provisioning is reservation: one for all such pools, or "
        "one for each by the pool's name.",
    )
    mirror: Mirror | None = Field(
        default=None, description="Registry, with path, that replaces the public registries (air-gapped sites)."
    )
    accept_unverified: list[FeatureName] = Field(
        default_factory=list, description="Features without evidence that you accept, as plan names them."
    )
    allow_replace: list[Text] = Field(
        default_factory=list,
        description="Resources that may be replaced or deleted by the next update, as the replace guard names them.",
    )
    overrides: dict[str, Any] = Field(default_factory=dict, description="Laid over the preset, key by key.")


def stack_file(stack: str, root: Path = STACKS_DIR) -> Path:
    """Path of a stack's file: ``stacks/Pulumi.<stack>.yaml``."""
    return root / f"Pulumi.{stack}.yaml"


def read_stack_file(path: Path) -> dict[str, Any]:
    """Return the ``config`` section of a stack file, keys with their namespace; raises ``ProblemsFound``."""
    data, where = read_yaml(path), shown(path)
    problems = [_unknown_section(key, where) for key in data if key not in _PULUMIS_OWN_KEYS]
    config = {} if data.get("config") is None else data["config"]
    if not isinstance(config, dict):
        problems.append(
            Problem(
                rule="stack-file",
                path="config",
                value=config,
                why="the settings of a stack stand in a section of key: value lines",
                allowed=f"lines such as {NAMESPACE}:preset: g4-llmd",
                remedy="write one line per setting under config",
                where=where,
            )
        )
        raise ProblemsFound(problems)
    full = [full_key(key) for key in config]
    problems += [_twice(key, where) for key in sorted(set(full)) if full.count(key) > 1]
    if problems:
        raise ProblemsFound(problems)
    return dict(zip(full, config.values(), strict=True))


def _unknown_section(key: str, where: str) -> Problem:
    guess = nearest(key, _PULUMIS_OWN_KEYS) or ("config" if full_key(key).startswith(f"{NAMESPACE}:") else None)
    return Problem(
        rule="unknown-key",
        path=key,
        why="Pulumi has no such section in a stack file, so it would do nothing",
        allowed=", ".join(_PULUMIS_OWN_KEYS),
        remedy="put it under config" if guess == "config" else f"rename it to {guess!r}" if guess else "remove it",
        where=where,
        source="Pulumi docs, stack settings file",
    )


def _twice(key: str, where: str) -> Problem:
    return Problem(
        rule="key-twice",
        path=key,
        why="the same setting is written twice, once with its namespace and once without; one would do nothing",
        remedy="keep one of the two",
        where=where,
        source="Pulumi docs, configuration keys",
    )


def parse_config(config: Mapping[str, str], where: str) -> tuple[dict[str, Any], list[Problem]]:
    """Return the valid settings among a program's config, and a problem for every other one.

    Keys of other namespaces (``gcp:``) are Pulumi's business. A setting that is wrong is left out of the result, so
    that the rest can still be checked.
    """
    prefix = f"{NAMESPACE}:"
    own = {key.removeprefix(prefix): text for key, text in config.items() if key.startswith(prefix)}
    values: dict[str, Any] = {}
    problems = [p for key, text in own.items() if (p := _read(key, text, values, where))]
    wrong = {p.path for p in problems}
    try:
        Settings.model_validate(values)
    except ValidationError as error:
        found = [_settable(p) for p in validation_problems(error, model=Settings, data=values, where=where)]
        problems += [p for p in found if p.path not in wrong]
        wrong |= {re.split(r"[.\[]", p.path, maxsplit=1)[0] for p in found}
        values = {key: value for key, value in values.items() if key in Settings.model_fields and key not in wrong}
    return values, [*problems, *_of_other_namespaces(config, values, where)]


def _settable(problem: Problem) -> Problem:
    """Say how a missing setting is set."""
    if problem.rule != "missing-key":
        return problem
    key = f"{NAMESPACE}:{problem.path}"
    return replace(problem, remedy=f"add {key} to the stack file, or: pulumi config set {key} <value>")


def _read(key: str, text: str, values: dict[str, Any], where: str) -> Problem | None:
    """Put one setting's value into ``values``; a setting that cannot be read gives a problem instead."""
    if key not in _STRUCTURED:
        structure = _from_json(text) if text.startswith(("{", "[")) else None
        values[key] = text if structure is None else structure
        return _encrypted(key, where) if is_secret(values[key]) else None
    kind, words = _STRUCTURED[key]
    value = _from_json(text) if text else kind()
    if is_secret(text) or is_secret(value):
        return _encrypted(key, where)
    if isinstance(value, kind):
        values[key] = value
        return None
    return Problem(
        rule="wrong-value",
        path=key,
        value=text if value is None else value,
        why=f"{words} is needed here",
        allowed=words,
        remedy=f"write it as YAML lines under {NAMESPACE}:{key}, or set it with pulumi config set --path",
        where=where,
        source=Settings.schema_source(),
    )


def _from_json(text: str) -> Any:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return None if unwieldy(value) else value


def _encrypted(key: str, where: str) -> Problem:
    return Problem(
        rule="encrypted-setting",
        path=key,
        why="the value is encrypted; a plan has no key to read it, and no setting of a stack is a secret",
        allowed="plain text; secrets stay in Secret Manager, the stack names them",
        remedy=f"pulumi config rm {NAMESPACE}:{key}, then set it again without --secret",
        where=where,
        source="Pulumi docs, secrets",
    )


def _of_other_namespaces(config: Mapping[str, str], values: Mapping[str, Any], where: str) -> list[Problem]:
    """A misspelt namespace would do nothing; neither would the Google provider's own settings."""
    problems = []
    for key, value in config.items():
        namespace, _, name = key.rpartition(":")
        if namespace == NAMESPACE:
            continue
        if not namespace or nearest(namespace, [NAMESPACE], cutoff=_CLOSE):
            problems.append(
                Problem(
                    rule="unknown-key",
                    path=key,
                    value=value,
                    why=f"only keys of the namespace {NAMESPACE!r} are read, so this would do nothing",
                    allowed=", ".join(f"{NAMESPACE}:{field}" for field in Settings.model_fields),
                    remedy=f"rename it to {NAMESPACE}:{name}",
                    where=where,
                    source=Settings.schema_source(),
                )
            )
        elif namespace == "gcp" and name in _PLACE and value != values.get(name, value):
            problems.append(
                Problem(
                    rule="not-read",
                    path=key,
                    value=value,
                    why=f"the stack gives its Google provider {NAMESPACE}:{name}, which is {values[name]}",
                    allowed=f"the same value as {NAMESPACE}:{name}, or none",
                    remedy="remove it",
                    where=where,
                    source="stacks/settings.py",
                    severity="warning",
                )
            )
    return problems
