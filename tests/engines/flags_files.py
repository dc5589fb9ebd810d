"""The committed files of flags, as the engines' answers make them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from stacks.catalog_files import CATALOG_DIR

__all__ = ["FOLDER", "flag_files", "text_of"]

FOLDER = CATALOG_DIR / "engine_flags"
_AS_OF = "2026-11-30"
_STANDS_FOR = {"dynamo": ["1.7.0"]}
"""Versions that the package index does not have; what they take is judged by the newest that it has."""
_PACKAGES = {"vllm": "vllm", "sglang": "sglang", "dynamo": "ai-dynamo"}
_SOURCES = {
    "vllm": "its own parsers (vllm serve, AsyncEngineArgs), configuration classes, registries and vllm.envs; keys of "
    "connectors: those that their code reads",
    "sglang": "ServerArgs' parser, srt/environ.py and the variables that the code names beside it; keys of the file "
    "backend: those that its code reads",
    "dynamo": "its argument groups; variables: those that its Python names, and texts of its compiled part. 1.7.0, "
    "which presets name, is not on the package index and was not read",
}


def flag_files(answers: Mapping[str, Mapping[str, Any]]) -> dict[Path, str]:
    """Return file -> text from the answers of all judges."""
    merged: dict[str, dict[str, Any]] = {}
    for answer in answers.values():
        for kind, flags in answer["flags"].items():
            programs = {**merged.get(kind, {}).get("programs", {}), **flags["programs"]}
            merged[kind] = {**merged.get(kind, {}), **flags, "programs": dict(sorted(programs.items()))}
    versions = next(iter(answers.values()))["versions"]
    files = {}
    for kind, flags in merged.items():
        version = versions[_PACKAGES[kind]]
        head = {
            "kind": kind,
            "version": version,
            "source": f"{_PACKAGES[kind]} {version} wheel, run by `make engine-flags`: {_SOURCES[kind]}",
            "as_of": _AS_OF,
            **({"stands_for": _STANDS_FOR[kind]} if kind in _STANDS_FOR else {}),
        }
        files[FOLDER / f"{kind}-{version}.json"] = text_of({**head, **flags})
    return files


def text_of(data: Any, depth: int = 0) -> str:
    """Write JSON with one flag, key or variable a line, so that a change of one is a change of one line."""
    return _written(data, 0) + "\n" if depth == 0 else _written(data, depth)


def _written(data: Any, depth: int) -> str:
    flat = json.dumps(data, ensure_ascii=False)
    nested = isinstance(data, dict) and any(isinstance(value, dict | list) for value in data.values())
    long_list = isinstance(data, list) and len(data) > 30
    if not (nested or long_list) or _is_leaf(data):
        return flat
    pad = " " * (depth + 1)
    if isinstance(data, list):
        inner = ",\n".join(pad + _written(item, depth + 1) for item in data)
        return f"[\n{inner}\n{' ' * depth}]"
    inner = ",\n".join(f"{pad}{json.dumps(key)}: {_written(value, depth + 1)}" for key, value in data.items())
    return f"{{\n{inner}\n{' ' * depth}}}"


def _is_leaf(data: Any) -> bool:
    """A flag or a key of a document: one line, however long."""
    return isinstance(data, dict) and isinstance(data.get("kind"), str) and "version" not in data
