"""Each setting reaches vLLM's command line as its own flag, and nothing else changes with it."""

from __future__ import annotations

import json

import pytest

from .cluster_objects import flag, objects_of


def arguments(case: str) -> list[str]:
    found: list[str] = objects_of(case).container("engine")["args"]
    return found


SMALL = [
    "--served-model-name=Qwen/Qwen3-4B-Instruct-2507",
    "--port=8000",
    "--tensor-parallel-size=1",
    "--max-model-len=32768",
    "--max-num-seqs=16",
    "--max-num-batched-tokens=4096",
    "--gpu-memory-utilization=0.9",
    "--kv-cache-dtype=auto",
    "--block-size=16",
    "--tool-call-parser=hermes",
    "--enable-auto-tool-choice",
    "--shutdown-timeout=600",
    "--disable-access-log-for-endpoints=/health,/v1/models,/metrics",
    "--fail-on-environ-validation",
]

_DISK_TIER = {
    "kv_connector": "SimpleCPUOffloadConnector",
    "kv_connector_extra_config": {
        "disk_capacity_bytes": 268435456000,
        "disk_path": "/kv-tier/blocks",
        "kv_offload_backend": "disk",
    },
    "kv_role": "kv_both",
}

_TWO_TIERS = {
    "kv_connector": "OffloadingConnector",
    "kv_connector_extra_config": {
        "blocks_per_chunk": 4,
        "cpu_bytes_to_use": 214748364800,
        "offload_prompt_only": False,
        "secondary_tiers": [{"n_read_threads": 16, "n_write_threads": 16, "root_dir": "/kv-tier/blocks", "type": "fs"}],
        "spec_name": "TieringOffloadingSpec",
    },
    "kv_role": "kv_both",
}

CHANGES = {
    "drafter-from-bucket": {'--speculative-config={"method":"dflash","model":"DRAFTER","num_speculative_tokens":7}'},
    "local-ssd-tier": {f"--kv-transfer-config={json.dumps(_DISK_TIER, separators=(',', ':'))}"},
    "g4-llmd-multi": set(),
    "kv-pool": {"--prefix-cache-retention-interval=16384", "--watermark=0.02", "--max-num-queued-reqs=128"},
    "handed-on": {"--stream-interval=2"},
    "two-tiers": {f"--kv-transfer-config={json.dumps(_TWO_TIERS, separators=(',', ':'))}"},
}
"""Case: what it has and ``g4-llmd`` has not."""


def test_the_small_preset() -> None:
    model, *rest = arguments("small-l4")
    assert model.startswith("/weights/qwen3-4b-bf16-")
    assert rest == SMALL


@pytest.mark.parametrize("case", CHANGES)
def test_a_feature_adds_its_flag_and_no_other(case: str) -> None:
    added = set(arguments(case)) - set(arguments("g4-llmd"))
    drafters = [
        e["value"] for c in objects_of(case).pod("seeding")["containers"] for e in c["env"] if e["name"] == "KEY"
    ]
    assert {a.replace(f"/weights/{drafters[-1]}", "DRAFTER") for a in added} == CHANGES[case]


GROUP = {
    "--distributed-executor-backend=mp",
    "--nnodes=2",
    "--node-rank=$(LWS_WORKER_INDEX)",
    "--master-addr=$(LWS_LEADER_ADDRESS)",
}


def test_a_replica_over_two_nodes_is_told_how_its_pods_meet() -> None:
    assert set(arguments("a4x-max-llmd")) >= GROUP
    assert not any(a.startswith(("--nnodes", "--node-rank", "--headless")) for a in arguments("one-node-nvlink"))


def test_only_pods_without_an_api_are_headless() -> None:
    workers = objects_of("a4x-max-llmd").container("engine-worker")["args"]
    assert set(workers) - set(arguments("a4x-max-llmd")) == {"--headless"}


def test_the_transports_environment_is_every_engines() -> None:
    """Replicas of one node too: a drafter, or a later shape, must not find another NCCL."""
    for name in ("engine", "engine-worker"):
        values = {e["name"]: e.get("value") for e in objects_of("a4x-max-llmd").container(name)["env"]}
        assert values["NCCL_MNNVL_ENABLE"] == "1"
        assert not any(variable.startswith(("UCX_", "MC_")) for variable in values), "no KV cache moves here"
    single = {e["name"] for e in objects_of("one-node-nvlink").container("engine")["env"]}
    assert "NCCL_MNNVL_ENABLE" in single
    assert "VLLM_HOST_IP" not in single
    assert "NCCL_MNNVL_ENABLE" not in {e["name"] for e in objects_of("g4-llmd").container("engine")["env"]}


def test_json_has_sorted_keys_and_no_spaces() -> None:
    """Otherwise the same intent could give other bytes, and a rollout."""
    for case in ("g4-llmd", "local-ssd-tier", "drafter-from-bucket"):
        for argument in arguments(case):
            _, _, value = argument.partition("=")
            if value.startswith("{"):
                assert value == json.dumps(json.loads(value), sort_keys=True, separators=(",", ":"))


def test_the_disk_tier_is_split_over_the_ranks() -> None:
    """Every rank of vLLM 0.33.0 has a file of ``disk_capacity_bytes``."""
    engine = objects_of("local-ssd-tier").container("engine")
    extra = flag(engine, "kv-transfer-config")["kv_connector_extra_config"]
    assert extra["disk_capacity_bytes"] * int(flag(engine, "tensor-parallel-size")) == 2000 * 2**30
