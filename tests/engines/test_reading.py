"""How flags and keys are read off an engine, on small parsers and classes: no engine is needed."""

from __future__ import annotations

import argparse
import dataclasses
import json
from pathlib import Path
from typing import Annotated, Literal

from tests.engines.flags_files import text_of
from tests.engines.judge.flags import flags_of
from tests.engines.judge.keys import keys_of_class, keys_of_constructor, keys_read


def _size(text: str) -> int:
    return int(text.removesuffix("k")) * (1000 if text.endswith("k") else 1)


def test_a_flag_is_what_its_parser_takes() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", "-c", type=int)
    parser.add_argument("--share", type=float)
    parser.add_argument("--length", type=_size)
    parser.add_argument("--name", "--called")
    parser.add_argument("--mode", choices=["b", "a", None])
    parser.add_argument("--fast", action="store_true")
    parser.add_argument("--async", action=argparse.BooleanOptionalAction)
    parser.add_argument("--paths", nargs="+", type=Path)
    parser.add_argument("--level", nargs="?", type=int)
    parser.add_argument("--config", type=json.loads)
    assert flags_of(parser._actions, {"config": "a-document"}) == {
        "async": {"kind": "switch", "off": ["--no-async"]},
        "config": {"kind": "json", "document": "a-document"},
        "count": {"kind": "integer", "aliases": ["-c"]},
        "fast": {"kind": "switch"},
        "length": {"kind": "size"},
        "level": {"kind": "integer", "values": "optional"},
        "mode": {"kind": "text", "choices": ["a", "b"]},
        "name": {"kind": "text", "aliases": ["--called"]},
        "paths": {"kind": "text", "values": "many"},
        "share": {"kind": "number"},
    }


@dataclasses.dataclass
class _Config:
    role: Literal["producer", "consumer"] | None = None
    port: Annotated[int, "a port"] = 1
    extra: dict[str, str] = dataclasses.field(default_factory=dict)
    either: int | str = 1
    hidden: int = dataclasses.field(default=0, init=False)


def test_keys_of_classes_and_constructors() -> None:
    assert keys_of_class(_Config) == {
        "either": {"kind": "any"},
        "extra": {"kind": "object"},
        "port": {"kind": "integer"},
        "role": {"kind": "text", "choices": ["consumer", "producer"]},
    }
    assert set(keys_of_constructor(_Config, ("port",))) == {"role", "extra", "either"}


def test_keys_that_code_reads(tmp_path: Path) -> None:
    code = tmp_path / "code.py"
    code.write_text(
        "a = self.extra_config.get('one', 1)\n"
        "b = config.get_from_extra_config('two', 2)\n"
        "c = extra_config['three'] if 'four' in extra_config else (extra_config or {}).pop('five')\n"
        "d = other.get('six'), other['seven'], get('eight')\n"
    )
    found = keys_read([code], ("extra_config", "get_from_extra_config"))
    assert list(found) == ["five", "four", "one", "three", "two"]


def test_a_change_of_a_flag_is_a_change_of_a_line() -> None:
    text = text_of(
        {
            "kind": "vllm",
            "version": "1",
            "flags": {"a": {"kind": "text", "choices": ["x", "y"]}, "b": {"kind": "switch"}},
        }
    )
    assert text.splitlines() == [
        "{",
        ' "kind": "vllm",',
        ' "version": "1",',
        ' "flags": {',
        '  "a": {"kind": "text", "choices": ["x", "y"]},',
        '  "b": {"kind": "switch"}',
        " }",
        "}",
    ]
