"""vLLM's own ``fs`` tier over a folder that the evictor keeps small: what is gone is a miss, and nothing fails."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

from tests.engines.asking import CHECKOUT, PYTHON
from tests.engines.real.conftest import say
from tests.manifests.cases import spec_of


def test_blocks_that_are_evicted_between_look_up_and_load_are_computed_again(tmp_path: Path) -> None:
    """``tests.kv_evictor.real_tier`` asserts; here it has to have run with the release's own code, and to have evicted.

    It needs a file system with leases and read times, which the folder of a test run has.
    """
    run = subprocess.run(
        [PYTHON, "-m", "tests.kv_evictor.real_tier", tmp_path],
        cwd=CHECKOUT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    found = json.loads(run.stdout.splitlines()[-1])
    say(f"the evictor under vLLM {found['vllm']}'s fs tier: {found['evicted']} of {found['stored']} blocks evicted")
    assert 0 < found["evicted"] < found["stored"]
    assert found["vllm"] == spec_of("g4-llmd").rows.engine.version
    assert found["c_helper"], "vLLM's own helper reads the files, as in its image"
