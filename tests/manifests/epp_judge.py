"""Have a real endpoint picker judge every configuration that the kit renders, by hand: with a binary built elsewhere.

    python -m tests.manifests.epp_judge BINARY --version v0.10.0 --commit <sha> [--stands-in-for v0.11.0]

The picker is started without Kubernetes: to each configuration a plugin is added that reads replicas from a file.
Whatever it would refuse in a cluster it refuses here: unknown plugins, fields and parameters, references to nothing,
plugins that need a flag. Verdicts go to ``epp_verdicts.yaml``, by the hash of the configuration that the kit renders;
of its arguments, the flags that the picker has are kept beside its commit.
"""

from __future__ import annotations

import argparse
import copy
import datetime as dt
import hashlib
import json
import re
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from manifests.chosen import llmd_release
from manifests.llmd.picker_config import picker_config
from manifests.llmd.router import router
from stacks.resolve import StackSpec
from tests.manifests.cases import CASES, RESERVATION, resolved, spec_of
from tests.shipped import SHIPPED, accepted

__all__ = ["VERDICTS", "Rendered", "every_config"]

VERDICTS = Path(__file__).with_name("epp_verdicts.yaml")
_REPOSITORY = "https://github.com/llm-d/llm-d-router"
_STARTED = "EPP starting (file discovery mode)"
_DISCOVERY = "file-discovery"
_EXPERIMENTAL = "--allow-experimental-plugins"
_REPLICAS = [
    {"name": f"engine-{role}", "address": f"127.0.0.{last}", "port": "8000", "labels": {"llm-d.ai/role": role}}
    for last, role in enumerate(("prefill", "decode"), start=2)
]
_COMPLETED = f"plugin {_DISCOVERY} with a file of two replicas; dataLayer.discovery"
_UNKNOWN_STRATEGY = "turn-priority"
_INSTEAD = "strategy las in place of turn-priority, without turnPriorityTimeWeight"


@dataclass(frozen=True)
class Rendered:
    """What a picker is given: the text of its configuration, its version, and its arguments."""

    text: str
    router: str
    arguments: tuple[str, ...]

    @property
    def key(self) -> tuple[str, str]:
        """What a verdict is about."""
        return hashlib.sha256(self.text.encode()).hexdigest(), self.router

    @property
    def experimental(self) -> bool:
        """Whether it may start alpha plugins."""
        return _EXPERIMENTAL in self.flags

    @property
    def flags(self) -> set[str]:
        """The names of its arguments."""
        return {argument.partition("=")[0] for argument in self.arguments}


def every_config() -> dict[str, Rendered]:
    """By case or preset, for all with llm-d."""
    specs: dict[str, StackSpec] = {name: spec_of(name) for name in CASES}
    for preset in (name for name in SHIPPED if "llmd" in name):
        where = {"reservation": RESERVATION} if preset.startswith("a4x") else {}
        specs[preset] = resolved(preset, {}, accepted(preset), **where)
    return {name: _rendered(spec) for name, spec in specs.items()}


def _rendered(spec: StackSpec) -> Rendered:
    (deployment,) = (each.body for each in router(spec) if each.body["kind"] == "Deployment")
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    return Rendered(picker_config(spec), llmd_release(spec).router_image.tag, tuple(container["args"]))


def _free_ports(number: int) -> list[int]:
    sockets = [socket.socket() for _ in range(number)]
    for each in sockets:
        each.bind(("127.0.0.1", 0))
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


def _completed(config: dict[str, Any], folder: Path) -> dict[str, Any]:
    replicas = folder / "replicas.yaml"
    replicas.write_text(yaml.safe_dump({"endpoints": _REPLICAS}), encoding="utf-8")
    whole = copy.deepcopy(config)
    whole["plugins"].append({"type": _DISCOVERY, "parameters": {"path": str(replicas)}})
    whole.setdefault("dataLayer", {})["discovery"] = {"pluginRef": _DISCOVERY}
    return whole


