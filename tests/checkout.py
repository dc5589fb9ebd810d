"""A copy of the kit in which a user may add files, and its command line there."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from stacks.settings import STACKS_DIR

__all__ = ["beamline", "copy_of_checkout"]

_CHECKOUT = STACKS_DIR.parent
_PARTS = ("stacks", "manifests", "components", "policies", "beamline", "tools", "__main__.py", "Pulumi.yaml")


def copy_of_checkout(folder: Path) -> Path:
    """Copy all rooms of the kit into ``folder``."""
    copy = folder / "checkout"
    copy.mkdir()
    for part in _PARTS:
        source = _CHECKOUT / part
        if source.is_dir():
            shutil.copytree(source, copy / part, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, copy / part)
    return copy


def beamline(checkout: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run the command line of a copy, as its user would."""
    environment = {**os.environ, "PYTHONPATH": str(checkout)}
    command = [sys.executable, "-m", "beamline.cli", *words]
    return subprocess.run(command, cwd=checkout, env=environment, capture_output=True, text=True, check=False)
