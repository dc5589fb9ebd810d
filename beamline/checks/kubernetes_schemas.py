"""Kubernetes objects against the schemas of the Kubernetes minor version that the stack runs.

Built-in kinds are judged by the OpenAPI schemas that the package kubernetes-validate ships, in their strict form: an
unknown field is an error, as with the API server's strict field validation. Custom resources are judged by
``beamline.crds``. A kind that neither knows is a problem of its own: it would be applied unseen.
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cache
from importlib import resources
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError
from referencing import Registry, Resource

from beamline import crds
from policies.objects import OPAQUE, RegisteredObject
from stacks.problems import EnvironmentProblem, Problem

__all__ = ["schema_problems"]

_GROUP = re.compile(r"^([^./]*)(?:\.[^/]*)?/")
_SHORT = r"\1-"
"""How the schema files write a group: rbac.authorization.k8s.io/v1 is rbac-v1."""


def schema_problems(objects: Iterable[RegisteredObject], minor: str) -> list[Problem]:
    """Return what the schemas of Kubernetes ``minor`` (``1.35``) and of the custom resources find, object by object."""
    return [problem for obj in objects for problem in _judged(obj, minor)]


def _judged(obj: RegisteredObject, minor: str) -> Iterator[Problem]:
    api_version = str(obj.body.get("apiVersion", ""))
    if crds.find(api_version, obj.kind) is not None:
        yield from (_at(problem, obj) for problem in crds.problems(obj.body) if problem.value != OPAQUE)
        return
    validator = _validator(minor, api_version, obj.kind)
    if validator is None:
        yield _unknown_kind(obj, api_version, minor)
        return
    for error in sorted(validator.iter_errors(dict(obj.body)), key=lambda e: e.json_path):
        if error.instance != OPAQUE:
            yield _problem(obj, error, f"schema of {obj.kind} {api_version}, Kubernetes {minor}")


@cache
def _definitions(minor: str) -> tuple[Any, Registry[Any]]:
    """Return the folder of a minor's schemas and the definitions they share."""
    folder = resources.files("kubernetes_validate") / "kubernetes-json-schema" / f"v{minor}.0-local-strict"
    shared = folder / "_definitions.json"
    if not shared.is_file():
        raise EnvironmentProblem(
            f"the installed kubernetes-validate has no schemas of Kubernetes {minor}; install a version that has "
            "(requirements.in) or choose another cluster.version"
        )
    return folder, Resource.from_contents(json.loads(shared.read_text(encoding="utf-8"))) @ Registry()


@cache
def _validator(minor: str, api_version: str, kind: str) -> Draft202012Validator | None:
    folder, registry = _definitions(minor)
    file = folder / f"{kind.lower()}-{_GROUP.sub(_SHORT, api_version)}.json"
    if not file.is_file():
        return None
    return Draft202012Validator(json.loads(file.read_text(encoding="utf-8")), registry=registry)


def _problem(obj: RegisteredObject, error: ValidationError, source: str) -> Problem:
    path = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in error.absolute_path)
    if error.validator == "additionalProperties":
        return _unknown_field(obj, path, error, source)
    value = error.instance if isinstance(error.instance, str | int | float | bool) else None
    return Problem(
        rule="kubernetes-schema",
        path=f"{obj.path}{path}",
        value=value,
        why=f"the API server would refuse this: {error.message}",
        remedy="write what the schema allows",
        where=obj.urn,
        source=source,
    )


def _unknown_field(obj: RegisteredObject, path: str, error: ValidationError, source: str) -> Problem:
    schema: Mapping[str, Any] = error.schema if isinstance(error.schema, Mapping) else {}
    known = sorted(schema.get("properties", {}))
    given = error.instance if isinstance(error.instance, Mapping) else {}
    unknown = sorted(set(given) - set(known))
    near = difflib.get_close_matches(unknown[0], known, n=1)
    return Problem(
        rule="kubernetes-schema",
        path=f"{obj.path}{path}.{unknown[0]}",
        why=f"the API server does not know {', '.join(map(repr, unknown))} here"
        + (f"; did you mean {near[0]!r}?" if near else ""),
        allowed=", ".join(known),
        remedy=f"rename it to {near[0]!r}" if near else "remove it",
        where=obj.urn,
        source=source,
    )


def _unknown_kind(obj: RegisteredObject, api_version: str, minor: str) -> Problem:
    return Problem(
        rule="kubernetes-kind",
        path=obj.path,
        value=f"{api_version} {obj.kind}",
        why=f"neither Kubernetes {minor} nor a schema of this kit has this kind; nothing can judge it before an apply",
        remedy="correct apiVersion and kind, or add the kind's schema: to manifests/crds if the kit installs it, "
        "else to beamline/crds",
        where=obj.urn,
        source="kubernetes-validate; beamline/crds; manifests/crds",
    )


def _at(problem: Problem, obj: RegisteredObject) -> Problem:
    return replace(problem, where=obj.urn)
