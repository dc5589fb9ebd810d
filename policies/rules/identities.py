"""Nobody has more rights than it uses: Roles, tokens, Google's roles and keys, against the table of what each calls."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from beamline.engine.graph import Graph, Resource
from policies.objects import RegisteredObject, entries, pod_templates, registered_objects, section
from policies.rights import Right, accounts, grants
from policies.rule import Finding, Rule

__all__ = ["RULES"]

_MADE_BY_OPERATOR = ("DynamoGraphDeployment",)
"""Kinds whose pods get account and rights from their operator."""
_GRANTING = re.compile(r"gcp:.*(iam|IAM|Iam)(Member|Binding|Policy)")
"""Types of the provider that give somebody a role on something."""


def _texts(value: Any) -> list[str]:
    return [str(item) for item in value] if isinstance(value, list) else []


def _rights(role: RegisteredObject) -> Iterator[tuple[str, Right]]:
    """Yield path and right for everything a Role or ClusterRole gives."""
    for index, rule in enumerate(entries(role.at("rules"))):
        for group in _texts(rule.get("apiGroups")):
            for resource in _texts(rule.get("resources")):
                for verb in _texts(rule.get("verbs")):
                    yield f"{role.path}.rules[{index}]", (group, resource, verb)


def _bound(graph: Graph) -> dict[tuple[str, str], set[str]]:
    """Kind and name of each role -> names of the service accounts it is bound to."""
    found: dict[tuple[str, str], set[str]] = {}
    for obj in registered_objects(graph):
        if obj.kind in ("RoleBinding", "ClusterRoleBinding"):
            reference = section(obj.at("roleRef"))
            key = str(reference.get("kind")), str(reference.get("name"))
            subjects = [s for s in entries(obj.at("subjects")) if s.get("kind") == "ServiceAccount"]
            found.setdefault(key, set()).update(str(s.get("name")) for s in subjects)
    return found


def _wide_roles(graph: Graph) -> Iterator[Finding]:
    bound = _bound(graph)
    for role in registered_objects(graph):
        if role.kind not in ("Role", "ClusterRole"):
            continue
        for account in sorted(bound.get((role.kind, role.name), ())):
            used = accounts()[account].rights if account in accounts() else frozenset()
            for path, right in _rights(role):
                if right not in used:
                    group, resource, verb = right
                    yield Finding(
                        path=path,
                        urn=role.urn,
                        value=f"{verb} {resource}{f'.{group}' if group else ''}",
                        detail=f"the pods of {account} do not call this",
                        allowed=", ".join(sorted({f"{v} {r}" for _, r, v in used})) or "nothing",
                    )


def _idle_tokens(graph: Graph) -> Iterator[Finding]:
    for template in pod_templates(graph):
        account = str(template.spec.get("serviceAccountName", "default"))
        if template.owner.kind in _MADE_BY_OPERATOR or account in accounts():
            continue
        if template.spec.get("automountServiceAccountToken", True) is not False:
            yield Finding(
                path=f"{template.path}.spec.automountServiceAccountToken",
                urn=template.owner.urn,
                detail=f"the pods of {account} mount a token of the Kubernetes API and do not call it",
                allowed="false",
            )


def _google_roles(graph: Graph) -> Iterator[Finding]:
    known = {(grant.type, grant.role) for grant in grants()}
    for resource in graph.resources:
        if _GRANTING.search(resource.type) and (resource.type, resource.inputs.get("role")) not in known:
            yield Finding(
                path=f"{_named(resource)}.role",
                urn=resource.urn,
                value=resource.inputs.get("role"),
                detail="nothing of the stack is known to need this role here",
                allowed=", ".join(sorted(role for kind, role in known if kind == resource.type)) or "no role",
            )


def _keys(graph: Graph) -> Iterator[Finding]:
    for resource in graph.resources:
        if resource.type == "gcp:serviceaccount/key:Key":
            yield Finding(
                path=_named(resource), urn=resource.urn, detail="a key works from anywhere, until it is found"
            )


def _named(resource: Resource) -> str:
    return f"{resource.type.rpartition(':')[2]}/{resource.name}"


_TABLE = "policies/rights.yaml"

RULES = (
    Rule(
        id="rights-wider-than-used",
        why="whoever takes over the pod has all of them",
        remedy=f"take the right away, or add the call with its source to {_TABLE}",
        source="Kubernetes docs, good practices for role-based access control",
        find=_wide_roles,
    ),
    Rule(
        id="token-not-used",
        why="whoever takes over the pod can speak to the API in its name",
        remedy=f"switch the token off, or add the account's calls with their source to {_TABLE}",
        source="Kubernetes docs, service accounts: opting out of API credentials",
        find=_idle_tokens,
    ),
    Rule(
        id="google-role-not-listed",
        why="a right that nobody uses only helps an intruder",
        remedy=f"take the grant away, or add it with what calls it to {_TABLE}",
        source="IAM docs, least privilege",
        find=_google_roles,
    ),
    Rule(
        id="service-account-key",
        why="Workload Identity needs no key, and a key in the state is readable by whoever reads the state",
        remedy="remove it; let a Kubernetes service account act as the Google one",
        source="IAM docs, best practices for service account keys",
        find=_keys,
    ),
)
