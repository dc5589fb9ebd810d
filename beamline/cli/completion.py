"""What the shell offers for a half-typed name."""

from __future__ import annotations

from stacks.preset_files import preset_names
from stacks.settings import STACKS_DIR

__all__ = [
    "complete_hardware",
    "complete_preset",
    "complete_sandbox",
    "complete_stack",
    "complete_stack_or_preset",
    "stack_names",
]

_BEFORE, _AFTER = "Pulumi.", ".yaml"


def stack_names() -> list[str]:
    """Names of all stack files under stacks/, sorted."""
    files = STACKS_DIR.glob(f"{_BEFORE}*{_AFTER}")
    return sorted(file.name.removeprefix(_BEFORE).removesuffix(_AFTER) for file in files)


def complete_hardware(incomplete: str) -> list[str]:
    """Offer the machine types that have a row, filled in or not."""
    names = sorted(path.stem for path in (STACKS_DIR / "catalog" / "hardware").glob("*.yaml"))
    return [name for name in names if name.startswith(incomplete)]


def complete_preset(incomplete: str) -> list[str]:
    """Offer presets."""
    return [name for name in preset_names() if name.startswith(incomplete)]


def complete_stack(incomplete: str) -> list[str]:
    """Offer stacks."""
    return [name for name in stack_names() if name.startswith(incomplete)]


def complete_stack_or_preset(incomplete: str) -> list[str]:
    """Offer both, stacks first."""
    names = dict.fromkeys([*stack_names(), *preset_names()])
    return [name for name in names if name.startswith(incomplete)]


def complete_sandbox(incomplete: str) -> list[str]:
    """Offer the sandboxes there are."""
    from beamline.sandbox import sandbox_names  # noqa: PLC0415 - other completions need no sandbox

    return [name for name in sandbox_names() if name.startswith(incomplete)]
