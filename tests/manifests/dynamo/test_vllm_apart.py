"""Prefill and decode of vLLM as components of a graph: what tells them apart, and what must not."""

from __future__ import annotations

from typing import Any

import pytest

from ..cases import spec_of
from ..cluster_objects import Body, flag, objects_of
from .graphs import arguments, component, container, environment, graph
from .test_vllm_arguments import EVENTS

CASES = (
    "dynamo-vllm-apart",
    "dynamo-vllm-apart-in-turn",
    "dynamo-vllm-stays-on-decode",
    "dynamo-vllm-apart-over-nvlink",
)
MAY_DIFFER = {"--disaggregation-mode", "--kv-transfer-config", "--kv-events-config"}
"""Flags by which the roles may differ: with others they refuse each other's KV cache, or cannot be chosen for it."""
STAYS = "DYN_GRACEFUL_SHUTDOWN_GRACE_PERIOD_SECS"
ROLES = ("prefill", "decode")


def worker(case: str, role: str) -> Body:
    return container(component(objects_of(case), role))


def transfer(case: str, role: str) -> dict[str, Any]:
    found: dict[str, Any] = flag(worker(case, role), "kv-transfer-config")
    return found


@pytest.mark.parametrize("case", CASES)
def test_roles_differ_in_mode_connector_and_events_alone(case: str) -> None:
    prefill, decode = (set(arguments(case, role)) for role in ROLES)
    assert {a.partition("=")[0] for a in prefill ^ decode} <= MAY_DIFFER
    assert [flag(worker(case, role), "disaggregation-mode") for role in ROLES] == list(ROLES)
    values = [{k: v for k, v in environment(component(objects_of(case), role)).items() if k != STAYS} for role in ROLES]
    assert values[0] == values[1]
    assert worker(case, "prefill")["image"] == worker(case, "decode")["image"]
    assert [component(objects_of(case), role)["type"] for role in ROLES] == list(ROLES)


@pytest.mark.parametrize("case", CASES)
def test_every_worker_says_its_own_address_and_hands_over_by_nixl(case: str) -> None:
    """Dynamo looks for an address by itself only where NIXL is the one connector; with a tier it is not."""
    for role, part in (("prefill", "kv_producer"), ("decode", "kv_consumer")):
        (address,) = (e for e in worker(case, role)["env"] if e["name"] == "VLLM_NIXL_SIDE_CHANNEL_HOST")
        assert address["valueFrom"] == {"fieldRef": {"fieldPath": "status.podIP"}}
        found = transfer(case, role)
        nixl = next(iter(found["kv_connector_extra_config"].get("connectors", [found])))
        assert (nixl["kv_connector"], nixl["kv_role"]) == ("NixlConnector", part)
        assert found["kv_load_failure_policy"] == "fail"


def test_prefill_alone_has_the_tier() -> None:
    connectors = transfer("dynamo-vllm-apart", "prefill")["kv_connector_extra_config"]["connectors"]
    assert [part["kv_connector"] for part in connectors] == ["NixlConnector", "OffloadingConnector"]
    assert transfer("dynamo-vllm-apart", "decode")["kv_connector"] == "NixlConnector"
    limits = [worker("dynamo-vllm-apart", role)["resources"]["limits"]["memory"] for role in ROLES]
    assert limits == ["480Gi", "98Gi"]


@pytest.mark.parametrize(
    ("case", "prefill", "decode"),
    [
        ("dynamo-vllm-apart", EVENTS, None),
        ("dynamo-vllm-apart-in-turn", None, None),
        ("dynamo-vllm-stays-on-decode", EVENTS, EVENTS),
    ],
)
def test_who_is_chosen_by_its_cache_tells_of_it(case: str, prefill: Any, decode: Any) -> None:
    assert [flag(worker(case, role), "kv-events-config") for role in ROLES] == [prefill, decode]


def test_a_prompt_stays_on_decode_below_a_number_of_tokens() -> None:
    frontend = container(component(objects_of("dynamo-vllm-stays-on-decode"), "frontend"))
    assert "--router-conditional-disagg" in frontend["args"]
    assert flag(frontend, "router-conditional-disagg-config") == {
        "policy": "isl_bounding",
        "eff_isl_threshold": 4096,
        "eff_isl_ratio_threshold": 1.0,
    }
    assert not [a for a in arguments("dynamo-vllm-apart", "frontend") if "conditional" in a]


def test_prefill_workers_stay_until_their_blocks_were_fetched() -> None:
    """One of several is replaced by the others at once, but for the blocks that it still holds for a lease's time."""
    seconds = {
        (case, role): int(environment(component(objects_of(case), role))[STAYS])
        for case in ("dynamo-vllm-apart", "dynamo-vllm-stays-on-decode")
        for role in ROLES
    }
    derived = spec_of("dynamo-vllm-apart").derived
    lease_s = transfer("dynamo-vllm-apart", "decode")["kv_connector_extra_config"]["kv_lease_duration"]
    assert seconds == {
        ("dynamo-vllm-apart", "prefill"): derived.engine_drain_s,
        ("dynamo-vllm-apart", "decode"): derived.drain_pause_s,
        ("dynamo-vllm-stays-on-decode", "prefill"): lease_s,
        ("dynamo-vllm-stays-on-decode", "decode"): derived.engine_drain_s,
    }
    assert lease_s > derived.drain_pause_s


@pytest.mark.parametrize(
    ("case", "settings", "switched_on"),
    [
        ("dynamo-vllm-apart", {"UCX_TLS": "cuda_copy,cuda_ipc,tcp"}, False),
        (
            "dynamo-vllm-apart-over-nvlink",
            {"UCX_TLS": "cuda_copy,cuda_ipc,tcp", "UCX_CUDA_IPC_ENABLE_MNNVL": "y"},
            True,
        ),
    ],
)
def test_the_transport_says_how_blocks_go(case: str, settings: dict[str, str], *, switched_on: bool) -> None:
    for role in ROLES:
        values = environment(component(objects_of(case), role))
        assert {name: values.get(name) for name in settings} == settings
        assert ("--enable-cumem-allocator" in arguments(case, role)) is switched_on


def test_the_graph_is_vllms() -> None:
    assert graph(objects_of("dynamo-vllm-apart"))["spec"]["backendFramework"] == "vllm"
