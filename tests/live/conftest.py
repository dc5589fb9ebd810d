"""Live tests print what they saw, and need an environment of their own: ``make live``."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.live.loopback import PYTHON
from tests.live.rendered import SUBSTITUTIONS

_SAID: list[str] = []


@pytest.fixture(autouse=True)
def dynamo() -> None:
    """Without Dynamo's environment there is nothing to test here."""
    if not PYTHON.exists():
        pytest.skip("make live makes .venv-dynamo")


@pytest.fixture(scope="session")
def say() -> Callable[[str], None]:
    """Lines for whoever reads the run's end."""
    return _SAID.append


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print what was measured, and what stood in for what."""
    if not _SAID:
        return
    terminalreporter.section("Dynamo 1.6.1: its own frontend and router, SIMULATED workers (mockers), one machine")
    for line in _SAID:
        terminalreporter.write_line(line)
    terminalreporter.write_line("in place of what is rendered:")
    for what, instead in SUBSTITUTIONS.items():
        terminalreporter.write_line(f"  {what}: {instead}")
