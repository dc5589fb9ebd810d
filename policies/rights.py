"""The table of what each identity calls (``rights.yaml``), read once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from stacks.yaml_files import read_yaml

__all__ = ["Account", "Grant", "Right", "accounts", "grants"]

Right = tuple[str, str, str]
"""API group, resource and verb."""
_FILE = Path(__file__).with_name("rights.yaml")


@dataclass(frozen=True)
class Account:
    """A Kubernetes service account whose pods call the API, and what they call."""

    name: str
    rights: frozenset[Right]
    source: str


@dataclass(frozen=True)
class Grant:
    """One of Google's roles, the resource type that grants it, who gets it and what for."""

    account: str
    type: str
    role: str
    calls: str
    source: str


@cache
def accounts() -> Mapping[str, Account]:
    """Return the service accounts that call the Kubernetes API, by name."""
    return {
        name: Account(
            name,
            frozenset((call["group"], call["resource"], verb) for call in row["calls"] for verb in call["verbs"]),
            row["source"],
        )
        for name, row in read_yaml(_FILE)["kubernetes"].items()
    }


@cache
def grants() -> tuple[Grant, ...]:
    """Return the Google roles that a stack may grant."""
    return tuple(Grant(**row) for row in read_yaml(_FILE)["google"])
