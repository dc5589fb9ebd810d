"""JSON Schemas of stack files, presets and catalog rows, for editors; generated from the models.

``python -m stacks.json_schemas`` writes them to stacks/schemas; a test refuses to pass while they differ. Every YAML
file under stacks/ names its schema in its first line, so an editor completes keys and the names of presets, rows and
releases. They check form; what values allow each other to be is known to ``beamline plan`` only.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from stacks.catalog_files import ROW_KINDS, Catalog, load_catalog
from stacks.composition import PRESETS_OWN
from stacks.preset_files import preset_names
from stacks.rows import Autoscaling, HardwareColumns, HelperCharts, HelperImages, Strict, WeightStorage
from stacks.settings import NAMESPACE, STACKS_DIR, Settings
from stacks.spec import Preset

__all__ = ["SCHEMAS_DIR", "all_schemas", "main", "written"]

Schema = dict[str, Any]
SCHEMAS_DIR = Path(__file__).parent / "schemas"
_DRAFT = "https://json-schema.org/draft/2020-12/schema"
_PULUMIS_OWN = {
    "encryptionsalt": "Written by Pulumi.",
    "encryptedkey": "Written by Pulumi.",
    "secretsprovider": "Written by Pulumi.",
}


def _names(catalog: Catalog) -> Mapping[tuple[str, str], list[str]]:
    """Names an editor offers: (model, key) -> names."""
    models = catalog.models.values()
    return {
        ("AcceleratorPool", "machine_type"): list(catalog.hardware),
        ("SystemPool", "machine_type"): list(catalog.system),
        ("Model", "name"): list(catalog.models),
        ("Model", "checkpoint"): [name for model in models for name in model.checkpoints],
        ("Speculation", "drafter"): [name for model in models for name in model.drafters],
        ("VllmEngine", "version"): [row.version for row in catalog.engines.values() if row.kind == "vllm"],
        ("SglangEngine", "version"): [row.version for row in catalog.engines.values() if row.kind == "sglang"],
        ("LlmdRouter", "release"): [row.version for row in catalog.llmd_releases.values()],
        ("DynamoRouter", "release"): [row.version for row in catalog.dynamo_releases.values()],
        ("Transport", "name"): list(catalog.transports),
    }


def _generated(model: type[Strict], names: Mapping[tuple[str, str], list[str]]) -> tuple[Schema, dict[str, Schema]]:
    """Return a model's schema and the definitions it refers to, names enumerated."""
    schema = _without_titles(model.model_json_schema(ref_template="#/$defs/{model}"))
    definitions: dict[str, Schema] = schema.pop("$defs", {})
    for (owner, key), known in names.items():
        if owner in definitions:
            definitions[owner]["properties"][key]["enum"] = sorted(set(known))
    return schema, definitions


def _without_titles(schema: Any) -> Any:
    """Drop Pydantic's titles, which repeat the names."""
    if isinstance(schema, dict):
        return {k: _without_titles(v) for k, v in schema.items() if not (k == "title" and isinstance(v, str))}
    return [_without_titles(item) for item in schema] if isinstance(schema, list) else schema


