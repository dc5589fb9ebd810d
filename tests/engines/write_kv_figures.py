"""``make kv-figures``: let the engines divide GPU memory, and write down what they say."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from bench.kv_blocks import FILE
from tests.docs.kv_blocks_page import KV_BLOCKS, kv_blocks_page
from tests.engines.asking import ask, every_case
from tests.engines.kv_figures import figures_text

if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        answers = {
            engine: ask(engine, [case for case in every_case() if case.engine == engine], Path(folder))
            for engine in ("vllm", "sglang")
        }
    FILE.write_text(figures_text(answers), encoding="utf-8")
    KV_BLOCKS.write_text(kv_blocks_page(), encoding="utf-8")
    sys.stderr.write(f"{FILE.name}, {KV_BLOCKS.name}\n")
