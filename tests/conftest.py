"""What every test may ask for."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from beamline.toolchain import ensure


@pytest.fixture(scope="session")
def tools() -> Callable[[str], Path]:
    """Return where a third-party program is, by name; builds it when the machine has none (minutes, once)."""
    found: dict[str, Path] = {}

    def tool(name: str) -> Path:
        if name not in found:
            found.update(ensure([name]))
        return found[name]

    return tool
