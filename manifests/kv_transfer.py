"""How KV cache goes from prefill to decode engines of vLLM: NIXL, and with a tier below GPU memory both at once.

- A prefill engine keeps a prompt's blocks until a decode engine has read them, or until the lease ends; a decode engine
  that waits for its turn renews it. It is longer than vLLM's own 30 seconds: a block that was given away too early is
  read as whatever is there then (vllm#38027).
- A request whose blocks did not come fails. Computing them anew instead gave wrong text (vllm#49250).
- Engines meet at an address that each says of itself, and that is localhost unless told otherwise; Dynamo finds one,
  but not where NIXL is one of several connectors (dynamo/vllm/args.py: _uses_nixl_connector).
- Only prefill has the tier: on decode, NIXL and the tier got into each other's way (vllm#34526, #35092).
- The set of both is ``kv_both``, as blocks also come back from the tier (scheduler.py: defer_block_free).

Source: vLLM 0.33.0, vllm/distributed/kv_transfer/kv_connector/v1/nixl, multi_connector.py, vllm/config/kv_transfer.py
"""

from __future__ import annotations

from typing import Any

from manifests.engine_roles import apart
from stacks.resolve import StackSpec
from stacks.roles import Role

__all__ = ["LEASE_S", "kv_transfer", "kv_transfer_flags", "side_channel"]

LEASE_S = 60
_SIDE_CHANNEL_HOST = "VLLM_NIXL_SIDE_CHANNEL_HOST"
_KV_ROLES = {"prefill": "kv_producer", "decode": "kv_consumer"}


def kv_transfer(role: Role, tier: dict[str, Any] | None) -> dict[str, Any] | None:
    """Value of ``--kv-transfer-config``, ``tier`` being the connector of the tier below GPU memory."""
    if not apart(role):
        return tier
    nixl = {
        "kv_connector": "NixlConnector",
        "kv_role": _KV_ROLES[role.name],
        "kv_connector_extra_config": {"kv_lease_duration": LEASE_S},
    }
    whole = nixl if tier is None else _both(nixl, tier)
    return {**whole, "kv_load_failure_policy": "fail"}


def _both(nixl: dict[str, Any], tier: dict[str, Any]) -> dict[str, Any]:
    return {
        "kv_connector": "MultiConnector",
        "kv_role": "kv_both",
        "kv_connector_extra_config": {"connectors": [nixl, tier]},
    }


def kv_transfer_flags(spec: StackSpec, role: Role) -> dict[str, Any]:
    """Flags that this way of moving KV cache needs."""
    transport = spec.rows.transport
    if transport is None or not apart(role):
        return {}
    return dict(transport.kv_arguments.get(spec.rows.engine.kind, {}))


def side_channel(role: Role) -> list[dict[str, Any]]:
    """The variable that says at which address other engines find this one: the pod's own."""
    if not apart(role):
        return []
    return [{"name": _SIDE_CHANNEL_HOST, "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}}]
