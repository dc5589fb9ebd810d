"""The YAML of a fork: its preset, what waits for hardware to be described, and its stack file."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import yaml

from stacks.columns import MISSING
from stacks.settings import NAMESPACE

__all__ = ["Change", "preset_text", "stack_text", "waiting_text"]

_PRESET_SCHEMA = "# yaml-language-server: $schema=../schemas/preset.schema.json"
_STACK_SCHEMA = "# yaml-language-server: $schema=schemas/stack.schema.json"


@dataclass(frozen=True)
class Change:
    """One key of a preset that a fork sets anew, as a dotted path, and why."""

    path: str
    old: object
    new: object
    why: str

    @property
    def was(self) -> str:
        """The old value in one line."""
        return _as_text(self.old)

    @property
    def now(self) -> str:
        """The new value in one line."""
        return _as_text(self.new)

    def __str__(self) -> str:
        """The line for comments."""
        return f"{self.path}: {self.was} -> {self.now}{f' ({self.why})' if self.why else ''}"


def _as_text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def preset_text(preset: str, hardware: str | None, overlay: Mapping[str, Any], changes: Sequence[Change]) -> str:
    """Return a preset that extends another one and says only what differs, with what was derived anew and why."""
    if hardware is None:
        about = [f"Copy of {preset}: write below what is to differ from it, section by section."]
    else:
        about = [f"Fork of {preset} for {hardware}. Derived anew:", *(f"  {change}" for change in changes)]
    return _file([_PRESET_SCHEMA, *_comments(about)], {"extends": preset, **overlay})


def waiting_text(preset: str, pools: Mapping[str, Any], hardware: str) -> str:
    """Return a preset whose sizes cannot be derived yet, as its hardware's row is not filled in."""
    about = [
        f"Fork of {preset} for {hardware}, whose row is not filled in: stacks/catalog/hardware/{hardware}.yaml.",
        f"When no {MISSING} is left there, fork once more with the same words: that replaces this file.",
    ]
    data = {"extends": preset, "accelerator_pools": dict(pools)}
    return _file([_PRESET_SCHEMA, *_comments(about)], data)


def stack_text(preset: str, settings: Mapping[str, str], accepted: Sequence[str]) -> str:
    """Return a stack file with placeholders; ``accepted`` are the features that nobody is known to have run so."""
    config: dict[str, Any] = {"preset": preset, **settings}
    about = []
    if accepted:
        config["accept_unverified"] = list(accepted)
        about = [
            "Nobody is known to have run the features under accept_unverified on this stack. Whoever keeps a line",
            "there takes it on; take one out, and plan refuses the stack until the preset has evidence for it.",
        ]
    data = {"config": {f"{NAMESPACE}:{key}": value for key, value in config.items()}}
    return _file([_STACK_SCHEMA, *_comments(about)], data)


def _comments(lines: Iterable[str]) -> list[str]:
    return [f"# {' '.join(line.splitlines())}" if not line.startswith(" ") else f"# {line}" for line in lines]


def _file(head: Iterable[str], data: Mapping[str, Any]) -> str:
    body = yaml.safe_dump(dict(data), sort_keys=False, allow_unicode=True, width=10_000)
    return "\n".join(head) + "\n" + body
