"""A stack file means the same to plan as to pulumi up: every way to write a value, as the real engine hands it over."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from stacks.pulumi_values import HIDDEN, full_key, is_secret, pulumi_config, secret_keys
from stacks.settings import read_stack_file
from stacks.yaml_files import read_yaml
from tests.engine.real_engine import RealProject

MEASURED = read_yaml(Path(__file__).parent / "pulumi_values.yaml")
VALUES: list[dict[str, Any]] = MEASURED["values"]


def _stack_file(folder: Path) -> Path:
    """A stack file that holds every measured value twice: as a setting and inside a section."""
    lines = ["config:"]
    for index, value in enumerate(VALUES):
        lines += [f"  beamline:v{index}: {value['written']}", f"  beamline:s{index}:", f"    in: {value['written']}"]
    path = folder / "Pulumi.values.yaml"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def _expected() -> dict[str, str]:
    texts = {f"beamline:v{index}": value["text"] for index, value in enumerate(VALUES)}
    inside = {f"beamline:s{index}": value["json"] for index, value in enumerate(VALUES)}
    return texts | {key: json.dumps({"in": value}) for key, value in inside.items()}


def _comparable(config: dict[str, str]) -> dict[str, Any]:
    """Sections as data: how JSON is spaced and how it writes large numbers does not matter."""
    return {key: json.loads(text) if key.startswith("beamline:s") else text for key, text in config.items()}


def test_values_arrive_as_measured(tmp_path: Path) -> None:
    """Reading and handing over gives what the real engine gave for every measured way to write a value."""
    config = pulumi_config(read_stack_file(_stack_file(tmp_path)))
    assert _comparable(config) == _comparable(_expected())


def test_keys_get_their_namespace() -> None:
    """A key without a namespace, and one in Pulumi's old long form, are the project's own."""
    assert {key: full_key(key) for key in MEASURED["keys"]} == MEASURED["keys"]


@pytest.mark.sandbox
def test_the_real_engine_says_the_same(tmp_path: Path, tools: Callable[[str], Path]) -> None:
    """Asked about the same file, the command line answers as measured: the table is not out of date."""
    (tmp_path / "Pulumi.yaml").write_text("{name: beamline, runtime: python}", encoding="utf-8")
    (tmp_path / "state").mkdir()
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path),
        "PULUMI_HOME": str(tmp_path / "home"),
        "PULUMI_BACKEND_URL": (tmp_path / "state").as_uri(),
        "PULUMI_CONFIG_PASSPHRASE": "",
        "PULUMI_SKIP_UPDATE_CHECK": "true",
    }

    def pulumi(*words: str) -> str:
        command = [str(tools("pulumi")), *words, "--stack", "values", "--non-interactive"]
        return subprocess.run(command, cwd=tmp_path, env=environment, check=True, capture_output=True, text=True).stdout

    subprocess.run(
        [str(tools("pulumi")), "stack", "init", "values", "--non-interactive"],
        cwd=tmp_path,
        env=environment,
        check=True,
        capture_output=True,
    )
    _stack_file(tmp_path)
    shown = json.loads(pulumi("config", "--json", "--show-secrets"))
    assert _comparable({key: entry["value"] for key, entry in shown.items()}) == _comparable(_expected())


def test_structures_arrive_to_the_letter() -> None:
    """JSON comes out with the engine's own spelling: keys sorted, no blanks, Go's escapes."""
    assert pulumi_config({"beamline:a": {"b": 1.5, "a": [True, None, "é<&>\u2028"]}}) == {
        "beamline:a": '{"a":[true,null,"é\\u003c\\u0026\\u003e\\u2028"],"b":1.5}'
    }


def test_encrypted_values_are_hidden_and_their_keys_secret() -> None:
    """A plan cannot decrypt: a placeholder stands in, and a structure with one secret inside is secret as a whole."""
    secret = {"secure": "v1:abc"}
    values = {"beamline:token": secret, "beamline:more": {"deep": [secret, 1]}, "beamline:plain": "x"}
    assert pulumi_config(values) == {
        "beamline:token": "[secret]",
        "beamline:more": '{"deep":["[secret]",1]}',
        "beamline:plain": "x",
    }
    assert secret_keys(values) == ["beamline:more", "beamline:token"]


@pytest.mark.sandbox
def test_the_real_engine_calls_the_same_keys_secret(tmp_path: Path, tools: Callable[[str], Path]) -> None:
    """The text of a structure and the list of secret keys, as the real engine hands them to the language host."""
    program = tmp_path / "program"
    program.mkdir()
    (program / "__main__.py").write_text("")
    project = RealProject(tmp_path / "project", program, pulumi=tools("pulumi"))
    stack_file = tmp_path / "project/stacks/Pulumi.dev.yaml"
    stack_file.write_text('config: {"beamline:plain": {b: 1.50, a: [true, null, "é<&>", 2.0]}}\n', encoding="utf-8")
    project.pulumi("stack", "init", "dev")
    project.pulumi("config", "set", "--secret", "--path", "more.deep[0]", stdin=HIDDEN)
    log = tmp_path / "grpc.json"
    project.pulumi("preview", environment={"PULUMI_DEBUG_GRPC": str(log)})
    calls = [json.loads(line) for line in log.read_text().splitlines()]
    (run,) = [call["request"] for call in calls if call["method"].endswith("/Run") and "response" in call]
    config = read_stack_file(stack_file)
    assert (run["config"], run["configSecretKeys"]) == (pulumi_config(config), secret_keys(config))


@pytest.mark.parametrize(
    "value",
    [{"secure": "v1:abc"}, {"a": {"b": [{"secure": "v1:abc"}]}}, HIDDEN, {"a": HIDDEN}],
)
def test_encrypted_values_are_recognised(value: object) -> None:
    """What pulumi config set --secret writes is found at any depth, and so is what a plan puts in its place."""
    assert is_secret(value)


@pytest.mark.parametrize("value", ["v1:abc", {"secure": "a", "b": 1}, [], None, 5])
def test_plain_values_are_not_secrets(value: object) -> None:
    """A key called secure beside others is a user's own key."""
    assert not is_secret(value)
