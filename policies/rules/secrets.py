"""No secret stands in plain text: state, previews and manifests have more readers than the secret should have."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from beamline.engine.graph import Graph, Resource
from beamline.engine.values import Secret, Value
from policies.objects import OPAQUE, entries, pod_templates
from policies.rule import Finding, Rule
from stacks.urns import STACK_TYPE

__all__ = ["RULES"]

_TOKENS: Mapping[str, re.Pattern[str]] = {
    "a Hugging Face token": re.compile(r"\bhf_[A-Za-z0-9]{30,}"),
    "a Google API key": re.compile(r"\bAIza[0-9A-Za-z_-]{35}"),
    "an OAuth client's secret": re.compile(r"\bGOCSPX-[0-9A-Za-z_-]{20,}"),
    "a Google access token": re.compile(r"\bya29\.[0-9A-Za-z_-]{20,}"),
    "a private key": re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----"),
    "a JSON web token": re.compile(r"\beyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}"),
    "a GitHub token": re.compile(r"\b(gh[pousr]_[A-Za-z0-9]{36,}|github_pat_[A-Za-z0-9_]{40,})"),
}
_SECRET_NAME = re.compile(
    r"(^|_)(TOKEN|PASSWORD|PASSWD|SECRET|CREDENTIALS?|API_?KEY|PRIVATE_KEY|ACCESS_KEY)$", re.IGNORECASE
)
_ALWAYS_SECRET: Mapping[str, tuple[str, ...]] = {
    "kubernetes:core/v1:Secret": ("data", "stringData"),
    "pulumi:providers:kubernetes": ("kubeconfig",),
    "gcp:secretmanager/secretVersion:SecretVersion": ("secretData",),
}
"""Type -> inputs whose text is a secret whatever it looks like."""


def _texts(value: Value, path: str) -> Iterator[tuple[str, str]]:
    """Yield path and text of every plain string under ``value``; what is marked secret stays closed."""
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _texts(item, f"{path}[{index}]")
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from _texts(item, f"{path}.{key}")


_OUTPUT_IS_SECRET = re.compile(r"kubeconfig\Z|.*(token|password|secret|private_?key)\Z", re.IGNORECASE)


def _named(resource: Resource) -> str:
    return f"{resource.type.rpartition(':')[2]}/{resource.name}"


def _looks_secret(graph: Graph) -> Iterator[Finding]:
    for resource in graph.resources:
        for path, text in _texts(dict(resource.inputs), _named(resource)):
            for what, pattern in _TOKENS.items():
                if pattern.search(text):
                    yield Finding(path=path, urn=resource.urn, detail=f"this text contains {what}")

    for path, text in _texts(dict(graph.outputs), "outputs"):
        for what, pattern in _TOKENS.items():
            if pattern.search(text):
                yield Finding(path=path, urn=_stack(graph), detail=f"this text contains {what}")


def _stack(graph: Graph) -> str:
    return next((resource.urn for resource in graph.resources if resource.type == STACK_TYPE), "")


def _unmarked(graph: Graph) -> Iterator[Finding]:
    for name, value in graph.outputs.items():
        if _OUTPUT_IS_SECRET.match(name) and not _all_secret(value):
            yield Finding(
                path=f"outputs.{name}",
                urn=_stack(graph),
                detail="this output is not marked secret",
                allowed="pulumi.Output.secret(...)",
            )
    for resource in graph.resources:
        for key in _ALWAYS_SECRET.get(resource.type, ()):
            value = resource.inputs.get(key)
            if value is not None and not _all_secret(value):
                yield Finding(
                    path=f"{_named(resource)}.{key}",
                    urn=resource.urn,
                    detail="this input is not marked secret",
                    allowed="pulumi.Output.secret(...), or a reference to a secret that exists",
                )


def _all_secret(value: Value) -> bool:
    if isinstance(value, Mapping):
        return all(_all_secret(item) for item in value.values())
    return isinstance(value, Secret)


def _literal_environment(graph: Graph) -> Iterator[Finding]:
    for template in pod_templates(graph):
        for path, container in template.containers():
            for index, variable in enumerate(entries(container.get("env"))):
                name, value = str(variable.get("name", "")), variable.get("value")
                if _SECRET_NAME.search(name) and value not in (None, "", OPAQUE):
                    yield Finding(
                        path=f"{path}.env[{index}]",
                        urn=template.owner.urn,
                        detail=f"{name} is written into the pod",
                        allowed="valueFrom.secretKeyRef, or a mounted secret",
                    )


_SOURCE = "Kubernetes docs, good practices for Secrets; Pulumi docs, secrets"

RULES = (
    Rule(
        id="secret-in-plain-text",
        why="it would be readable in the state, in previews and in the cluster",
        remedy="remove it, revoke it, and refer to a secret by name",
        source=_SOURCE,
        find=_looks_secret,
    ),
    Rule(
        id="secret-not-marked",
        why="Pulumi would store it unencrypted in the state and print it in previews",
        remedy="wrap it in pulumi.Output.secret before it becomes an input",
        source=_SOURCE,
        find=_unmarked,
    ),
    Rule(
        id="secret-in-environment",
        why="everyone who may read pods could read it",
        remedy="keep the value in Secret Manager or a Secret and refer to it",
        source=_SOURCE,
        find=_literal_environment,
    ),
)
