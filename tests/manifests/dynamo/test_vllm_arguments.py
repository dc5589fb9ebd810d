"""vLLM under Dynamo: the engine's flags, none of the API server's, and events for the router.

``stacks/catalog`` names vLLM 0.33.0; its own parser took these lines.
"""

from __future__ import annotations

import pytest

from ..cluster_objects import flag, objects_of
from .graphs import arguments, component, container, environment

API_SERVERS = ("port", "shutdown-timeout", "tool-call-parser", "enable-auto-tool-choice", "fail-on-environ-validation")
EVENTS = {"enable_kv_cache_events": True, "endpoint": "tcp://*:5557", "publisher": "zmq"}


def test_the_engine_is_the_same_as_behind_llm_d() -> None:
    """All but what belongs to an API server, the model's path, which is a flag here, and events of the host tier."""
    alone = objects_of("g4-llmd").container("engine")["args"]
    under = arguments("g4-dynamo", "worker")
    assert [f"--model={alone[0]}"] == [a for a in under if a.startswith("--model=")]
    tier = "--kv-transfer-config"
    assert {a.partition("=")[0] for a in set(alone[1:]) - set(under)} == {
        *(f"--{name}" for name in API_SERVERS),
        "--disable-access-log-for-endpoints",
        tier,
    }
    assert {a.partition("=")[0] for a in set(under) - set(alone)} == {"--model", "--kv-events-config", tier}


def test_events_go_with_the_router_that_reads_them() -> None:
    worker = container(component(objects_of("g4-dynamo"), "worker"))
    assert flag(worker, "kv-events-config") == EVENTS
    added = set(arguments("g4-dynamo", "worker")) - set(arguments("dynamo-vllm-round-robin", "worker"))
    assert sorted(a.partition("=")[0] for a in added) == ["--kv-events-config", "--kv-transfer-config"]
    assert flag(worker, "kv-transfer-config")["kv_connector_extra_config"]["self_describing_kv_events"] is True


def test_bands_of_several_priorities_order_the_engine_too() -> None:
    added = set(arguments("dynamo-vllm-bands", "worker")) - set(arguments("g4-dynamo", "worker"))
    assert added == {"--scheduling-policy=priority", "--max-num-queued-reqs=128"}


@pytest.mark.parametrize(
    ("case", "name"), [("dynamo-vllm-drafter", "speculative-config"), ("dynamo-vllm-local-ssd", "kv-transfer-config")]
)
def test_a_feature_changes_its_flag_and_no_other(case: str, name: str) -> None:
    added = set(arguments(case, "worker")) - set(arguments("g4-dynamo", "worker"))
    assert [a.partition("=")[0] for a in added] == [f"--{name}"]


def test_the_disk_tier_is_on_a_volume() -> None:
    worker = component(objects_of("dynamo-vllm-local-ssd"), "worker")
    (mount,) = (m for m in container(worker)["volumeMounts"] if m["name"] == "kv-tier")
    extra = flag(container(worker), "kv-transfer-config")["kv_connector_extra_config"]
    assert extra["disk_path"].startswith(f"{mount['mountPath']}/")


def test_caches_and_limits_of_the_engine_come_along() -> None:
    values = environment(component(objects_of("g4-dynamo"), "worker"))
    assert values["VLLM_CACHE_ROOT"] == "/cache/vllm"
    assert "VLLM_HTTP_TIMEOUT_KEEP_ALIVE" not in values  # of its API server, which does not run
    assert not any(name.startswith("SGLANG") for name in values)
