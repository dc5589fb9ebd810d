"""Writes tests/stacks/derived.yaml: the derived numbers of every shipped preset, for review."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import yaml

from stacks import resolve
from stacks.preset_files import preset_names
from stacks.settings import pulumi_config
from tests.stacks.conftest import SOUND

HEAD = "# Derived numbers of the shipped presets. Rewrite: python -m tests.stacks.derived; review the diff.\n"


def main() -> None:
    """Rewrite the file."""
    numbers = {}
    for name in preset_names():
        accepted = ["precision:nvfp4"] if name == "g4-llmd-nvfp4" else []
        config = pulumi_config(SOUND | {"preset": name, "accept_unverified": accepted})
        derived = resolve("g4", config, where="stacks/Pulumi.g4.yaml", applying=False).derived
        numbers[name] = dataclasses.asdict(derived)
    file = Path(__file__).parent / "derived.yaml"
    file.write_text(HEAD + yaml.safe_dump(numbers, sort_keys=False), encoding="utf-8")


if __name__ == "__main__":
    main()
