"""The shell scripts that run in pods: real files, so that they can be read, linted and tested as such."""

from __future__ import annotations

from pathlib import Path

__all__ = ["AWAIT_WEIGHTS", "LOCAL_SSD", "NODE_AGENT", "SEED"]

_FOLDER = Path(__file__).parent / "shell"

SEED = (_FOLDER / "seed.sh").read_text(encoding="utf-8")
AWAIT_WEIGHTS = (_FOLDER / "await-weights.sh").read_text(encoding="utf-8")
NODE_AGENT = (_FOLDER / "node-agent.sh").read_text(encoding="utf-8")
LOCAL_SSD = (_FOLDER / "local-ssd.sh").read_text(encoding="utf-8")
