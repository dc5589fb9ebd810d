"""``make engine-flags``: ask the engines what they take and write it down."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from tests.engines.asking import ask
from tests.engines.flags_files import FOLDER, flag_files

if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        answers = {engine: ask(engine, [], Path(folder)) for engine in ("vllm", "sglang")}
    FOLDER.mkdir(exist_ok=True)
    for path, text in flag_files(answers).items():
        path.write_text(text, encoding="utf-8")
        sys.stderr.write(f"{path.relative_to(FOLDER.parents[2])}\n")