def _refusal(binary: Path, config: dict[str, Any], *, experimental: bool) -> str | None:
    """Start the picker; return why it would not, None if it did."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        file = folder / "config.yaml"
        file.write_text(yaml.safe_dump(_completed(config, folder), sort_keys=False), encoding="utf-8")
        ports = zip(("grpc-port", "grpc-health-port", "metrics-port"), _free_ports(3), strict=True)
        command = [
            *(str(binary), "--pool-name=epp", f"--config-file={file}", *(f"--{flag}={port}" for flag, port in ports)),
            *("--secure-serving=false", "--metrics-endpoint-auth=false", "--tracing=false", "--enable-pprof=false"),
            *([_EXPERIMENTAL] if experimental else []),
        ]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as picker:
            try:
                return _heard(picker.stdout or ())
            finally:
                picker.terminate()


def _heard(lines: Any) -> str | None:
    said = ""
    for line in lines:
        if _STARTED in line:
            return None
        entry = json.loads(line) if line.startswith("{") else {"error": line.strip()}
        said = str(entry.get("error") or said)
    return said or "it ended without a word"


def _without_turns(config: dict[str, Any]) -> dict[str, Any] | None:
    """The same configuration in words that pickers before turn priority know; None where nothing changes."""
    changed = copy.deepcopy(config)
    for plugin in changed["plugins"]:
        parameters = plugin.get("parameters", {})
        if parameters.get("strategy") == _UNKNOWN_STRATEGY:
            parameters["strategy"] = "las"
            del parameters["turnPriorityTimeWeight"]
            return changed
    return None


def _mistakes(config: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Plugins that have no parameters do not look at any: only one that is given some is given one more."""
    field, plugin, parameter = (copy.deepcopy(config) for _ in range(3))
    field["schedulingProfile"] = field["schedulingProfiles"]
    yield "misspelt field", field
    plugin["plugins"].append({"type": "prefix-cache-scorers"})
    yield "unknown plugin", plugin
    for each in parameter["plugins"]:
        if "parameters" in each:
            each["parameters"]["maxPrefixToken"] = 1
            yield "unknown parameter", parameter
            return


def _known_flags(binary: Path) -> set[str]:
    said = subprocess.run([str(binary), "--help"], capture_output=True, text=True, check=False)
    return set(re.findall(r"--[a-z][a-z0-9-]+", said.stdout + said.stderr))


def _judged(binary: Path, rendered: Rendered, judge: str) -> dict[str, Any]:
    config = yaml.safe_load(rendered.text)
    instead = _without_turns(config)
    refusal = _refusal(binary, instead or config, experimental=rendered.experimental)
    unknown = sorted(rendered.flags - _known_flags(binary))
    open_ = [
        *([f"{_INSTEAD}: whether {rendered.router} takes the original was not judged"] if instead else []),
        *([f"{rendered.router} itself was not at hand"] if rendered.router != judge else []),
    ]
    return {
        "judge": judge,
        "completed": _COMPLETED,
        "result": "loaded" if refusal is None else f"refused: {refusal}",
        **({"unverified": open_} if open_ else {}),
        "unknown_flags": unknown,
        "refused": {
            name: _refusal(binary, broken, experimental=rendered.experimental) or "not refused"
            for name, broken in _mistakes(instead or config)
        },
        "date": dt.datetime.now(dt.UTC).date().isoformat(),
    }


def main() -> None:
    """Judge what is for this version, or for the one it stands in for, and keep what others judged."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("binary", type=Path)
    parser.add_argument("--version", required=True)
    parser.add_argument("--commit", required=True)
    parser.add_argument("--stands-in-for")
    said = parser.parse_args()
    configs = every_config()
    before = (
        yaml.safe_load(VERDICTS.read_text(encoding="utf-8")) if VERDICTS.exists() else {"judges": {}, "verdicts": []}
    )
    found = {(each["sha256"], each["router"]): each for each in before["verdicts"]}
    about = {rendered.key: rendered for rendered in configs.values()}
    here = [each for each in configs.values() if each.router == (said.stands_in_for or said.version)]
    has = sorted({flag for each in here for flag in each.flags} & _known_flags(said.binary))
    judges = before["judges"] | {said.version: {"repository": _REPOSITORY, "commit": said.commit, "has": has}}
    for key, rendered in about.items():
        if rendered.router == (said.stands_in_for or said.version):
            found[key] = _judged(said.binary, rendered, said.version)
            print(key[0][:12], rendered.router, found[key]["result"])
    verdicts = [
        {
            "sha256": key[0],
            "router": key[1],
            "of": [name for name, rendered in configs.items() if rendered.key == key],
            **{name: value for name, value in found[key].items() if name not in ("sha256", "router", "of")},
        }
        for key in about
        if key in found
    ]
    text = yaml.safe_dump({"judges": judges, "verdicts": verdicts}, sort_keys=False, width=1000)
    VERDICTS.write_text(_HEAD + text, encoding="utf-8")


_HEAD = """\
# What a real endpoint picker said to each configuration that the kit renders, by the hash of the rendered text.
# Written by tests/manifests/epp_judge.py, which takes a picker built elsewhere; see CONTRIBUTING.md.
"""

if __name__ == "__main__":
    main()
