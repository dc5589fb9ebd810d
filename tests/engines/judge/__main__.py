"""``python -m tests.engines.judge ENGINE REQUEST RESPONSE``, with the Python of ``.venv-engines``.

REQUEST is JSON: ``files`` (path -> content) that the command lines name, and ``cases``: ``name``, ``program``,
``words``, ``variables``, ``device``. RESPONSE is JSON: ``versions``, ``flags`` (what the engine takes) and
``verdicts``: for each case what was judged and every ``refused`` (stage, message).
"""

from __future__ import annotations

import importlib.metadata
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

_PACKAGES = ("vllm", "sglang", "ai-dynamo", "torch", "transformers", "pydantic")


def main() -> None:
    """Answer one request."""
    engine, request, response = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])
    asked = json.loads(request.read_text(encoding="utf-8"))
    with tempfile.TemporaryDirectory() as scratch:
        os.environ |= {"HF_HUB_OFFLINE": "1", "VLLM_LOGGING_LEVEL": "ERROR", "TOKENIZERS_PARALLELISM": "false"}
        os.environ.setdefault("VLLM_CACHE_ROOT", f"{sys.prefix}/cache")
        answer = _engine(engine)(_placed(asked, Path(scratch)))
    answer["versions"] = {name: importlib.metadata.version(name) for name in _PACKAGES}
    response.write_text(json.dumps(answer), encoding="utf-8")


def _engine(name: str) -> Any:
    """Import one engine: each takes seconds, and what one sets up would be in the other's way."""
    if name == "vllm":
        # Without a GPU, only this makes the build for CUDA say what it takes; without Triton, only this the new runner.
        os.environ |= {"VLLM_TARGET_DEVICE": "cpu", "VLLM_USE_V2_MODEL_RUNNER": "1"}
        from tests.engines.judge.vllm_engine import answer
    else:
        from tests.engines.judge.sglang_engine import answer
    return answer


def _placed(asked: dict[str, Any], scratch: Path) -> dict[str, Any]:
    """Write the files into a folder of this process, and let command lines name them there."""
    text = json.dumps(asked["cases"])
    for number, (path, files) in enumerate(sorted(asked["files"].items(), reverse=True)):
        folder = scratch / str(number)
        folder.mkdir()
        for name, content in files.items():
            text_of_file = content if isinstance(content, str) else json.dumps(content)
            (folder / name).write_text(text_of_file, encoding="utf-8")
        text = text.replace(path, str(folder))
    return {**asked, "cases": json.loads(text), "scratch": str(scratch)}


if __name__ == "__main__":
    main()
