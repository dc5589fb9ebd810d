"""Stack configuration reaches an in-process program as the very text the real command line would hand it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from beamline.engine.config import program_config
from tests.engine.real_engine import RealProject

STACK_FILE = """
config:
  beamline:text: g4
  beamline:yes: true
  beamline:no: false
  beamline:version: 1.30
  beamline:quoted: "1.30"
  beamline:whole: 2.0
  beamline:count: 5
  beamline:big: 12345678901234567890
  beamline:small: -0.5
  beamline:nothing: null
  beamline:empty: ""
  beamline:day: 2026-01-02
  beamline:moment: 2026-01-02T03:04:05Z
  beamline:nested: {b: 1.50, a: [true, null, "x", 2.0], c: {d: "é<&>", e: ""}, f: 2026-01-02}
  beamline:list: [1, 2.5, "yes"]
"""

ARRIVES = {
    "beamline:text": "g4",
    "beamline:yes": "true",
    "beamline:no": "false",
    "beamline:version": "1.3",
    "beamline:quoted": "1.30",
    "beamline:whole": "2",
    "beamline:count": "5",
    "beamline:big": "12345678901234567890",
    "beamline:small": "-0.5",
    "beamline:nothing": "",
    "beamline:empty": "",
    "beamline:day": "2026-01-02 00:00:00 +0000 UTC",
    "beamline:moment": "2026-01-02 03:04:05 +0000 UTC",
    "beamline:nested": (
        '{"a":[true,null,"x",2],"b":1.5,"c":{"d":"é\\u003c\\u0026\\u003e","e":""},"f":"2026-01-02 00:00:00 +0000 UTC"}'
    ),
    "beamline:list": '[1,2.5,"yes"]',
}


def test_values_become_text() -> None:
    """One of each kind of value: scalars become text, structures JSON; 1.30 without quotes loses its zero."""
    assert program_config(yaml.safe_load(STACK_FILE)["config"]) == (ARRIVES, [])


def test_encrypted_values_are_hidden_and_their_keys_secret() -> None:
    """A plan cannot decrypt: a placeholder stands in, and a structure with one secret inside is secret as a whole."""
    secret = {"secure": "v1:abc"}
    values = {"beamline:token": secret, "beamline:more": {"deep": [secret, 1]}, "beamline:plain": "x"}
    assert program_config(values) == (
        {"beamline:token": "[secret]", "beamline:more": '{"deep":["[secret]",1]}', "beamline:plain": "x"},
        ["beamline:more", "beamline:token"],
    )


@pytest.mark.sandbox
def test_the_real_command_line_agrees(tmp_path: Path, tools: Callable[[str], Path]) -> None:
    """The same stack file, as the real engine hands it to the language host."""
    program = tmp_path / "program"
    program.mkdir()
    (program / "__main__.py").write_text("")
    project = RealProject(tmp_path / "project", program, pulumi=tools("pulumi"))
    (tmp_path / "project/stacks/Pulumi.dev.yaml").write_text(STACK_FILE)
    project.pulumi("stack", "init", "dev")
    project.pulumi("config", "set", "--secret", "--path", "more.deep[0]", stdin="hush")
    log = tmp_path / "grpc.json"
    project.pulumi("preview", environment={"PULUMI_DEBUG_GRPC": str(log)})
    calls = [json.loads(line) for line in log.read_text().splitlines()]
    (run,) = [call["request"] for call in calls if call["method"].endswith("/Run") and "response" in call]
    assert run["config"] == {**ARRIVES, "beamline:more": '{"deep":["hush"]}'}
    assert run["configSecretKeys"] == ["beamline:more"]
