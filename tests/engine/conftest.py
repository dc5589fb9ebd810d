"""Fixtures of the engine's tests."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest

from beamline.engine import Graph, run_program
from tests.engine.text_programs import PRELUDE, Run


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Run a program given as text."""

    def run_text(text: str, **config: object) -> Graph:
        (tmp_path / "__main__.py").write_text(PRELUDE + dedent(text))
        values = {f"beamline:{key}": value for key, value in config.items()}
        return run_program(tmp_path, project="beamline", stack="dev", config=values)

    return run_text
