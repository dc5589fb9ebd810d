"""The steps that a user takes, each applied in a sandbox while the engine pods are watched.

The engine, the API server and the scheduler are real. SIMULATED: Google Cloud, kubelets and GKE's controllers.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from beamline import sandbox
from stacks.cloud import PLACEHOLDER_PROJECT
from stacks.problems import ProblemsFound
from tests.blue_green.capacity import Moment, engine_pods, moments, recorded

__all__ = ["REPLICAS", "Recording", "Step", "recordings"]

NAME, NAMESPACE, REPLICAS = "blue-green", "qwen", 2
_GREEN: dict[str, Any] = {
    "machine_type": "g2-standard-12",
    "nodes": REPLICAS,
    "boot_disk_gb": 200,
    "local_ssd_mode": "raw_block",
    "provisioning": {"kind": "on_demand"},
}
"""Local SSD as raw block: in the pool itself this would replace it."""


@dataclass(frozen=True)
class Step:
    """One change of the stack file: its pools, and the pool that may go."""

    says: str
    pools: Mapping[str, Any]
    goes: str = ""


BEFORE = Step("`main` serves", {"main": {"nodes": REPLICAS}})
STEPS = (
    Step("`green` stands by", {"main": {"nodes": REPLICAS}, "green": {**_GREEN, "use": "standby"}}),
    Step(
        "`green` serves, `main` is drained",
        {"main": {"nodes": REPLICAS, "use": "draining"}, "green": _GREEN},
    ),
    Step("`main` is gone", {"main": None, "green": _GREEN}, goes="main"),
)


@dataclass(frozen=True)
class Recording:
    """What happened in one step, and whether a second ``up`` found nothing to do."""

    step: Step
    moments: tuple[Moment, ...]
    changes: Mapping[str, int]
    unchanged: bool
    warnings: tuple[str, ...]
    refused: tuple[str, ...] = ()
    """Rules and paths by which the same was refused before the pool that goes was named."""
    nodes: Mapping[str, int] = field(default_factory=dict)
    """By pool, afterwards."""


def recordings(folder: Path) -> Iterator[Recording]:
    """Make the stack, then take one step after the other."""
    sandbox.up(NAME, _stack_file(folder, BEFORE, named=True))
    nodes = _nodes()
    for step in STEPS:
        refused = _refused(folder, step) if step.goes else ()
        file = _stack_file(folder, step, named=True)
        with recorded(_kubectl, sandbox.shell(NAME).environment, engine_pods(NAME, NAMESPACE)) as watch:
            result = sandbox.up(NAME, file)
        there = _nodes()
        nodes |= there
        again = sandbox.up(NAME, _stack_file(folder, step, named=False))
        yield Recording(
            step=step,
            moments=moments(watch, nodes.__getitem__, REPLICAS),
            changes=result.changes,
            unchanged=set(again.changes) == {"same"},
            warnings=tuple(result.warnings),
            refused=refused,
            nodes={pool: list(there.values()).count(pool) for pool in sorted(set(there.values()))},
        )


def _stack_file(folder: Path, step: Step, *, named: bool) -> Path:
    """Write the stack file; ``named``: with the pool that goes under ``allow_replace``, as for this one update."""
    config = {
        "beamline:preset": "small-l4",
        "beamline:project": PLACEHOLDER_PROJECT,
        "beamline:region": "us-central1",
        "beamline:zone": "us-central1-b",
        "beamline:accept_unverified": ["replicas:many", *(["local-ssd:raw_block"] if "green" in step.pools else [])],
        "beamline:overrides": {
            "accelerator_pools": dict(step.pools),
            "serving": {"shape": {"replicas": REPLICAS}},
        },
    }
    if named and step.goes:
        config["beamline:allow_replace"] = [f"{NAME}-{step.goes}-pool"]
    file = folder / f"Pulumi.{NAME}.yaml"
    file.write_text(yaml.safe_dump({"config": config}))
    return file


def _refused(folder: Path, step: Step) -> tuple[str, ...]:
    try:
        sandbox.up(NAME, _stack_file(folder, step, named=False))
    except ProblemsFound as found:
        return tuple(f"{problem.rule} {problem.path}" for problem in found.problems if problem.severity == "error")
    return ()


def _kubectl(words: Sequence[str]) -> list[str]:
    return ["kubectl", *words]


def _nodes() -> dict[str, str]:
    """Name of each accelerator node -> its pool, as the stack calls it."""
    done = subprocess.run(
        _kubectl(["get", "nodes", "--output", "json"]),
        env=sandbox.shell(NAME).environment,
        capture_output=True,
        check=True,
    )
    pools = {
        node["metadata"]["name"]: node["metadata"]["labels"]["cloud.google.com/gke-nodepool"].rpartition("-")[2]
        for node in json.loads(done.stdout)["items"]
    }
    return {name: pool for name, pool in pools.items() if pool != "system"}
