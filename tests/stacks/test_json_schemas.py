"""The schemas editors use: up to date, true of every shipped file, and refusing what plan refuses."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from stacks.json_schemas import SCHEMAS_DIR, all_schemas, main, written
from stacks.preset_files import preset_names
from stacks.settings import STACKS_DIR
from stacks.yaml_files import read_yaml

MODELINE = re.compile(r"# yaml-language-server: \$schema=(\S+)\n")
FILES = sorted(p for p in STACKS_DIR.rglob("*.yaml") if p.name != "images.lock.yaml")
SCHEMAS = all_schemas()


def _errors(schema: dict[str, Any], data: Any) -> list[str]:
    plain = json.loads(json.dumps(data, default=str))
    validator = Draft202012Validator(schema, format_checker=Draft202012Validator.FORMAT_CHECKER)
    return [f"{error.json_path}: {error.message}" for error in validator.iter_errors(plain)]


def test_committed_schemas_are_what_the_models_say() -> None:
    """No drift: ``python -m stacks.json_schemas`` would change nothing."""
    committed = {path.name: path.read_text(encoding="utf-8") for path in SCHEMAS_DIR.iterdir()}
    assert committed == {name: written(schema) for name, schema in SCHEMAS.items()}, "run python -m stacks.json_schemas"


def test_writing_removes_what_is_gone(tmp_path: Path) -> None:
    """The command writes all schemas and leaves no old one behind."""
    (tmp_path / "old.schema.json").write_text("{}", encoding="utf-8")
    main(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == set(SCHEMAS)


@pytest.mark.parametrize("name", SCHEMAS)
def test_schemas_are_schemas(name: str) -> None:
    """Each is a valid draft 2020-12 schema, and every reference in it has an end."""
    Draft202012Validator.check_schema(SCHEMAS[name])
    references = set(re.findall(r'"#/\$defs/(\w+)"', json.dumps(SCHEMAS[name])))
    assert references <= set(SCHEMAS[name].get("$defs", {}))


@pytest.mark.parametrize("path", FILES, ids=[str(p.relative_to(STACKS_DIR)) for p in FILES])
def test_every_shipped_file_names_its_schema_and_fits_it(path: Path) -> None:
    """The first line leads to a committed schema, which the file satisfies."""
    modeline = MODELINE.match(path.read_text(encoding="utf-8"))
    assert modeline, "the first line must name the schema"
    schema = (path.parent / modeline[1]).resolve()
    assert schema.parent == SCHEMAS_DIR
    assert _errors(SCHEMAS[schema.name], read_yaml(path)) == []


def _stack(**settings: Any) -> dict[str, Any]:
    shipped: dict[str, Any] = read_yaml(STACKS_DIR / "Pulumi.g4.yaml")["config"]
    return {"config": shipped | {f"beamline:{key}": value for key, value in settings.items()}}


STACKS: dict[str, tuple[dict[str, Any], list[str]]] = {
    "overrides may be part of a section": (_stack(overrides={"serving": {"shape": {"replicas": 2}}}), []),
    "overrides may be commented out": (_stack(overrides=None), []),
    "overrides may leave the kind to the preset": (
        _stack(overrides={"serving": {"kv_cache": {"offload": {"gib_per_replica": 5}}}}),
        [],
    ),
    "what pulumi writes": ({**_stack(), "encryptionsalt": "v1:x"}, []),
    "other namespaces": ({"config": {**_stack()["config"], "gcp:project": "x"}}, []),
    "a misspelt setting": (
        _stack(regon="x"),
        ["$.config: 'beamline:regon' does not match any of the regexes: '^(?!beamline:)[^:]+:'"],
    ),
    "a misspelt section": (
        _stack(overrides={"servng": {}}),
        ["$.config['beamline:overrides']: {'servng': {}} is not valid under any of the given schemas"],
    ),
    "evidence": (
        _stack(overrides={"evidence": {}}),
        ["$.config['beamline:overrides']: {'evidence': {}} is not valid under any of the given schemas"],
    ),
    "a count in quotes": (
        _stack(overrides={"system_pool": {"nodes": "2"}}),
        ["$.config['beamline:overrides']: {'system_pool': {'nodes': '2'}} is not valid under any of the given schemas"],
    ),
    "an unknown preset": (
        _stack(preset="g5"),
        [f"$.config['beamline:preset']: 'g5' is not one of {preset_names()}"],
    ),
}


@pytest.mark.parametrize("name", STACKS)
def test_stack_files(name: str) -> None:
    """An editor accepts what plan accepts and marks what plan refuses."""
    data, errors = STACKS[name]
    assert _errors(SCHEMAS["stack.schema.json"], data) == errors


def test_a_preset_is_whole_or_extends() -> None:
    """With extends every key is optional; without it a missing section is marked."""
    schema = SCHEMAS["preset.schema.json"]
    assert _errors(schema, {"extends": "g4-llmd", "serving": {"wait": "accepted"}}) == []
    assert _errors(schema, {"extends": "g4-llmd", "serving": {"wiat": "accepted"}}) != []
    whole = read_yaml(STACKS_DIR / "presets" / "g4-llmd.yaml")
    for key in whole:
        rest = {k: v for k, v in whole.items() if k != key}
        assert _errors(schema, rest) == [f"$: {key!r} is a required property"]


def test_names_are_offered() -> None:
    """An editor completes machine types, models, checkpoints, engines, releases, drafters and presets."""
    parts = SCHEMAS["stack.schema.json"]["$defs"]
    offered = {
        "machine": parts["PartOfAcceleratorPool"]["properties"]["machine_type"]["enum"],
        "system": parts["PartOfSystemPool"]["properties"]["machine_type"]["enum"],
        "model": parts["PartOfModel"]["properties"]["name"]["enum"],
        "checkpoint": parts["PartOfModel"]["properties"]["checkpoint"]["enum"],
        "vllm": parts["PartOfVllmEngine"]["properties"]["version"]["enum"],
        "sglang": parts["PartOfSglangEngine"]["properties"]["version"]["enum"],
        "llm-d": parts["PartOfLlmdRouter"]["properties"]["release"]["enum"],
        "dynamo": parts["PartOfDynamoRouter"]["properties"]["release"]["enum"],
        "transport": parts["PartOfTransport"]["properties"]["name"]["enum"],
        "drafter": parts["PartOfSpeculation"]["properties"]["drafter"]["enum"],
        "extends": SCHEMAS["preset.schema.json"]["$defs"]["PartOfPreset"]["properties"]["extends"]["enum"],
    }
    assert "g4-standard-384" in offered.pop("machine")
    assert offered == {
        "system": ["n4-standard-16", "n4-standard-8"],
        "model": ["beam", "qwen3-4b"],
        "checkpoint": ["bf16", "fp8", "nvfp4"],
        "vllm": ["0.33.0"],
        "sglang": ["0.5.23"],
        "llm-d": ["0.10.0", "0.9.0"],
        "dynamo": ["1.6.1", "1.7.0"],
        "transport": ["nvlink", "nvlink+rdma", "tcp"],
        "drafter": ["dflash2"],
        "extends": preset_names(),
    }
