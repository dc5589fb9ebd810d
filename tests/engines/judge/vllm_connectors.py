"""What moves KV cache: vLLM leaves the inner keys of its connectors unchecked, so here they are really made.

The tiers are made as the scheduler makes them, in a folder of the judge and with a few megabytes; GPU memory is never
touched. Keys that no code reads are ignored by vLLM in silence: they are refused here.
"""

from __future__ import annotations

import copy
import inspect
from functools import cache
from pathlib import Path
from typing import Any

import vllm
from vllm.config import KVEventsConfig, KVTransferConfig, SpeculativeConfig, set_current_vllm_config
from vllm.distributed.kv_transfer.kv_connector.factory import KVConnectorFactory
from vllm.distributed.kv_transfer.kv_connector.v1.offloading.config import build_offloading_config
from vllm.v1.kv_cache_interface import FullAttentionSpec
from vllm.v1.kv_offload.cpu.policies.factory import CachePolicyFactory
from vllm.v1.kv_offload.factory import OffloadingSpecFactory
from vllm.v1.kv_offload.tiering import backpressure
from vllm.v1.kv_offload.tiering.factory import SecondaryTierFactory

from tests.engines.judge.cases import Verdict
from tests.engines.judge.keys import keys_of_class, keys_of_constructor, keys_read
from tests.engines.judge.vllm_caches import kv_cache_config

__all__ = ["documents", "judge_connectors"]

_PACKAGE = Path(vllm.__file__).parent
_CONNECTORS = _PACKAGE / "distributed/kv_transfer/kv_connector/v1"
_OFFLOAD = _PACKAGE / "v1/kv_offload"
_NAMES = ("extra_config", "kv_connector_extra_config", "get_from_extra_config")
_READ: dict[str, list[Path]] = {
    "NixlConnector": [*(_CONNECTORS / "nixl").glob("*.py")],
    "OffloadingConnector": [
        *(_CONNECTORS / "offloading").glob("*.py"),
        _CONNECTORS / "offloading_connector.py",
        _OFFLOAD / "base.py",
        _OFFLOAD / "factory.py",
    ],
    "SimpleCPUOffloadConnector": [
        _CONNECTORS / "simple_cpu_offload_connector.py",
        *(_PACKAGE / "v1/simple_kv_offload").glob("*.py"),
    ],
    "MultiConnector": [_CONNECTORS / "multi_connector.py"],
}
"""Connector -> the code that reads its keys."""
_SPECS = {
    "CPUOffloadingSpec": [_OFFLOAD / "cpu/spec.py"],
    "TieringOffloadingSpec": [_OFFLOAD / "cpu/spec.py", _OFFLOAD / "tiering/spec.py"],
}
_NOT_TIERED = {"store_threshold", "max_tracker_size"}
"""Of the plain tier's keys those that the tiered one does not read, or refuses."""
_GIVEN = ("offloading_spec", "primary_kv_view", "tier_type", "backpressure_detector")
"""What a tier's constructor gets from vLLM, not from the configuration."""
_SMALL_BYTES = 2**27
_GPU_BYTES = 2**37


@cache
def documents() -> dict[str, Any]:
    """Return the keys of vLLM's JSON flags."""
    transfer = keys_of_class(KVTransferConfig)
    transfer["kv_connector"] = {"kind": "text", "choices": sorted(KVConnectorFactory._registry)}
    read = {name: dict(keys_read(files, _NAMES)) for name, files in _READ.items()}
    read["MultiConnector"] = {"connectors": {"kind": "list", "document": "kv-transfer-config"}}
    specs = {name: dict(keys_read(files, _NAMES)) for name, files in _SPECS.items()}
    tiered = {key: value for key, value in specs["TieringOffloadingSpec"].items() if key not in _NOT_TIERED}
    tiered["secondary_tiers"] = {"kind": "list", "document": "secondary-tier"}
    tiered["backpressure"] = {"kind": "object", "document": "backpressure"}
    policy = {"kind": "any"}
    if sorted(CachePolicyFactory._registry):
        policy = {"kind": "text", "choices": sorted(CachePolicyFactory._registry)}
    tiers = {name: _tier_keys(name) for name in sorted(SecondaryTierFactory._registry)}
    offloading = {**read["OffloadingConnector"], "spec_name": {"kind": "text", "choices": sorted(_registered_specs())}}
    return {
        "kv-transfer-config": {
            "keys": transfer,
            "choice": {
                "by": "kv_connector",
                "inside": "kv_connector_extra_config",
                "documents": {
                    **{name: name for name in read},
                    "NixlPullConnector": "NixlConnector",
                    "NixlPushConnector": "NixlConnector",
                },
            },
        },
        "kv-events-config": {"keys": keys_of_class(KVEventsConfig)},
        "speculative-config": {"keys": keys_of_class(SpeculativeConfig)},
        **{name: {"keys": keys} for name, keys in read.items() if name != "OffloadingConnector"},
        "OffloadingConnector": {
            "keys": offloading,
            "choice": {"by": "spec_name", "default": "CPUOffloadingSpec", "documents": {name: name for name in specs}},
        },
        "CPUOffloadingSpec": {"keys": {**specs["CPUOffloadingSpec"], "eviction_policy": policy}},
        "TieringOffloadingSpec": {"keys": {**tiered, "eviction_policy": policy}},
        "secondary-tier": {
            "keys": {
                "type": {"kind": "text", "choices": sorted(SecondaryTierFactory._registry)},
                "module_path": {"kind": "text"},
                "backpressure": {"kind": "object", "document": "backpressure"},
            },
            "choice": {"by": "type", "documents": {n: f"tier-{n}" for n, keys in tiers.items() if keys is not None}},
        },
        **{f"tier-{name}": {"keys": keys} for name, keys in tiers.items() if keys is not None},
        "backpressure": {"keys": _backpressure_keys()},
    }


