"""What the engines are asked: every engine container of every preset, and of every feature that tests render."""

from __future__ import annotations

import dataclasses
import json
import os
import re
import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from beamline.checks.engines.containers import EngineContainer, engine_containers
from beamline.engine import Graph
from manifests import render
from stacks.preset_files import compose, preset_names
from stacks.resolve import StackSpec
from tests.engines.checkpoints import Files, checkpoint_files
from tests.engines.sizes import SIZES
from tests.manifests.cases import EVERY, RESERVATION, resolved, spec_of
from tests.policies.graphs import registered

__all__ = ["CHECKOUT", "PYTHON", "Case", "ask", "cases_of", "every_case", "every_question", "every_spec"]

CHECKOUT = Path(__file__).parents[2]
PYTHON = CHECKOUT / ".venv-engines" / "bin" / "python"
_REFERENCE = re.compile(r"\$\(([A-Za-z_][A-Za-z0-9_]*)\)")
_GROUP = {"LWS_LEADER_ADDRESS": "10.0.0.1", "LWS_GROUP_SIZE": "2"}
_FIELDS = {"status.podIP": "10.0.0.1", "metadata.uid": "00000000-0000-0000-0000-000000000000"}
"""What Kubernetes would put in: any address, any uid."""
_DECODE_ROLE = re.compile(r"-decode$|^--disaggregation-mode=decode$")


@dataclass(frozen=True)
class Case:
    """One container as its process sees it."""

    name: str
    engine: str
    program: str
    words: tuple[str, ...]
    variables: Mapping[str, str]
    device: Mapping[str, Any]
    files: Mapping[str, Files] = field(default_factory=dict)
    kv_bytes_per_rank: int = 0
    decodes_only: bool = False
    host_tier: bool = False
    """Whether its worker has a tier in host memory, and not only a way through it."""

    def with_words(self, *words: str) -> Case:
        """The same with further words."""
        return dataclasses.replace(self, words=(*self.words, *words))

    def with_variables(self, **variables: str) -> Case:
        """The same with further variables."""
        return dataclasses.replace(self, variables={**self.variables, **variables})


def every_spec() -> dict[str, StackSpec]:
    """Return every preset, and every feature that tests render, by name."""
    return (
        {name: spec_of(name) for name in EVERY}
        | {name: _preset(name) for name in preset_names() if name not in EVERY}
        | {name: _resolved(*says) for name, says in SIZES.items()}
    )


def _preset(name: str) -> StackSpec:
    evidence = compose(name, key="preset", where=name)[0].get("evidence", {})
    return _resolved(name, {}, [feature for feature, line in evidence.items() if line.get("status") == "unverified"])


def _resolved(preset: str, overrides: dict[str, Any], accepted: list[str]) -> StackSpec:
    reserved = "reservation" in json.dumps(compose(preset, key="preset", where=preset)[0]["accelerator_pools"])
    return resolved(preset, overrides, accepted, **({"reservation": RESERVATION} if reserved else {}))


@cache
def every_question() -> dict[str, tuple[Case, ...]]:
    """Return the engine containers of every spec; the first of equal ones is the one that is judged."""
    found: dict[str, list[Case]] = {}
    for name, spec in every_spec().items():
        for case in cases_of(name, spec):
            what = [case.program, case.words, dict(case.variables), dict(case.device), dict(case.files)]
            found.setdefault(json.dumps([*what, case.kv_bytes_per_rank]), []).append(case)
    return {cases[0].name: tuple(cases) for cases in found.values()}


def every_case() -> tuple[Case, ...]:
    """Return every engine container of every spec; what two have in common is judged once."""
    return tuple(cases[0] for cases in every_question().values())


def cases_of(name: str, spec: StackSpec) -> list[Case]:
    """Return the engine containers of one stack, once for each place in a group of pods."""
    objects = [dict(item.body) for item in render(spec)]
    graph = Graph(resources=tuple(map(registered, objects)), outputs={})
    return [case for container in engine_containers(graph) for case in _instances(name, spec, container, objects)]


def _mounted(container: EngineContainer, objects: list[dict[str, Any]]) -> dict[str, Files]:
    """The files of ConfigMaps that the container sees, by the folder where it sees them."""
    data = {item["metadata"]["name"]: item.get("data", {}) for item in objects if item["kind"] == "ConfigMap"}
    volumes = {volume["name"]: volume.get("configMap", {}) for volume in container.template.spec.get("volumes", [])}
    return {
        mount["mountPath"]: data[volumes[mount["name"]]["name"]]
        for _, body in container.template.containers()
        for mount in body.get("volumeMounts", [])
        if volumes.get(mount["name"], {}).get("name") in data
    }


