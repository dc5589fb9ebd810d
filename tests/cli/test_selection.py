"""What a name on the command line stands for."""

from __future__ import annotations

import re

import pytest

from beamline.cli.selection import select_preset
from stacks.checks.launch import STACK_NAME
from stacks.preset_files import preset_names


@pytest.mark.parametrize("preset", preset_names())
def test_a_shipped_preset_is_a_stack_of_its_name(preset: str) -> None:
    """Where a stack may have that name; else the stack's begins as the preset's does."""
    name = select_preset(preset).name
    assert STACK_NAME.fullmatch(name)
    assert name == preset if STACK_NAME.fullmatch(preset) else name.startswith(preset[:7])


LONG = ("g4-llmd-nvfp4-europe", "g4-llmd-nvfp4-asia", "My Preset", "4-gpus", "größe", "-", "x" * 300)


def test_a_preset_whose_name_cannot_be_a_stacks_gets_a_short_one_of_its_own() -> None:
    """A user's preset may have a long name; its stack's name is cut, and still tells it from others."""
    names = [select_preset(preset).name for preset in LONG]
    assert [name for name in names if not STACK_NAME.fullmatch(name)] == []
    assert len(set(names)) == len(LONG)
    assert re.fullmatch("g4-llmd-[0-9a-f]{4}", names[0])
