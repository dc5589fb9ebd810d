"""What the kit renders for a Dynamo stack, made fit for one machine without GPUs: every change is a row here.

The frontend is Dynamo's own with the rendered arguments and variables. Workers are Dynamo's mockers: they simulate an
engine's batches and KV cache, and compute nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.live.tiny_model import write_model
from tests.manifests.cluster_objects import Objects, flag
from tests.manifests.dynamo.graphs import component, container, environment, graph, workers

__all__ = ["SUBSTITUTIONS", "Rendered", "Simulated", "rendered"]

Body = dict[str, Any]

SUBSTITUTIONS: dict[str, str] = {
    "--http-port": "a free port of this machine, on loopback",
    "--dyn-chat-processor": "left out with its parsers: it is the engine's own code, and no engine is installed",
    "--router-policy-config": "the same text, in a file of this machine",
    "HOME, XDG_CACHE_HOME, HF_HOME": "folders of this machine",
    "DYN_DISCOVERY_BACKEND, DYN_FILE_KV": "files, where the operator says Kubernetes",
    "DYN_TCP_RPC_HOST and the like": "loopback, where a pod has its own address",
    "model": "a tokenizer without weights, under the rendered name",
    "worker": "dynamo.mocker, with the worker's block size, batch, context and queue; few blocks, so that caches fill",
}
"""Rendered -> what stands in its place here."""

_PROCESSOR = ("dyn-chat-processor", "reasoning-parser", "tool-call-parser", "enable-auto-tool-choice")
_FOLDERS = ("HOME", "XDG_CACHE_HOME", "HF_HOME")


@dataclass(frozen=True)
class Rendered:
    """Command lines and variables of one stack, for this machine."""

    model: str
    url: str
    frontend: list[str]
    frontend_variables: Mapping[str, str]
    worker: list[str]
    worker_variables: Mapping[str, str]


@dataclass(frozen=True)
class Simulated:
    """What a worker simulates beyond what is rendered."""

    blocks: int = 1024
    speedup: float = 1.0


def rendered(objects: Objects, folder: Path, *, port: int, simulated: Simulated) -> Rendered:
    """Take arguments and variables out of rendered objects, and put in their place what this machine has."""
    frontend, worker = component(objects, "frontend"), workers(objects)[0]
    name = str(flag(container(worker), "served-model-name"))
    common = {**_planes(objects), **_loopback(folder)}
    return Rendered(
        model=name,
        url=f"http://127.0.0.1:{port}",
        frontend=["-m", "dynamo.frontend", *_frontend(objects, folder, port)],
        frontend_variables={**environment(frontend), **common},
        worker=["-m", "dynamo.mocker", *_worker(container(worker), name, folder, simulated)],
        worker_variables=common,
    )


def _planes(objects: Objects) -> dict[str, str]:
    return {e["name"]: e["value"] for e in graph(objects)["spec"]["env"]}


def _loopback(folder: Path) -> dict[str, str]:
    hosts = ("DYN_TCP_RPC_HOST", "DYN_TCP_RESPONSE_STREAM_HOST", "DYN_EVENT_PLANE_HOST", "DYN_HTTP_RPC_HOST")
    return {
        **dict.fromkeys(hosts, "127.0.0.1"),
        **{name: str(folder / "home") for name in _FOLDERS},
        "DYN_DISCOVERY_BACKEND": "file",
        "DYN_FILE_KV": str(folder / "discovery"),
    }


def _frontend(objects: Objects, folder: Path, port: int) -> list[str]:
    arguments = []
    for argument in container(component(objects, "frontend"))["args"]:
        name, _, value = argument.removeprefix("--").partition("=")
        if name in _PROCESSOR:
            continue
        if name == "http-port":
            arguments += [f"--http-port={port}", "--http-host=127.0.0.1"]
        elif name == "router-policy-config":
            arguments.append(f"--{name}={_policy(objects, folder, Path(value).name)}")
        else:
            arguments.append(argument)
    return arguments


def _policy(objects: Objects, folder: Path, name: str) -> Path:
    (text,) = (b["data"][name] for b in objects.kind("ConfigMap") if name in b["data"])
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def _worker(main: Body, name: str, folder: Path, simulated: Simulated) -> list[str]:
    """A mocker like the rendered worker. Both engines' flags mean the same, under two names."""
    block = flag(main, "block-size") or flag(main, "page-size")
    sequences = flag(main, "max-num-seqs") or flag(main, "max-running-requests")
    batched = flag(main, "max-num-batched-tokens") or flag(main, "chunked-prefill-size")
    context = flag(main, "max-model-len") or flag(main, "context-length")
    model = write_model(folder / "model", context_tokens=int(context))
    return [
        f"--model-path={model}",
        f"--model-name={name}",
        "--engine-type=vllm",
        f"--block-size={block}",
        f"--num-gpu-blocks-override={simulated.blocks}",
        f"--max-num-seqs={sequences}",
        f"--max-num-batched-tokens={batched}",
        f"--speedup-ratio={simulated.speedup}",
    ]