def _registered_specs() -> list[str]:
    return list(OffloadingSpecFactory._registry)


def _tier_keys(name: str) -> dict[str, Any] | None:
    """Keys of one tier; None where a module that it needs is not installed."""
    try:
        keys = keys_of_constructor(SecondaryTierFactory.get_tier_class({"type": name}), _GIVEN)
    except ImportError:
        return None
    return keys


def _backpressure_keys() -> dict[str, Any]:
    detectors, policies = (
        sorted(
            name
            for name, found in vars(backpressure).items()
            if inspect.isclass(found) and issubclass(found, base) and not inspect.isabstract(found)
        )
        for base in (backpressure.BackpressureDetector, backpressure.BackpressurePolicy)
    )
    return {
        **keys_of_constructor(backpressure.EMABackpressureDetector, ("policy",)),
        "backpressure_cls": {"kind": "text", "choices": detectors},
        "policy_cls": {"kind": "text", "choices": policies},
    }


def judge_connectors(config: Any, verdict: Verdict, scratch: str) -> None:
    """Make what the KV transfer configuration describes, as far as no GPU is needed."""
    transfer = config.kv_transfer_config
    if transfer is not None:
        with set_current_vllm_config(config):
            _judge_connector(config, transfer, verdict, scratch)


def _judge_connector(config: Any, transfer: Any, verdict: Verdict, scratch: str) -> None:
    name, extra = transfer.kv_connector, transfer.kv_connector_extra_config
    verdict.stage("connector", lambda: KVConnectorFactory.get_connector_class(transfer))
    unknown = _unknown(documents(), name, extra)
    for key in unknown:
        verdict.refuse("connector", f"{name} reads no key {key!r}")
    if name == "MultiConnector":
        for child in extra.get("connectors", []):
            made = verdict.stage("connector", lambda child=child: KVTransferConfig(**child))
            if made is not None:
                _judge_connector(config, made, verdict, scratch)
    if name == "OffloadingConnector":
        verdict.keep_in_host(verdict.stage("connector", lambda: _make_offload(config, transfer, scratch)))


def _unknown(known: dict[str, Any], name: str, extra: dict[str, Any]) -> list[str]:
    """Return the keys that no code of this connector reads; those of tiers are refused when they are made."""
    document = known.get(known["kv-transfer-config"]["choice"]["documents"].get(name, ""))
    if document is None:
        return []
    allowed = set(document["keys"])
    if name == "OffloadingConnector":
        allowed |= set(known.get(extra.get("spec_name", "CPUOffloadingSpec"), {"keys": {}})["keys"])
    return sorted(set(extra) - allowed)


def _make_offload(config: Any, transfer: Any, scratch: str) -> int:
    """Make the offloading tiers as the scheduler does, small and in the judge's own folder, and end them again.

    Returns tokens whose full layers the host tier holds in its real size, windows aside.
    """
    small, kept = copy.deepcopy(transfer), config.kv_transfer_config
    extra = small.kv_connector_extra_config
    for key in ("cpu_bytes_to_use",):
        if isinstance(extra.get(key), int):
            extra[key] = _SMALL_BYTES
    for tier in extra.get("secondary_tiers", []):
        if "root_dir" in tier:
            tier["root_dir"] = f"{scratch}/tier"
    config.kv_transfer_config = small
    try:
        cache = kv_cache_config(config, _GPU_BYTES)
        spec = OffloadingSpecFactory.create_spec(build_offloading_config(config, cache))
        spec.get_manager().shutdown()
    finally:
        config.kv_transfer_config = kept
    chunks = transfer.kv_connector_extra_config["cpu_bytes_to_use"] // spec.kv_bytes_per_chunk
    groups = sum(isinstance(group.kv_cache_spec, FullAttentionSpec) for group in cache.kv_cache_groups)
    return int(chunks * spec.blocks_per_chunk * config.cache_config.block_size // groups)
