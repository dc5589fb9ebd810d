"""What the toolchain sees of the machine: environment, cache and the pinned Go modules.

Passed in rather than read where needed, so that tests show it a machine with other contents.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Machine"]


@dataclass(frozen=True)
class Machine:
    """One machine as the toolchain sees it."""

    environ: Mapping[str, str]
    modules: Path
    """Folder with one Go module per subfolder, and ``requirements-go.txt``."""
    cache: Path
    """Where built programs and, if needed, Go itself are kept between runs."""

    @classmethod
    def here(cls) -> Machine:
        """Return this machine: ``tools/`` of this checkout, ``$XDG_CACHE_HOME/beamline`` (default ``~/.cache``)."""
        home_cache = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
        return cls(os.environ, Path(__file__).resolve().parents[2] / "tools", Path(home_cache) / "beamline")

    def which(self, name: str) -> Path | None:
        """Find an executable on PATH."""
        found = shutil.which(name, path=self.environ.get("PATH", ""))
        return Path(found).absolute() if found else None
