"""What the kit renders for a Dynamo stack, made fit for one machine without GPUs: every change is a row here.

The frontend is Dynamo's own with the rendered arguments and variables. Workers are Dynamo's mockers: they simulate an
engine's batches and KV cache, and compute nothing.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from manifests import render
from tests.live.tiny_model import write_model
from tests.manifests.cases import RESERVATION, resolved
from tests.manifests.cluster_objects import Body, Objects, flag
from tests.manifests.dynamo.graphs import component, container, environment, graph, workers

__all__ = ["SUBSTITUTIONS", "Rendered", "Simulated", "frontend_arguments", "objects", "rendered"]

SUBSTITUTIONS: dict[str, str] = {
    "--http-port": "a free port, on loopback",
    "--dyn-chat-processor": "left out with its parsers: it is the engine's own code, and no engine is installed",
    "--router-policy-config": "the same text, in a file of this machine",
    "HOME, XDG_CACHE_HOME, HF_HOME": "folders of this machine",
    "discovery": "files, where the operator says Kubernetes (DYN_DISCOVERY_BACKEND, DYN_FILE_KV)",
    "addresses": "loopback, where a pod has its own (DYN_TCP_RPC_HOST and three like it)",
    "weights": "a tokenizer alone, under the rendered name",
    "workers": "four mockers with the worker's block size, batch, sequences and context; few blocks, so that they fill",
    "prefill and decode workers": "two mockers of each mode; they wait as if cache were moved, and move nothing",
}
"""Rendered -> what stands in its place here."""

_PROCESSOR = ("dyn-chat-processor", "reasoning-parser", "tool-call-parser", "enable-auto-tool-choice")
_SOME_TOKENS = 8192
_FOLDERS = ("HOME", "XDG_CACHE_HOME", "HF_HOME")
_HOSTS = ("DYN_TCP_RPC_HOST", "DYN_TCP_RESPONSE_STREAM_HOST", "DYN_EVENT_PLANE_HOST", "DYN_HTTP_RPC_HOST")


@dataclass(frozen=True)
class Rendered:
    """Command lines and variables of one stack, for this machine."""

    model: str
    url: str
    frontend: list[str]
    frontend_variables: Mapping[str, str]
    workers: Mapping[str, list[str]]
    """By role."""
    worker_variables: Mapping[str, str]


@dataclass(frozen=True)
class Simulated:
    """What a worker simulates beyond what is rendered: its KV cache, and how much faster than a GPU's time it goes."""

    blocks: int = 1024
    speedup: float = 1.0


def objects(preset: str, serving: Mapping[str, Any] | None = None, accepted: tuple[str, ...] = ()) -> Objects:
    """Render a preset, with other values under ``serving``."""
    settings = {"reservation": RESERVATION} if preset.startswith("a4x") else {}
    spec = resolved(preset, {"serving": dict(serving)} if serving else {}, list(accepted), **settings)
    return Objects(copy.deepcopy(dict(item.body)) for item in render(spec))


def frontend_arguments(found: Objects) -> list[str]:
    """The frontend's arguments, to be changed in place by those who prove what another one would do."""
    arguments: list[str] = container(component(found, "frontend"))["args"]
    return arguments


def rendered(found: Objects, folder: Path, *, port: int, simulated: Simulated) -> Rendered:
    """Take arguments and variables out of rendered objects, and put in their place what this machine has."""
    roles = {worker["name"]: container(worker) for worker in workers(found)}
    name = str(flag(next(iter(roles.values())), "served-model-name"))
    common = {**{e["name"]: e["value"] for e in graph(found)["spec"]["env"]}, **_loopback(folder)}
    return Rendered(
        model=name,
        url=f"http://127.0.0.1:{port}",
        frontend=["-m", "dynamo.frontend", *_frontend(found, folder, port)],
        frontend_variables={**environment(component(found, "frontend")), **common},
        workers={
            role: ["-m", "dynamo.mocker", *_worker(main, name, folder, simulated)] for role, main in roles.items()
        },
        worker_variables=common,
    )


def _loopback(folder: Path) -> dict[str, str]:
    return {
        **dict.fromkeys(_HOSTS, "127.0.0.1"),
        **dict.fromkeys(_FOLDERS, str(folder / "home")),
        "DYN_DISCOVERY_BACKEND": "file",
        "DYN_FILE_KV": str(folder / "discovery"),
    }


def _frontend(found: Objects, folder: Path, port: int) -> list[str]:
    arguments = []
    for argument in frontend_arguments(found):
        name, _, value = argument.removeprefix("--").partition("=")
        if name in _PROCESSOR:
            continue
        if name == "http-port":
            arguments += [f"--http-port={port}", "--http-host=127.0.0.1"]
        elif name == "router-policy-config":
            arguments.append(f"--{name}={_policy(found, folder, Path(value).name)}")
        else:
            arguments.append(argument)
    return arguments


def _policy(found: Objects, folder: Path, name: str) -> Path:
    (text,) = (body["data"][name] for body in found.kind("ConfigMap") if name in body["data"])
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def _worker(main: Body, name: str, folder: Path, simulated: Simulated) -> list[str]:
    """A mocker like the rendered worker; the engines' flags mean the same under two names."""
    context = int(flag(main, "max-model-len") or flag(main, "context-length"))
    mode = flag(main, "disaggregation-mode")
    return [
        *([f"--disaggregation-mode={mode}"] if mode else []),
        f"--model-path={write_model(folder / 'model', context_tokens=context)}",
        f"--model-name={name}",
        "--engine-type=vllm",
        f"--block-size={flag(main, 'block-size') or flag(main, 'page-size')}",
        f"--max-num-seqs={flag(main, 'max-num-seqs') or flag(main, 'max-running-requests')}",
        f"--max-num-batched-tokens={_step_tokens(main)}",
        f"--num-gpu-blocks-override={simulated.blocks}",
        f"--speedup-ratio={simulated.speedup}",
    ]


def _step_tokens(main: Body) -> int:
    """SGLang's decode workers are told none: they compute no prompts."""
    return int(flag(main, "max-num-batched-tokens") or flag(main, "chunked-prefill-size") or _SOME_TOKENS)
