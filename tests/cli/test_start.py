"""Verbs that need no Pulumi load none: a typing error is answered at once."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.cli.golden import MISTAKES

WITHOUT: dict[str, tuple[list[str], int]] = {
    "presets": (["presets"], 0),
    "one preset": (["presets", "g4-llmd-nvfp4"], 0),
    "a stack with mistakes": (["plan", MISTAKES], 1),
    "a stack that is not there": (["plan", "g4-lmd"], 1),
    "a size": (["size", "g4"], 0),
    "a check of mistakes": (["check", MISTAKES], 1),
    "help": (["sandbox", "--help"], 0),
    "a preflight of mistakes": (["preflight", MISTAKES], 1),
}
HEAVY = (
    "pulumi",
    "pulumi_gcp",
    "pulumi_kubernetes",
    "grpc",
    "kopf",
    "kubernetes",
    "requests",
    "jsonschema",
    "googleapiclient",
)
PROGRAM = """
import sys
from beamline.cli import app
code = app(sys.argv[2:], standalone_mode=False)
sys.stderr.write(" ".join(name for name in sys.argv[1].split() if name in sys.modules))
sys.exit(code)
"""


@pytest.mark.parametrize("name", WITHOUT)
def test_nothing_heavy_is_imported(name: str) -> None:
    arguments, code = WITHOUT[name]
    ran = subprocess.run(
        [sys.executable, "-c", PROGRAM, " ".join(HEAVY), *arguments], capture_output=True, text=True, check=False
    )
    assert (ran.returncode, ran.stderr) == (code, "")


def test_the_test_can_fail() -> None:
    ran = subprocess.run(
        [sys.executable, "-c", PROGRAM, " ".join(HEAVY), "plan", "g4"], capture_output=True, text=True, check=False
    )
    assert "pulumi_gcp" in ran.stderr
