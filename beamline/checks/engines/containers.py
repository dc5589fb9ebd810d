"""Containers of a captured graph, and which of them run an engine, or Dynamo's part of one.

A program is told by its command, as the container's own: ``vllm serve``, ``python3 -m dynamo.sglang``. What a shell
runs is text, which nothing here reads.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from beamline.engine.graph import Graph
from policies.objects import PodTemplate, entries, pod_templates, section

__all__ = ["PROGRAMS", "EngineContainer", "engine_containers", "started_containers"]

PROGRAMS: Mapping[tuple[str, ...], str] = {
    ("vllm", "serve"): "vllm",
    ("-m", "vllm.entrypoints.openai.api_server"): "vllm",
    ("-m", "sglang.launch_server"): "sglang",
    ("sglang", "serve"): "sglang",
    ("-m", "dynamo.vllm"): "dynamo.vllm",
    ("-m", "dynamo.sglang"): "dynamo.sglang",
    ("-m", "dynamo.frontend"): "dynamo.frontend",
}
"""Words of a command that start a program -> its name here."""
_SHELLS = {"sh", "bash", "dash", "ash", "zsh"}


@dataclass(frozen=True)
class EngineContainer:
    """One container. ``words`` are its arguments after the program's own words, with their paths in the object."""

    program: str
    template: PodTemplate
    path: str
    image: str
    words: tuple[tuple[str, str], ...]
    variables: Mapping[str, Any]
    """Name -> what stands there: text, or where it comes from."""
    limits: Mapping[str, Any]

    @property
    def urn(self) -> str:
        """The resource behind it."""
        return self.template.owner.urn


def engine_containers(graph: Graph) -> Iterator[EngineContainer]:
    """Yield every container of every workload that runs one of ``PROGRAMS``."""
    return (container for container in started_containers(graph) if container.program)


def started_containers(graph: Graph) -> Iterator[EngineContainer]:
    """Yield every container of which it is written what it runs, no shell; ``program`` is empty where that is another.

    A program that starts a shell (``nsenter ... sh -c``) counts as one.
    """
    for template in pod_templates(graph):
        for path, body in template.containers():
            words = [*_words(body, path, "command"), *_words(body, path, "args")]
            program, after = _start(words)
            if program or (body.get("command") and not any(PurePosixPath(word).name in _SHELLS for _, word in words)):
                yield EngineContainer(
                    program,
                    template,
                    path,
                    str(body.get("image", "")),
                    tuple(words[after:]),
                    _variables(template, body),
                    section(section(body.get("resources")).get("limits")),
                )


def _words(body: Mapping[str, Any], path: str, key: str) -> list[tuple[str, str]]:
    words = body.get(key)
    return [(f"{path}.{key}[{i}]", str(word)) for i, word in enumerate(words if isinstance(words, list) else [])]


def _start(words: list[tuple[str, str]]) -> tuple[str, int]:
    """Return the program and how many words start it; of a shell and of other programs, nothing and none."""
    texts = [word for _, word in words]
    if not texts or PurePosixPath(texts[0]).name in _SHELLS:
        return "", 0
    texts[0] = PurePosixPath(texts[0]).name
    for at in (0, 1):
        for start, program in PROGRAMS.items():
            if tuple(texts[at : at + len(start)]) == start:
                return program, at + len(start)
    return "", 0


def _variables(template: PodTemplate, body: Mapping[str, Any]) -> dict[str, Any]:
    """The container's variables; a DynamoGraphDeployment gives its own ``env`` to all of its pods."""
    shared = entries(template.owner.at("spec", "env")) if template.owner.kind == "DynamoGraphDeployment" else []
    return {
        str(entry.get("name")): entry.get("value", entry.get("valueFrom"))
        for entry in (*shared, *entries(body.get("env")))
    }
