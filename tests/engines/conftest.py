"""What needs the engines is collected only when it is asked for by name: ``make test-engines``."""

from __future__ import annotations

from pathlib import Path

import pytest


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave ``real`` out of runs that name something else."""
    asked = any("tests/engines" in argument for argument in config.args)
    return True if collection_path.name == "real" and not asked else None
