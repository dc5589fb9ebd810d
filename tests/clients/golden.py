"""What each client is told, whole: ``python -m tests.clients.golden`` writes it anew. Read the difference."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import yaml

from stacks.clients import client_settings
from tests.clients.cases import ADDRESS, CASES, client_spec

__all__ = ["FOLDER", "golden_file", "regenerate", "told"]

FOLDER = Path(__file__).with_name("golden")


class _Dumper(yaml.SafeDumper):
    """Files in files stay readable."""


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None)


_Dumper.add_representer(str, _text)


def golden_file(case: str) -> Path:
    """Where the settings of a stack's clients are kept."""
    return FOLDER / f"{case}.yaml"


def told(case: str) -> str:
    """Return all settings of all clients of one stack."""
    settings = {}
    for one in client_settings(client_spec(case), ADDRESS):
        values = asdict(one)
        values["limits"] = list(one.limits)
        settings[values.pop("client")] = values
    text: str = yaml.dump(settings, Dumper=_Dumper, sort_keys=False, width=110, allow_unicode=True)
    return text


def regenerate() -> None:
    """Write every golden file anew, and remove those of cases that are no more."""
    FOLDER.mkdir(exist_ok=True)
    for stale in set(FOLDER.iterdir()) - {golden_file(case) for case in CASES}:
        stale.unlink()
    for case in CASES:
        golden_file(case).write_text(told(case), encoding="utf-8")


if __name__ == "__main__":
    regenerate()
