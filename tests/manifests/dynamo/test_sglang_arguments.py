"""Each setting reaches SGLang's command line as its own flag, on the roles that have a use for it.

``stacks/catalog`` names SGLang 0.5.23; its own parser took these lines.
"""

from __future__ import annotations

import json

import pytest

from stacks.memory import GB, GIB

from ..cases import spec_of
from ..cluster_objects import objects_of
from .graphs import arguments, component, environment

MODEL = "--model-path=/weights/beam-nvfp4-5b2c4354f2"
DECODE = [
    MODEL,
    "--served-model-name=reflection/Beam-1.0-501B-A23B",
    "--tp-size=4",
    "--context-length=1048576",
    "--max-running-requests=128",
    "--mem-fraction-static=0.85",
    "--kv-cache-dtype=fp8_e4m3",
    "--page-size=64",
    "--disaggregation-mode=decode",
    "--disaggregation-transfer-backend=mooncake",
    "--disaggregation-decode-retraction-backup=cpu_tensor",
    "--reasoning-parser=beam",
    "--watchdog-timeout=1800",
    "--enable-metrics",
]
PROMPTS = {
    "--chunked-prefill-size=16384",
    "--max-prefill-tokens=16384",
    "--swa-full-tokens-ratio=0.1",
    '--kv-events-config={"endpoint":"tcp://*:5557","publisher":"zmq"}',
}
PREFILL = {
    *PROMPTS,
    "--disaggregation-mode=prefill",
    "--host=0.0.0.0",
    "--disaggregation-bootstrap-port=30001",
    "--enable-hierarchical-cache",
    "--hicache-size=17",
    "--hicache-write-policy=write_through",
    "--hicache-storage-backend=file",
}
DRAFTER = {"--speculative-algorithm=DFLASH", "--speculative-num-draft-tokens=8"}

CHANGES: dict[str, tuple[set[str], set[str]]] = {
    "dynamo-no-tier": (
        set(),
        {
            "--enable-hierarchical-cache",
            "--hicache-size=17",
            "--hicache-write-policy=write_through",
            "--hicache-storage-backend=file",
        },
    ),
    "dynamo-tiered": ({"--hicache-size=107"}, {"--hicache-size=17"}),
    "dynamo-approximate": (set(), {'--kv-events-config={"endpoint":"tcp://*:5557","publisher":"zmq"}'}),
    "dynamo-bands": ({"--enable-priority-scheduling", "--default-priority-value=0"}, set()),
    "dynamo-extra": ({"--enable-cache-report", "--log-level=warning"}, set()),
    "dynamo-host-dram": ({"--hicache-size=107"}, {"--hicache-size=17", "--hicache-storage-backend=file"}),
    "dynamo-plain-kv": (set(), {"--kv-cache-dtype=fp8_e4m3"}),
    "dynamo-round-robin": (set(), {'--kv-events-config={"endpoint":"tcp://*:5557","publisher":"zmq"}'}),
    "dynamo-rdma": ({"--disaggregation-transfer-backend=nixl"}, {"--disaggregation-transfer-backend=mooncake"}),
}
"""Case: what its prefill workers have and the preset's have not, and the reverse."""


def test_a_decode_worker_is_told_nothing_about_prompts_prefixes_or_tiers() -> None:
    assert arguments("a4x-max-dynamo", "decode") == DECODE


def test_a_prefill_worker_adds_them_and_listens_for_decode_workers() -> None:
    prefill, decode = set(arguments("a4x-max-dynamo", "prefill")), set(DECODE)
    assert prefill - decode == PREFILL
    assert decode - prefill == {
        "--disaggregation-mode=decode",
        "--disaggregation-decode-retraction-backup=cpu_tensor",
    }


@pytest.mark.parametrize("case", CHANGES)
def test_a_feature_changes_its_flags_and_no_other(case: str) -> None:
    changed, preset = set(arguments(case, "prefill")), set(arguments("a4x-max-dynamo", "prefill"))
    assert (changed - preset, preset - changed) == CHANGES[case]


@pytest.mark.parametrize("role", ["prefill", "decode"])
def test_speculation_is_every_workers_and_a_block_is_one_token_longer(role: str) -> None:
    added = set(arguments("dynamo-drafter", role)) - set(arguments("a4x-max-dynamo", role))
    (path,) = (a for a in added if a.startswith("--speculative-draft-model-path="))
    assert added - {path} == DRAFTER
    assert path.partition("=")[2].startswith("/weights/beam-dflash2-")


