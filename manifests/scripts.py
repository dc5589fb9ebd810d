"""The shell scripts that run in pods: real files, so that they can be read, linted and tested as such."""

from __future__ import annotations

from pathlib import Path

__all__ = ["AWAIT_WEIGHTS", "MAKE_FILE_SYSTEM", "NODE_AGENT", "SEED"]

_FOLDER = Path(__file__).parent / "shell"

SEED = (_FOLDER / "seed.sh").read_text(encoding="utf-8")
AWAIT_WEIGHTS = (_FOLDER / "await-weights.sh").read_text(encoding="utf-8")
NODE_AGENT = (_FOLDER / "node-agent.sh").read_text(encoding="utf-8")
MAKE_FILE_SYSTEM = (_FOLDER / "local-ssd.sh").read_text(encoding="utf-8")
