"""Sandboxes of their own for each test module, gone after it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from beamline.sandbox.home import Home, home_of
from beamline.sandbox.lifecycle import down


@pytest.fixture(scope="module")
def sandboxes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Set BEAMLINE_HOME to a folder whose sandboxes are ended after the module, whatever its tests did."""
    folder = tmp_path_factory.mktemp("beamline")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BEAMLINE_HOME", str(folder))
        yield folder
        for sandbox in (folder / "sandboxes").glob("[!.]*"):
            down(sandbox.name, force=True)


@pytest.fixture(scope="module")
def home(sandboxes: Path) -> Home:
    """Return the home of the module's one sandbox, not yet made."""
    assert sandboxes.exists()
    return home_of("test")