def test_a_worker_of_both_has_no_disaggregation() -> None:
    worker = arguments("dynamo-aggregated", "worker")
    assert not any("disaggregation" in a or a.startswith("--host") for a in worker)
    assert set(worker) >= PROMPTS
    assert "--hicache-storage-backend=file" in worker


def _added(case: str, than: str = "dynamo-aggregated") -> tuple[set[str], set[str]]:
    changed, before = set(arguments(case, "worker")), set(arguments(than, "worker"))
    return changed - before, before - changed


def test_experts_travel_by_the_one_exchange_the_model_has() -> None:
    assert _added("dynamo-attention-ranks") == (
        {
            "--attn-dp-size=4",
            "--ep-size=4",
            "--moe-a2a-backend=flashinfer_megamoe",
            "--moe-runner-backend=flashinfer_megamoe",
            "--quantization=modelopt_fp4",
            "--max-queued-requests=16",
            "--enable-priority-scheduling",
            "--default-priority-value=0",
        },
        set(),
    )


def test_a_drafter_on_attention_ranks_has_their_heads() -> None:
    added, removed = _added("dynamo-attention-ranks-drafter")
    (path,) = (a for a in added if a.startswith("--speculative-draft-model-path="))
    assert (added, removed) == ({"--attn-dp-size=2", "--enable-dp-lm-head", *DRAFTER, path}, set())


def test_waiting_requests_are_bounded_where_the_engine_heeds_it() -> None:
    """Prefill and decode workers would pass it over (SGLang 0.5.23, --max-queued-requests)."""
    assert _added("dynamo-queued") == ({"--max-queued-requests=64"}, set())
    assert not [a for a in arguments("dynamo-bands", "prefill") if a.startswith("--max-queued")]


def test_what_a_preset_hands_on_comes_last() -> None:
    assert arguments("dynamo-extra", "decode")[-2:] == ["--enable-cache-report", "--log-level=warning"]
    assert environment(component(objects_of("dynamo-extra"), "decode"))["SGLANG_OPT_BEAM_DECODE_GEMV"] == "1"


def test_over_two_nodes_the_size_is_the_replicas_and_the_operator_adds_the_rest() -> None:
    worker = arguments("a4x-max-dynamo-bf16", "worker")
    assert "--tp-size=8" in worker
    assert not any(a.startswith(("--nnodes", "--node-rank", "--dist-init-addr")) for a in worker)


def test_the_host_tier_is_decimal_gigabytes_of_one_rank_and_never_more_than_asked() -> None:
    """Taken for GiB, four ranks would pin 7 % more than the pod's memory was sized for."""
    (size,) = (a for a in arguments("dynamo-host-dram", "prefill") if a.startswith("--hicache-size="))
    asked = spec_of("dynamo-host-dram").derived.host_tier_bytes_per_replica
    assert asked - 4 * GB < 4 * int(size.partition("=")[2]) * GB <= asked


def test_the_disk_tier_is_bounded_in_every_rank_and_named_for_what_it_holds() -> None:
    values = environment(component(objects_of("a4x-max-dynamo"), "prefill"))
    assert int(values["SGLANG_HICACHE_FILE_BACKEND_MAX_SIZE"]) * 4 == 4000 * GIB
    assert values["SGLANG_HICACHE_FILE_BACKEND_STORAGE_DIR"] == "/kv-tier/beam-nvfp4-5b2c4354f2-fp8-tp4"
    for case, role in (("a4x-max-dynamo", "decode"), ("dynamo-host-dram", "prefill")):
        names = environment(component(objects_of(case), role))
        assert not any(name.startswith("SGLANG_HICACHE") for name in names)


def test_json_has_sorted_keys_and_no_spaces() -> None:
    """Otherwise the same intent could give other bytes, and a rollout."""
    values = [a.partition("=")[2] for a in arguments("a4x-max-dynamo", "prefill")]
    found = [v for v in values if v.startswith("{")]
    assert found
    assert found == [json.dumps(json.loads(v), sort_keys=True, separators=(",", ":")) for v in found]
