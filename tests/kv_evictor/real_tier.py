"""vLLM's own FileSystemTierManager over a folder that is evicted: run by a Python that has vLLM, on CPU.

``python -m tests.kv_evictor.real_tier FOLDER`` prints what it found as JSON; it ends with an exception where the tier
and the evictor do not go together.
"""

from __future__ import annotations

import hashlib
import json
import mmap
import os
import sys
from importlib.metadata import version
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
from vllm.v1.kv_offload.base import LookupResult, ReqContext, make_offload_key
from vllm.v1.kv_offload.tiering.base import TransferJob
from vllm.v1.kv_offload.tiering.fs import io, manager

from kv_evictor.evictor import Evictor
from kv_evictor.files import check_leases, open_root, reads_recorded
from kv_evictor.limits import Limits

BLOCK_BYTES = 64 << 10
ROWS = 32
CHUNKS = 512
CAPACITY = CHUNKS * BLOCK_BYTES // 2


class Engine:
    """The tier as the scheduler drives it: whole rows of host memory, one job after the other."""

    def __init__(self, root: Path) -> None:
        pages = mmap.mmap(-1, ROWS * BLOCK_BYTES)  # O_DIRECT wants whole pages
        self.memory = np.frombuffer(pages, dtype=np.uint8).reshape(ROWS, BLOCK_BYTES)
        self.tier = manager.FileSystemTierManager(_spec(), memoryview(self.memory), "fs", str(root))
        self.request = ReqContext(req_id="request")
        self.jobs = iter(range(1 << 30))

    def job(self, chunks: list[int], *, load: bool) -> Any:
        """Store or load chunks and return the job's result."""
        number = next(self.jobs)
        keys = [key(chunk) for chunk in chunks]
        job = TransferJob(number, keys, np.arange(len(chunks), dtype=np.int32), load, self.request)
        (self.tier.submit_load if load else self.tier.submit_store)(job)
        self.tier.drain_jobs()
        (result,) = self.tier.get_finished_jobs()
        assert result.job_id == number
        return result

    def store(self, chunks: list[int]) -> None:
        for row, chunk in enumerate(chunks):
            self.memory[row] = content(chunk)
        assert self.job(chunks, load=False).success

    def load(self, chunks: list[int]) -> Any:
        self.memory[:] = 0
        return self.job(chunks, load=True)

    def there(self, chunk: int) -> bool:
        """Look a chunk up for a new request, as often as the tier asks for it."""
        found = self.tier.lookup(key(chunk), self.request)
        while found is LookupResult.RETRY:
            self.tier.on_schedule_end(SimpleNamespace(new_req_ids=()))
            found = self.tier.lookup(key(chunk), self.request)
        return bool(found is LookupResult.HIT)

    def forget(self) -> None:
        """The request that asked is over."""
        self.tier.on_request_finished(self.request)


def key(chunk: int) -> Any:
    return make_offload_key(hashlib.sha256(str(chunk).encode()).digest(), chunk % 2)


def content(chunk: int) -> int:
    return chunk % 251 + 1


def _spec() -> Any:
    """What the tier asks of an OffloadingSpec."""
    parallel = SimpleNamespace(tp_size=8, pp_size=1, pcp_size=1, dcp_size=1, rank=0, is_parallelism_agnostic=True)
    config = SimpleNamespace(
        groups=[SimpleNamespace(tokens_per_block=64, layer_names=("full",)) for _ in range(2)],
        model=SimpleNamespace(name="/weights/model", dtype="bfloat16"),
        cache=SimpleNamespace(tokens_per_hash=64),
        parallel=parallel,
        canonical_layout=False,
        replicated_layout=False,
    )
    return SimpleNamespace(config=config, blocks_per_chunk=4)


def main(folder: str) -> dict[str, Any]:
    """Fill, read, evict, look up and load again."""
    check_leases(folder)
    root = open_root(folder, mounted=False)
    evictor = Evictor(root, Limits(CAPACITY, min_age_s=0), reads=reads_recorded(folder), wait=lambda _: None)
    engine = Engine(Path(folder))
    for first in range(0, CHUNKS, ROWS):
        engine.store(list(range(first, first + ROWS)))
    used = list(range(0, 64, 2))
    assert engine.load(used).success
    assert all((engine.memory[row] == content(chunk)).all() for row, chunk in enumerate(used))

    # Looked up by a request before the pass, loaded by it after.
    early = engine.there(1)
    evictor.pass_once()
    assert early
    late = engine.load([0, 2, 1, 4])
    assert not late.success
    assert list(late.successful_keys) == [key(0), key(2)], "chunks before the one that is gone are kept"
    assert not engine.there(1), "the request that asked takes it for a miss from now on"
    engine.forget()

    left = [chunk for chunk in range(CHUNKS) if engine.there(chunk)]
    engine.forget()
    assert set(used) <= set(left)
    assert left == used + list(range(left[len(used)], CHUNKS))
    assert evictor.gauges["files"] == len(left), "every file of the tier is known as one"
    assert evictor.gauges["used_bytes"] < CAPACITY
    assert engine.load(left[-ROWS:]).success
    engine.store([1])
    assert engine.there(1)
    engine.tier.shutdown()
    os.close(root)
    return {
        "vllm": version("vllm"),
        "c_helper": io._HAS_FSIO_C,
        "o_direct": engine.tier._use_o_direct,
        "stored": CHUNKS,
        "evicted": evictor.counts["evicted_files", ""],
    }


if __name__ == "__main__":
    sys.stdout.write(json.dumps(main(sys.argv[1])) + "\n")
