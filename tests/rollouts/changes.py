"""Changes that engineers make to a stack that serves, each applied in a sandbox while its engine pods are watched.

The engine, the API server and the controllers that replace pods are real. SIMULATED: Google Cloud, kubelets and the
processes in pods.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from beamline import sandbox
from stacks.cloud import PLACEHOLDER_PROJECT
from tests.blue_green.capacity import Moment, engine_pods, moments, recorded

__all__ = ["CHANGES", "NAME", "REPLICAS", "Change", "Recording", "recordings"]

NAME, NAMESPACE, REPLICAS = "rollouts", "qwen", 3
_OTHER_COMMIT = "1cfa9a7208912126459214e8b04321603b3df60c"


@dataclass(frozen=True)
class Change:
    """What is laid over the stack file from then on; ``pods``: whether engine pods are made anew by it."""

    says: str
    overrides: Mapping[str, Any]
    pods: bool = True
    settings: Mapping[str, Any] | None = None


CHANGES = (
    Change("another flag of the engine", {"serving": {"engine": {"max_sequences": 8}}}),
    Change("another image", {}, settings={"beamline:mirror": "mirror.example.com/a"}),
    Change("other weights", {"model": {"weights": {"revision": _OTHER_COMMIT}}}),
    Change(
        "another configuration of the router",
        {"serving": {"routing": {"policy": {"scorers": {"prefix_cache": 5, "queue": 1, "kv_cache_utilization": 1}}}}},
        pods=False,
    ),
)


@dataclass(frozen=True)
class Recording:
    """What happened in one change."""

    change: Change
    moments: tuple[Moment, ...]
    warnings: tuple[str, ...]


def recordings(folder: Path) -> Iterator[Recording]:
    """Make the stack, then one change after the other, each on top of those before."""
    overrides: dict[str, Any] = {
        "accelerator_pools": {"main": {"nodes": REPLICAS}},
        "serving": {"shape": {"replicas": REPLICAS}},
    }
    settings: dict[str, Any] = {}
    sandbox.up(NAME, _stack_file(folder, overrides, settings))
    for change in CHANGES:
        overrides = _over(overrides, change.overrides)
        settings = {**settings, **(change.settings or {})}
        file = _stack_file(folder, overrides, settings)
        with recorded(_kubectl, sandbox.shell(NAME).environment, engine_pods(NAME, NAMESPACE)) as watch:
            result = sandbox.up(NAME, file)
        yield Recording(change, moments(watch, lambda _: "main", REPLICAS), tuple(result.warnings))


def _over(base: Mapping[str, Any], more: Mapping[str, Any]) -> dict[str, Any]:
    """Lay ``more`` over ``base``, section by section."""
    both = {key: _over(base[key], value) for key, value in more.items() if isinstance(base.get(key), Mapping)}
    return {**base, **more, **both}


def _stack_file(folder: Path, overrides: Mapping[str, Any], settings: Mapping[str, Any]) -> Path:
    config = {
        "beamline:preset": "small-l4",
        "beamline:project": PLACEHOLDER_PROJECT,
        "beamline:region": "us-central1",
        "beamline:zone": "us-central1-b",
        "beamline:accept_unverified": ["replicas:many"],
        "beamline:overrides": dict(overrides),
        **settings,
    }
    file = folder / f"Pulumi.{NAME}.yaml"
    file.write_text(yaml.safe_dump({"config": config}))
    return file


def _kubectl(words: Sequence[str]) -> list[str]:
    return ["kubectl", *words]
