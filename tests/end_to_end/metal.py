"""What the metal tests share: a stack file, and the objects of the sandbox ``metal``."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import yaml

from beamline.sandbox.home import CHECKOUT
from stacks.cloud import PLACEHOLDER_PROJECT, PLACEHOLDER_SUB_BLOCK

__all__ = ["NODES", "get", "stack_file"]

NODES = 8


def stack_file(folder: Path, preset: str, overrides: dict[str, Any] | None = None) -> Path:
    file = folder / "Pulumi.metal.yaml"
    config = {
        "beamline:preset": preset,
        "beamline:project": PLACEHOLDER_PROJECT,
        "beamline:region": "us-central1",
        "beamline:zone": "us-central1-b",
        "beamline:reservation": PLACEHOLDER_SUB_BLOCK,
        "beamline:accept_unverified": ["transport:nvlink+rdma"] if overrides else [],
        "beamline:overrides": overrides or {},
    }
    file.write_text(yaml.safe_dump({"config": config}))
    return file


def get(kind: str, *more: str) -> list[dict[str, Any]]:
    """Objects of the sandbox's cluster, by the command line a user has."""
    asked = ["kubectl", "get", kind, "--output", "json", *more]
    done = subprocess.run(
        [sys.executable, "-m", "beamline.cli", "sandbox", "shell", "metal", "--", *asked],
        cwd=CHECKOUT,
        capture_output=True,
        text=True,
        check=True,
    )
    found: list[dict[str, Any]] = json.loads(done.stdout)["items"]
    return found