def _partial(schema: Any) -> Any:
    """Return a schema in which no key is required: a part of a preset, to be laid over another one.

    A union's member is then told by the keys it has, so ``oneOf`` becomes ``anyOf``.
    """
    if isinstance(schema, list):
        return [_partial(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    changed = {key: _partial(value) for key, value in schema.items() if key not in ("required", "discriminator")}
    if "$ref" in changed:
        changed["$ref"] = changed["$ref"].replace("#/$defs/", "#/$defs/PartOf")
    if "oneOf" in changed:
        changed["anyOf"] = changed.pop("oneOf")
    return changed


def _parts(preset: Schema, definitions: Mapping[str, Schema]) -> tuple[Schema, dict[str, Schema]]:
    """The partial form of a preset; an evidence line stays whole."""
    parts = {f"PartOf{name}": _partial(schema) for name, schema in definitions.items()}
    parts["PartOfEvidence"] = definitions["Evidence"]
    return _partial(preset), parts


def _preset(names: Mapping[tuple[str, str], list[str]], presets: list[str]) -> Schema:
    whole, definitions = _generated(Preset, names)
    part, parts = _parts(whole, definitions)
    part["properties"] = {
        "extends": {"description": "The preset this one is laid over; all keys are then optional.", "enum": presets},
        **part["properties"],
    }
    return {
        "title": "Preset",
        "description": "One composition of catalog rows: stacks/presets/<name>.yaml.",
        "type": "object",
        "if": {"required": ["extends"]},
        "then": {"$ref": "#/$defs/PartOfPreset"},
        "else": {"$ref": "#/$defs/Preset"},
        "$defs": {"Preset": whole, "PartOfPreset": part, **definitions, **parts},
    }


def _stack(names: Mapping[tuple[str, str], list[str]], presets: list[str]) -> Schema:
    settings, definitions = _generated(Settings, names)
    preset, preset_definitions = _generated(Preset, names)
    overrides, parts = _parts(preset, preset_definitions)
    for key in PRESETS_OWN:
        overrides["properties"].pop(key, None)
    del parts["PartOfEvidence"]
    keys = {f"{NAMESPACE}:{key}": schema for key, schema in settings["properties"].items()}
    keys[f"{NAMESPACE}:preset"]["enum"] = presets
    mirror = keys[f"{NAMESPACE}:mirror"]
    keys[f"{NAMESPACE}:mirror"] = mirror.pop("anyOf")[0] | {"description": mirror["description"]}
    keys[f"{NAMESPACE}:overrides"] = {
        "description": keys[f"{NAMESPACE}:overrides"]["description"],
        "anyOf": [{"$ref": "#/$defs/Overrides"}, {"type": "null"}],
    }
    config = {
        "type": "object",
        "properties": keys,
        "required": [f"{NAMESPACE}:{key}" for key in settings["required"]],
        "additionalProperties": False,
        "patternProperties": {f"^(?!{NAMESPACE}:)[^:]+:": {"description": "Another namespace's setting."}},
    }
    return {
        "title": "Stack file",
        "description": "Pulumi's settings of one stack: stacks/Pulumi.<stack>.yaml.",
        "type": "object",
        "properties": {
            "config": config,
            "environment": {"description": "Pulumi ESC environments; plan does not read them."},
            **{key: {"type": "string", "description": words} for key, words in _PULUMIS_OWN.items()},
        },
        "required": ["config"],
        "additionalProperties": False,
        "$defs": {"Overrides": overrides, **definitions, **parts},
    }


def all_schemas(root: Path = STACKS_DIR) -> dict[str, Schema]:
    """Return every schema by its file's name; ``root`` holds the catalog and the presets they name."""
    catalog, presets = load_catalog(root / "catalog"), preset_names(root / "presets")
    names = _names(catalog)
    schemas = {Settings.schema_file: _stack(names, presets), Preset.schema_file: _preset(names, presets)}
    rows: list[type[Strict]] = [
        *(model for model, _ in ROW_KINDS.values()),
        HelperImages,
        HelperCharts,
        WeightStorage,
        Autoscaling,
        HardwareColumns,
    ]
    for model in rows:
        schema, definitions = _generated(model, {})
        schemas[model.schema_file] = schema | ({"$defs": definitions} if definitions else {})
    return {f"{name}.schema.json": {"$schema": _DRAFT, **schema} for name, schema in schemas.items()}


def written(schema: Schema) -> str:
    """Return a schema as its file holds it."""
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


def main(folder: Path = SCHEMAS_DIR) -> None:
    """Write all schemas into ``folder``, and nothing else in there."""
    folder.mkdir(exist_ok=True)
    for old in folder.glob("*.schema.json"):
        old.unlink()
    for name, schema in all_schemas().items():
        (folder / name).write_text(written(schema), encoding="utf-8")


if __name__ == "__main__":
    main()
