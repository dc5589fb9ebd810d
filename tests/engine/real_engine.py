"""The other driver: the real Pulumi engine, in a throw-away project, and what a program asked of it.

``PULUMI_DEBUG_GRPC`` makes the engine write every call it serves into a file. The registrations in there go through
the same conversion as those of the in-process engine, so that the two graphs can be compared field by field.
"""

from __future__ import annotations

import dataclasses
import json
import os
import shlex
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from google.protobuf import json_format
from pulumi.runtime.proto import resource_pb2

from beamline.engine import Graph, Invoke, Read, Resource
from beamline.engine.requests import invoke_from_request, read_from_request, resource_from_request
from beamline.engine.values import from_struct
from stacks.pulumi_values import HIDDEN
from stacks.urns import STACK_TYPE

CHECKOUT = Path(__file__).parents[2]
STAND_IN = (sys.executable, str(Path(__file__).with_name("stand_in_provider.py")))
STAND_INS: Mapping[str, Sequence[str]] = {package: (*STAND_IN, package) for package in ("gcp", "kubernetes")}
_MONITOR = "/pulumirpc.ResourceMonitor/"
_CHECK_CONFIG = "/pulumirpc.ResourceProvider/CheckConfig"


@dataclass(frozen=True)
class RealPreview:
    """A program's graph as the real engine was asked for it, and the URNs that the engine handled beyond it."""

    graph: Graph
    added: frozenset[str]


class RealProject:
    """One program in a project folder of its own, with its own backend, PULUMI_HOME and PATH."""

    def __init__(
        self,
        folder: Path,
        program_dir: Path,
        *,
        pulumi: Path,
        providers: Mapping[str, Sequence[str]] = STAND_INS,
        stack: str = "dev",
    ) -> None:
        self.folder = folder
        self.stack = stack
        self._pulumi = pulumi
        settings = yaml.safe_load((CHECKOUT / "Pulumi.yaml").read_text())
        (folder / "stacks").mkdir(parents=True)
        (folder / "state").mkdir()
        (folder / "Pulumi.yaml").write_text(yaml.safe_dump({**settings, "main": "program"}))
        (folder / "program").symlink_to(program_dir)
        executables = {"pulumi-language-python": (sys.executable, "-m", "beamline.host")}
        executables |= {f"pulumi-resource-{package}": command for package, command in providers.items()}
        for name, command in executables.items():
            write_executable(folder / "bin" / name, command)
        self.environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith("PULUMI_")},
            "PATH": os.pathsep.join([str(folder / "bin"), os.environ["PATH"]]),
            "PYTHONPATH": str(CHECKOUT),
            "PULUMI_HOME": str(folder / "home"),
            "PULUMI_BACKEND_URL": (folder / "state").as_uri(),
            "PULUMI_CONFIG_PASSPHRASE": "correct horse",
            "PULUMI_SKIP_UPDATE_CHECK": "true",
            "PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION": "true",
            "PULUMI_ERROR_OUTPUT_STRING": "true",
        }

    def pulumi(
        self, *arguments: str, check: bool = True, stdin: str = "", environment: Mapping[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            [str(self._pulumi), *arguments, "--non-interactive"],
            cwd=self.folder,
            env={**self.environment, **(environment or {})},
            input=stdin,
            capture_output=True,
            text=True,
            check=False,
        )
        if check and done.returncode != 0:
            raise AssertionError(f"pulumi {' '.join(arguments)} failed:\n{done.stdout}{done.stderr}")
        return done

    def create_stack(self, config: Mapping[str, Any] | None = None) -> None:
        """Create the stack with this configuration; encrypted values become the text that a plan shows for them."""
        plain = {key: value for key, value in (config or {}).items() if not _is_encrypted(value)}
        if plain:
            (self.folder / "stacks" / f"Pulumi.{self.stack}.yaml").write_text(yaml.safe_dump({"config": plain}))
        self.pulumi("stack", "init", self.stack)
        for key in sorted(set(config or {}) - set(plain)):
            self.pulumi("config", "set", "--secret", key, stdin=HIDDEN)


def write_executable(path: Path, command: Sequence[str]) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text(f'#!/bin/sh\nexec {shlex.join(command)} "$@"\n')
    path.chmod(0o755)


def _is_encrypted(value: object) -> bool:
    return isinstance(value, Mapping) and set(value) == {"secure"}


def real_graph(
    program_dir: Path,
    stack_file: Path,
    *,
    folder: Path,
    pulumi: Path,
    providers: Mapping[str, Sequence[str]] = STAND_INS,
) -> RealPreview:
    """Preview the program with this stack file on the real engine; ``folder`` is scratch space that does not exist."""
    stack = stack_file.stem.removeprefix("Pulumi.")
    project = RealProject(folder, program_dir, pulumi=pulumi, providers=providers, stack=stack)
    project.create_stack(yaml.safe_load(stack_file.read_text())["config"])
    log = folder / "grpc.json"
    done = project.pulumi("preview", "--json", environment={"PULUMI_DEBUG_GRPC": str(log)})
    graph = graph_from_log(log.read_text())
    planned = {step["urn"] for step in json.loads(done.stdout)["steps"]}
    configured = {request["urn"] for _, request, _ in _answered_calls(log.read_text(), _CHECK_CONFIG)}
    asked_for = {resource.urn for resource in graph.resources} | {read.urn for read in graph.reads}
    return RealPreview(graph, frozenset((planned | configured) - asked_for))


def graph_from_log(text: str) -> Graph:
    """Read the engine's gRPC log; logs of the program are not in it."""
    resources: dict[str, Resource] = {}
    reads: dict[str, Read] = {}
    invokes: list[Invoke] = []
    for method, request, response in _answered_calls(text, _MONITOR):
        if method == "RegisterResource":
            register = json_format.ParseDict(request, resource_pb2.RegisterResourceRequest())
            resources[response["urn"]] = resource_from_request(register, response["urn"])
        elif method == "RegisterResourceOutputs":
            outputs = json_format.ParseDict(request, resource_pb2.RegisterResourceOutputsRequest())
            resources[outputs.urn] = dataclasses.replace(
                resources[outputs.urn], registered_outputs=from_struct(outputs.outputs)
            )
        elif method == "ReadResource":
            read = json_format.ParseDict(request, resource_pb2.ReadResourceRequest())
            reads[response["urn"]] = read_from_request(read, response["urn"])
        elif method == "Invoke":
            invokes.append(invoke_from_request(json_format.ParseDict(request, resource_pb2.ResourceInvokeRequest())))
    stack = next(resource for resource in resources.values() if resource.type == STACK_TYPE)
    return Graph(
        resources=tuple(resources[urn] for urn in sorted(resources)),
        outputs=stack.registered_outputs or {},
        reads=tuple(reads[urn] for urn in sorted(reads)),
        invokes=tuple(invokes),
    )


def _answered_calls(text: str, prefix: str) -> Iterator[tuple[str, dict[str, Any], dict[str, Any]]]:
    for line in text.splitlines():
        entry = json.loads(line)
        if entry["method"].startswith(prefix) and entry.get("progress") == "response_completed":
            yield entry["method"].removeprefix(prefix), entry.get("request") or {}, entry.get("response") or {}
