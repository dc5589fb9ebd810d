"""Golden outputs of the stack's room: ``python -m tests.stacks.goldens`` rewrites them; review the diff."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import yaml

from stacks import ProblemsFound, resolve, to_text
from stacks.settings import pulumi_config, read_stack_file
from tests.shipped import BESIDE_LADDERS, TOPS, accepted
from tests.stacks.conftest import sound

DERIVED = Path(__file__).parent / "derived.yaml"
FIVE_MISTAKES = Path(__file__).parent.parent / "failures" / "five-mistakes"
HEAD = "# Derived numbers of the shipped presets. Rewrite: python -m tests.stacks.goldens; review the diff.\n"


def derived_numbers() -> dict[str, dict[str, object]]:
    """Every derived number of the shipped presets, of ladders the tops."""
    numbers = {}
    for name in (*BESIDE_LADDERS, *TOPS):
        config = pulumi_config(sound({"preset": name, "accept_unverified": accepted(name)}))
        spec = resolve("g4", config, where="stacks/Pulumi.g4.yaml", applying=False)
        numbers[name] = dataclasses.asdict(spec.derived)
    return numbers


def five_mistakes() -> str:
    """What the stack file with five mistakes is told."""
    config = pulumi_config(read_stack_file(FIVE_MISTAKES / "Pulumi.g4.yaml"))
    try:
        resolve("g4", config, where="stacks/Pulumi.g4.yaml", applying=False)
    except ProblemsFound as found:
        return to_text([p for p in found.problems if p.severity == "error"]) + "\n"
    return ""


def main() -> None:
    """Rewrite the golden files."""
    DERIVED.write_text(HEAD + yaml.safe_dump(derived_numbers(), sort_keys=False), encoding="utf-8")
    (FIVE_MISTAKES / "problems.txt").write_text(five_mistakes(), encoding="utf-8")


if __name__ == "__main__":
    main()