def _instances(name: str, spec: StackSpec, container: EngineContainer, objects: list[dict[str, Any]]) -> Iterable[Case]:
    role = re.sub(r"^[^.]*\.|\.spec\..*|spec\.", "", container.path.replace("leaderWorkerTemplate.", ""))
    engine = spec.rows.engine.kind
    for rank in _ranks(spec, container):
        index = {"LWS_WORKER_INDEX": str(rank)}
        variables = {**_GROUP, **index, **{key: _text(value) for key, value in container.variables.items()}}
        words = [_REFERENCE.sub(lambda m, v=variables: v.get(m[1], m[0]), word) for _, word in container.words]
        words += _operators_words(spec, container, rank)
        yield Case(
            name=f"{name}/{container.template.owner.name}/{role}/{container.program}/{rank}",
            engine="vllm" if container.program == "dynamo.frontend" else engine,
            program=container.program,
            words=tuple(words),
            variables={key: value for key, value in variables.items() if key not in {**_GROUP, **index}},
            device=_device(spec.rows.hardware.gpu.compute_capability),
            files={**checkpoint_files(spec), **_mounted(container, objects)},
            kv_bytes_per_rank=spec.derived.kv_room_bytes_per_replica // spec.derived.gpus_per_replica,
            host_tier=spec.derived.host_tier_bytes_per_replica > 0,
            decodes_only=any(_DECODE_ROLE.search(word) for word in (container.template.owner.name, *words)),
        )


def _ranks(spec: StackSpec, container: EngineContainer) -> Iterable[int]:
    nodes = spec.derived.nodes_per_replica
    if container.program == "dynamo.frontend" or nodes == 1 or "leaderTemplate" in container.path:
        return (0,)
    return (nodes - 1,) if "workerTemplate" in container.path else (0, nodes - 1)


def _operators_words(spec: StackSpec, container: EngineContainer, rank: int) -> list[str]:
    """What Dynamo's operator adds for several nodes (deploy/operator/internal/dynamo/backend_sglang.go)."""
    nodes = spec.derived.nodes_per_replica
    if container.program != "dynamo.sglang" or nodes == 1:
        return []
    return ["--dist-init-addr", "10.0.0.1:29500", "--nnodes", str(nodes), "--node-rank", str(rank)]


def _text(value: Any) -> str:
    if not isinstance(value, Mapping):
        return str(value)
    return _FIELDS.get(value.get("fieldRef", {}).get("fieldPath", ""), "a-secret")


def _device(capability: str) -> dict[str, Any]:
    """A GPU as SGLang asks about it."""
    major, minor = (int(part) for part in capability.split("."))
    return {
        "is_cuda": True,
        "is_sm90": major == 9,
        "is_sm100": major == 10,
        "is_sm100_or_sm110": major in (10, 11),
        "is_sm120": major == 12,
        "is_blackwell": major >= 10,
        "device_sm": 10 * major + minor,
        "device_capability": [major, minor],
        "has_flashinfer": True,
    }


def ask(engine: str, cases: Iterable[Case], folder: Path, **more: Any) -> dict[str, Any]:
    """Let one engine judge cases, in a process of its own; raises with its last words when it cannot."""
    asked = list(cases)
    files = {path: content for case in asked for path, content in case.files.items()}
    keys = ("name", "program", "words", "variables", "device", "kv_bytes_per_rank")
    request = {"files": {**files, **more.pop("files", {})}, **more}
    request["cases"] = [{key: getattr(case, key) for key in keys} for case in asked]
    question, answer = folder / f"{engine}-request.json", folder / f"{engine}-response.json"
    question.write_text(json.dumps(request, default=list), encoding="utf-8")
    command = [str(PYTHON), "-m", "tests.engines.judge", engine, str(question), str(answer)]
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("VLLM_", "SGLANG_", "DYN_"))}
    done = subprocess.run(command, cwd=CHECKOUT, env=kept, capture_output=True, text=True, check=False)
    if not answer.is_file():
        raise AssertionError(f"the {engine} judge ended with {done.returncode}: {done.stderr[-3000:]}")
    result: dict[str, Any] = json.loads(answer.read_text(encoding="utf-8"))
    return result
