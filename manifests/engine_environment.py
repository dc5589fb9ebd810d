"""vLLM's environment: no hub, caches on local SSD, and the few settings that have no flag.

The image is run as its own unprivileged user with a read-only root, so everything that writes is pointed at a volume.
Names starting with ``VLLM_`` are checked by the engine itself at start (``--fail-on-environ-validation``).
"""

from __future__ import annotations

from typing import Any

from manifests.caches import cache_environment
from manifests.chosen import publishes_events
from manifests.fabric_claims import network_environment
from manifests.kv_tier import has_local_ssd_tier, kv_tier_environment
from manifests.kv_transfer import side_channel
from manifests.llmd.kv_events import ADDRESS_VARIABLE
from manifests.vllm_settings import vllm_environment
from stacks.resolve import StackSpec
from stacks.roles import Role

__all__ = ["engine_environment"]


def engine_environment(spec: StackSpec, role: Role) -> list[dict[str, Any]]:
    """Environment of the engine's container; values are text, as Kubernetes wants them."""
    derived = spec.derived
    values = {
        **cache_environment(spec),
        **vllm_environment(spec),
        # The proxies must be the ones to close idle connections, or a request may meet a closing one: HTTP 502.
        "VLLM_HTTP_TIMEOUT_KEEP_ALIVE": str(derived.engine_keep_alive_s),
        **network_environment(spec),
    }
    written: list[dict[str, Any]] = [{"name": name, "value": value} for name, value in values.items()]
    if derived.nodes_per_replica > 1:
        # The leader hands this address to the ranks of other nodes; with several networks vLLM would have to guess it.
        written.append(_address("VLLM_HOST_IP"))
    written += side_channel(role)
    if publishes_events(spec):
        written.append(_address(ADDRESS_VARIABLE))
    if role.tiered and has_local_ssd_tier(spec):
        written += kv_tier_environment(spec)
    return written


def _address(name: str) -> dict[str, Any]:
    """The pod's own, in a variable."""
    return {"name": name, "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}}
