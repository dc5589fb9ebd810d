"""Fixtures of the components' tests."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from textwrap import dedent

import pytest

from beamline.engine import Graph, run_program

Run = Callable[..., Graph]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Plan a program given as text."""

    def run_text(text: str, prelude: str = "") -> Graph:
        (tmp_path / "__main__.py").write_text(f"import pulumi\n{prelude}{dedent(text)}")
        return run_program(tmp_path, project="beamline", stack="dev", config={})

    return run_text
