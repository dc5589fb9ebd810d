"""Whole outputs, kept as files: ``python -m tests.cli.golden`` writes them anew, a reviewer reads the difference."""

from __future__ import annotations

from pathlib import Path

from tests.cli.command import Ran, run

__all__ = ["COMMANDS", "golden_file", "regenerate", "whole"]

_HERE = Path(__file__).parent
MISTAKES = str(_HERE / "stacks" / "Pulumi.mistakes.yaml")

COMMANDS: dict[str, list[str]] = {
    "help": ["--help"],
    "presets": ["presets"],
    "presets-small-l4": ["presets", "small-l4"],
    "presets-json": ["presets", "--json"],
    "plan-g4": ["plan", "g4"],
    "plan-small-l4": ["plan", "small-l4"],
    "plan-a4x-max": ["plan", "a4x-max"],
    "plan-a4x-max-llmd": ["plan", "a4x-max-llmd"],
    "plan-mistakes": ["plan", MISTAKES],
    "plan-mistakes-json": ["plan", MISTAKES, "--json"],
    "plan-unknown-stack": ["plan", "g4-lmd"],
    "plan-not-accepted": ["plan", "g4-llmd-nvfp4"],
    "size-g4": ["size", "g4"],
    "size-a4x-max": ["size", "a4x-max"],
    "check": ["check"],
    "check-mistakes-sarif": ["check", MISTAKES, "--format", "sarif"],
    "check-mistakes-junit": ["check", MISTAKES, "--format", "junit"],
    "check-mistakes-github": ["check", MISTAKES, "--format", "github"],
    "check-several-json": ["check", "g4", "g4-lmd", "--json"],
}
"""Name of a golden file -> the command whose whole output it holds."""


def golden_file(name: str) -> Path:
    """Where the output of one command is kept."""
    return _HERE / "golden" / f"{name}.txt"


def whole(ran: Ran) -> str:
    """Write everything a command did as one text."""
    said = f"\n[stderr]\n{ran.stderr}" if ran.stderr else ""
    return f"{ran.stdout}{said}\n[exit code {ran.code}]\n"


def regenerate() -> None:
    """Write every golden file anew, and remove those that belong to no command."""
    folder = _HERE / "golden"
    folder.mkdir(exist_ok=True)
    for stale in set(folder.glob("*.txt")) - {golden_file(name) for name in COMMANDS}:
        stale.unlink()
    for name, arguments in COMMANDS.items():
        golden_file(name).write_text(whole(run(*arguments)), encoding="utf-8")


if __name__ == "__main__":
    regenerate()
