"""Planned stacks to ask about, and clients for the emulated endpoint: no test here reaches Google."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from beamline.engine import run_program
from beamline.preflight import Google, Target, World
from beamline.registry import RegistryClient
from beamline.sandbox.google_api import serving
from beamline.sandbox.simulated_google import simulated_project
from stacks import resolve
from stacks.cloud import SANDBOX_PROJECT
from stacks.settings import pulumi_config
from tests.components.plans import CHECKOUT, config_of

SUB_BLOCK = f"projects/{SANDBOX_PROJECT}/reservations/r/reservationBlocks/b/reservationSubBlocks/s"


def target(preset: str = "g4-llmd", **settings: Any) -> Target:
    """Plan a preset as a stack of the simulated project, with further settings."""
    own = {"project": SANDBOX_PROJECT, **settings}
    if preset.startswith("a4x-max"):
        own = {"reservation": SUB_BLOCK, **own}
    return _target(json.dumps(config_of(preset, **own)))


@cache
def _target(config: str) -> Target:
    values = json.loads(config)
    spec = resolve("dev", pulumi_config(values), where="a test", applying=False)
    return Target(spec, run_program(CHECKOUT, project="beamline", stack="dev", config=values))


def programs(command: Sequence[str]) -> str:
    """Answer as both programs do where they are installed."""
    return {"pulumi": "v3.274.1\n", "gke-gcloud-auth-plugin": "Kubernetes v1.36.0\n"}[command[0]]


def world(endpoint: str, **others: Any) -> World:
    """Return a world that is asked at one loopback address only."""
    return World(
        Google(endpoint=endpoint, retries=0),
        **{
            "registry": lambda: RegistryClient(stand_in=f"{endpoint}/registries"),
            "hub": f"{endpoint}/hub",
            "program": programs,
            **others,
        },
    )


@contextmanager
def simulated(folder: Path, asked: Target, project: str = "") -> Iterator[World]:
    """Serve a simulated project whose own file says ``project``, for as long as the test asks."""
    if project:
        (folder / "project.yaml").write_text(project)
    with serving(simulated_project(folder), assumed=asked.reserved_machine_types) as endpoint:
        yield world(endpoint)
