"""Environment of an engine's container, and what its command line takes from it."""

from __future__ import annotations

import re
from collections.abc import Iterator

from beamline.checks.engines.containers import EngineContainer
from beamline.checks.engines.schemas import Schema
from beamline.engine.graph import Graph
from policies.objects import RegisteredObject, entries, registered_objects
from stacks.problems import Problem
from stacks.typing_problems import nearest

__all__ = ["reference_problems", "service_link_problems", "shell_form_problems", "variable_problems"]

_SHELL_FORM = re.compile(r"(?<!\$)\$(?:\{([A-Za-z_]\w*)\}|([A-Za-z_]\w*))")
_REFERENCE = re.compile(r"(?<!\$)\$\(([A-Za-z_]\w*)\)")
_SET_BY_CONTROLLER = {"LeaderWorkerSet": {"LWS_LEADER_ADDRESS", "LWS_GROUP_SIZE", "LWS_WORKER_INDEX"}}
"""Kind -> variables that its controller puts first into every container. Source: https://lws.sigs.k8s.io/docs/reference"""
_OPEN = {"DynamoGraphDeployment"}
"""Kinds whose operator sets variables that are not listed here."""
_KUBERNETES = "Kubernetes docs, define dependent environment variables; accessing services by environment variables"


def variable_problems(container: EngineContainer, schema: Schema) -> Iterator[Problem]:
    """Yield a problem for each variable of the engine's, by its prefix, that the engine does not know."""
    for name in container.variables:
        for prefix, (known, texts) in schema.variables.items():
            if name.startswith(prefix) and name not in known and not any(text.startswith(name) for text in texts):
                yield _unknown(name, prefix, known, container, schema)


def _unknown(name: str, prefix: str, known: frozenset[str], container: EngineContainer, schema: Schema) -> Problem:
    flag = name.removeprefix(prefix).lower().replace("_", "-")
    guess = nearest(name, known, cutoff=0.8)
    why = "nothing reads this variable, so it does nothing, or ends the engine where it checks its environment"
    remedy = "take it out"
    if flag in schema.flags:
        why, remedy = f"{why}; there is a flag --{flag}", f"take it out, and set --{flag} if that is meant"
    elif guess:
        why, remedy = f"{why}; did you mean {guess}?", f"rename it to {guess}"
    return Problem(
        rule="engine-variable",
        path=f"{container.path}.env.{name}",
        value=name,
        why=why,
        remedy=remedy,
        where=container.urn,
        source=schema.source,
    )


def shell_form_problems(container: EngineContainer) -> Iterator[Problem]:
    """Yield a problem for each variable in a shell's form, which reaches the program as it is written."""
    for path, text in (*container.words, *_texts(container)):
        for found in _SHELL_FORM.finditer(text):
            name = found[1] or found[2]
            why = f"no shell runs here, so the program gets the text {found[0]}, not the variable's value"
            yield _reference(
                "shell-variable", path, text, why, f"write $({name}), which Kubernetes replaces", container
            )


def reference_problems(container: EngineContainer) -> Iterator[Problem]:
    """Yield a problem for each variable that is named, and that the container has not."""
    kind = container.template.owner.kind
    known = {*container.variables, *_SET_BY_CONTROLLER.get(kind, ())}
    for path, text in (*container.words, *_texts(container)):
        for found in _REFERENCE.finditer(text):
            if found[1] not in known and kind not in _OPEN:
                why = f"the container has no variable {found[1]}, so the engine gets the text {found[0]}"
                remedy = f"set {found[1]} in the container's env, before what names it"
                yield _reference("unset-variable", path, text, why, remedy, container)


def _texts(container: EngineContainer) -> list[tuple[str, str]]:
    return [
        (f"{container.path}.env.{name}", value) for name, value in container.variables.items() if isinstance(value, str)
    ]


def _reference(rule: str, path: str, text: str, why: str, remedy: str, container: EngineContainer) -> Problem:
    return Problem(rule=rule, path=path, value=text, why=why, remedy=remedy, where=container.urn, source=_KUBERNETES)


def service_link_problems(container: EngineContainer, schema: Schema, graph: Graph) -> Iterator[Problem]:
    """Yield a problem for each variable that Kubernetes sets for a Service and the engine reads as its own."""
    if container.template.spec.get("enableServiceLinks") is False:
        return
    read = {name for known, _ in schema.variables.values() for name in known} - set(container.variables)
    for service in registered_objects(graph, ("Service",)):
        if service.namespace == container.template.namespace:
            for name in sorted(_injected(service) & read):
                yield Problem(
                    rule="service-link",
                    path=f"{container.template.path}.spec.enableServiceLinks",
                    value=name,
                    why=f"Kubernetes sets {name} in these pods for {service.path}, to an address or a port of it; the "
                    "engine reads the same name as a setting of its own",
                    allowed="false",
                    remedy="set enableServiceLinks to false, or give the Service another name",
                    where=container.urn,
                    source="vllm-project/vllm#34199; " + _KUBERNETES,
                )


def _injected(service: RegisteredObject) -> set[str]:
    """Names of the variables that Kubernetes makes of a Service."""
    start = _upper(service.name)
    found = {f"{start}_SERVICE_HOST", f"{start}_SERVICE_PORT", f"{start}_PORT"}
    for port in entries(service.at("spec", "ports")):
        one = f"{start}_PORT_{port.get('port')}_{str(port.get('protocol', 'TCP')).upper()}"
        found |= {one, f"{one}_PROTO", f"{one}_PORT", f"{one}_ADDR"}
        if port.get("name"):
            found.add(f"{start}_SERVICE_PORT_{_upper(str(port['name']))}")
    return found


def _upper(name: str) -> str:
    return name.upper().replace("-", "_")
