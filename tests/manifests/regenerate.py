"""Writes the golden files anew: ``python -m tests.manifests.regenerate``. Read the diff before you commit it."""

from __future__ import annotations

import shutil

from .cases import GOLDENS
from .golden import GOLDEN, rendered

if __name__ == "__main__":
    shutil.rmtree(GOLDEN, ignore_errors=True)
    for preset in GOLDENS:
        folder = GOLDEN / preset
        folder.mkdir(parents=True)
        for name, text in rendered(preset).items():
            (folder / name).write_text(text, encoding="utf-8")
