"""The stacks these tests render: every preset, and the features no preset turns on."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

from stacks import StackSpec, resolve

from .dynamo.cases import DYNAMO_CASES, DYNAMO_PRESETS, DYNAMO_STORAGES

__all__ = ["APART", "CASES", "EVERY", "GOLDENS", "RESERVATION", "resolved", "spec_of"]

_HUB = {
    "kind": "huggingface",
    "repository": "reflection/Beam-1.0-DFlash2",
    "revision": "0123456789abcdef0123456789abcdef01234567",
    "token_secret": "hub-token",
}
_BUCKET = {"kind": "bucket", "bucket": "your-weights-bucket", "prefix": "beam/dflash2"}

PRESETS: dict[str, tuple[str, dict[str, Any], list[str]]] = {
    "g4-llmd": ("g4-llmd", {}, []),
    "g4-llmd-multi": ("g4-llmd-multi", {}, []),
    "g4-llmd-nvfp4": ("g4-llmd-nvfp4", {}, ["precision:nvfp4"]),
    "small-l4": ("small-l4", {}, []),
    "a4x-max-llmd": ("a4x-max-llmd", {}, []),
}
"""Stacks with llm-d by name: preset, overrides, accepted features."""

_G4: dict[str, Any] = {
    "machine_type": "g4-standard-384",
    "nodes": 1,
    "boot_disk_gb": 200,
    "provisioning": {"kind": "on_demand"},
}
_METAL: dict[str, Any] = {
    "machine_type": "a4x-maxgpu-4g-metal",
    "nodes": 8,
    "boot_disk_gb": 200,
    "provisioning": {"kind": "reservation"},
}
POOLS: dict[str, tuple[str, dict[str, Any], list[str]]] = {
    "pools": (
        "g4-llmd-multi",
        {
            "accelerator_pools": {
                "main": {"nodes": 1},
                "green": _G4,
                "idle": {**_G4, "use": "standby"},
                "other": {**_G4, "machine_type": "g4-standard-192", "use": "standby"},
                "old": {**_G4, "nodes": 2, "use": "draining"},
            }
        },
        [],
    ),
    "metal-pools": (
        "a4x-max-llmd",
        {
            "accelerator_pools": {"main": {"use": "draining"}, "green": _METAL},
            "serving": {"transport": {"name": "nvlink+rdma"}},
        },
        ["transport:nvlink+rdma"],
    ),
}
"""With several accelerator pools: two that serve, two that stand by, one that is drained; a drain between domains."""
_DISK = {"kind": "hyperdisk_ml", "disk": "beam-weights", "throughput_mib_per_s": 2400}
_STORAGES: dict[str, tuple[str, dict[str, Any], list[str]]] = {
    "g4-llmd-gcs-fuse": ("g4-llmd", {"model": {"storage": {"kind": "gcs_fuse"}}}, ["weights:gcs_fuse"]),
    "g4-llmd-hyperdisk-ml": ("g4-llmd", {"model": {"storage": _DISK}}, ["weights:hyperdisk_ml"]),
}
"""Weights elsewhere than on local SSD, which no preset has."""

_SESSIONS = {"strict": False, "forget_after_s": 3600}
_EVENTS = {"kind": "prefix_and_load", "cache_view": "events"}
_TWO_BANDS = {"agents": {"priority": 1, "longest_wait_s": 600}, "rest": {"priority": 0, "longest_wait_s": 600}}

_WAITING = {"order": "arrival", "bands": _TWO_BANDS}


def _routing(**says: Any) -> dict[str, Any]:
    return {"serving": {"routing": says}}


ROUTING: dict[str, tuple[str, dict[str, Any], list[str]]] = {
    "in-turn": ("g4-llmd-multi", _routing(policy={"kind": "round_robin"}), []),
    "sessions": ("g4-llmd-multi", _routing(session_affinity=_SESSIONS), ["routing:session_affinity"]),
    "strict-sessions": (
        "g4-llmd-multi",
        _routing(session_affinity={**_SESSIONS, "strict": True}),
        ["routing:session_affinity"],
    ),
    "bands": (
        "g4-llmd-multi",
        _routing(flow_control=_WAITING),
        ["routing:flow_control"],
    ),
    "turns": (
        "g4-llmd-multi",
        {
            "serving": {
                "router": {"release": "0.10.0"},
                "routing": {
                    "session_affinity": _SESSIONS,
                    "flow_control": {
                        "order": "turn_priority",
                        "turns_per_waited_s": 0.5,
                        "bands": {
                            "agents": {"priority": 0, "longest_wait_s": 900},
                            "batch": {"priority": -1, "longest_wait_s": 900},
                        },
                    },
                },
            }
        },
        [
            *("engine:vllm", "precision:fp8", "parallelism:tp8-ep", "gateway:gke-l7-rilb", "replicas:many"),
            *("kv-cache:fp8", "kv-offload:host_dram", "router:llm-d", "routing:prefix_approximate"),
            *("routing:session_affinity", "routing:turn_priority"),
        ],
    ),
    "events": ("g4-llmd-multi", _routing(policy=_EVENTS), ["routing:prefix_events"]),
    "events-of-groups": ("a4x-max-llmd", _routing(policy=_EVENTS), ["routing:prefix_events"]),
    "a-picker-stands-by": ("g4-llmd-multi", {"serving": {"router": {"replicas": 2}}}, []),
    "two-pickers-choose": (
        "g4-llmd-multi",
        {"serving": {"router": {"replicas": 2}, "routing": {"policy": _EVENTS}}},
        ["routing:prefix_events"],
    ),
}
"""What llm-d's picker can be told, which no preset does."""

_APART = {
    "kind": "prefill_decode",
    "prefill_replicas": 1,
    "decode_replicas": 2,
    "tensor_parallel": 8,
    "expert_parallel": True,
    "from_uncached_tokens": 4096,
}


def _apart(preset: str, transport: str, *accepted: str, shape: dict[str, Any], pools: dict[str, Any]) -> Any:
    serving = {"shape": {**_APART, **shape}, "transport": {"name": transport}}
    overrides = {"serving": serving, "accelerator_pools": pools}
    return preset, overrides, ["disaggregation:prefill_decode", *accepted]


APART: dict[str, tuple[str, dict[str, Any], list[str]]] = {
    "apart": _apart("g4-llmd-multi", "tcp", "transport:tcp", shape={}, pools={"main": {"nodes": 3}}),
    "apart-in-groups": _apart(
        "a4x-max-llmd",
        "nvlink",
        "parallelism:tp8-ep-nodes2",
        shape={"decode_replicas": 3, "from_uncached_tokens": None},
        pools={},
    ),
    "apart-between-domains": _apart(
        "a4x-max-llmd",
        "nvlink+rdma",
        *("transport:nvlink+rdma", "parallelism:tp4-ep"),
        shape={"tensor_parallel": 4, "prefill_replicas": 2, "decode_replicas": 6},
        pools={"main": {"use": "draining"}, "green": _METAL},
    ),
}
"""Prefill and decode on engines of their own, which no preset with llm-d has."""

_PROXY = {"router": {"proxy": "envoy"}}
_ROOM = {"machine_type": "n4-standard-16"}
PROXIED: dict[str, tuple[str, dict[str, Any], list[str]]] = {
    "proxied": (
        "g4-llmd-multi",
        {"system_pool": _ROOM, "serving": {**_PROXY, **_routing(flow_control=_WAITING)["serving"]}},
        ["router-proxy:envoy", "routing:flow_control"],
    ),
    "a-proxy-stands-by": (
        "g4-llmd-multi",
        {
            "system_pool": _ROOM,
            "monitoring": {"kind": "none"},
            "serving": {"router": {"proxy": "envoy", "replicas": 2}},
        },
        ["router-proxy:envoy"],
    ),
    "apart-proxied": (
        "g4-llmd-multi",
        {
            "system_pool": _ROOM,
            "accelerator_pools": {"main": {"nodes": 3}},
            "serving": {**_PROXY, "shape": _APART, "transport": {"name": "tcp"}},
        },
        ["disaggregation:prefill_decode", "transport:tcp", "router-proxy:envoy"],
    ),
}
"""Envoy beside the picker, which no preset has."""

_RAPID = {"release_channel": "RAPID"}
SCALING: dict[str, tuple[str, dict[str, Any], list[str]]] = {
    "scaled": (
        "g4-llmd-multi",
        {
            "cluster": _RAPID,
            "serving": {"scaling": {"least_replicas": 1, "running_share": 0.7, "waiting_requests": 4}},
        },
        ["scaling:hpa"],
    ),
    "scaled-unmonitored": (
        "g4-llmd-multi",
        {
            "cluster": _RAPID,
            "monitoring": {"kind": "none"},
            "serving": {"scaling": {"least_replicas": 1, "running_share": 0.5}},
        },
        ["scaling:hpa"],
    ),
}
"""Replicas that come and go with the load, which no preset has."""

GOLDENS = {
    **PRESETS,
    **DYNAMO_PRESETS,
    **POOLS,
    **_STORAGES,
    **DYNAMO_STORAGES,
    "scaled": SCALING["scaled"],
    "proxied": PROXIED["proxied"],
}
"""These have golden files."""

CASES: dict[str, tuple[str, dict[str, Any], list[str]]] = {
    **PRESETS,
    **POOLS,
    **_STORAGES,
    **APART,
    "local-ssd-tier": (
        "g4-llmd",
        {"serving": {"kv_cache": {"offload": {"kind": "local_ssd", "gib_per_replica": 2000}}}},
        ["kv-offload:local_ssd"],
    ),
    "raw-block": ("g4-llmd", {"accelerator_pools": {"main": {"local_ssd_mode": "raw_block"}}}, ["local-ssd:raw_block"]),
    "raw-block-tier": (
        "g4-llmd",
        {
            "accelerator_pools": {"main": {"local_ssd_mode": "raw_block"}},
            "serving": {"kv_cache": {"offload": {"kind": "local_ssd", "gib_per_replica": 2000}}},
        },
        ["local-ssd:raw_block", "kv-offload:local_ssd"],
    ),
    "kv-pool": (
        "g4-llmd",
        {"serving": {"engine": {"window_checkpoint_tokens": 16384, "kv_free_share": 0.02, "max_waiting_requests": 64}}},
        ["kv-pool:window_checkpoints", "kv-pool:free_share"],
    ),
    "handed-on": (
        "g4-llmd",
        {
            "serving": {
                "engine": {
                    "extra_arguments": {"stream-interval": 2, "enable-log-requests": False},
                    "extra_environment": {"VLLM_LOGGING_LEVEL": "WARNING"},
                }
            }
        },
        [],
    ),
    "two-tiers": (
        "g4-llmd",
        {
            "serving": {
                "kv_cache": {
                    "offload": {
                        "kind": "tiered",
                        "host_dram_gib_per_replica": 200,
                        "local_ssd_gib_per_replica": 4000,
                    }
                }
            }
        },
        ["kv-offload:tiered"],
    ),
    "drafter-from-bucket": (
        "g4-llmd",
        {"serving": {"speculation": {"drafter": "dflash2", "tokens": 7, "weights": _BUCKET}}},
        ["speculation:dflash2"],
    ),
    "drafter-mounted": (
        "g4-llmd",
        {
            "model": {"storage": {"kind": "gcs_fuse"}},
            "serving": {"speculation": {"drafter": "dflash2", "tokens": 7, "weights": _BUCKET}},
        },
        ["speculation:dflash2", "weights:gcs_fuse"],
    ),
    "drafter-on-disk": (
        "g4-llmd",
        {
            "model": {"storage": _DISK},
            "serving": {"speculation": {"drafter": "dflash2", "tokens": 7, "weights": {**_HUB, "token_secret": None}}},
        },
        ["speculation:dflash2", "weights:hyperdisk_ml"],
    ),
    "groups-mounted": (
        "a4x-max-llmd",
        {"model": {"storage": {"kind": "gcs_fuse"}}},
        ["weights:gcs_fuse"],
    ),
    "raw-block-on-disk": (
        "g4-llmd",
        {
            "accelerator_pools": {"main": {"local_ssd_mode": "raw_block"}},
            "model": {"storage": _DISK},
            "serving": {"kv_cache": {"offload": {"kind": "local_ssd", "gib_per_replica": 2000}}},
        },
        ["local-ssd:raw_block", "kv-offload:local_ssd", "weights:hyperdisk_ml"],
    ),
    "drafter-from-hub": (
        "g4-llmd",
        {"serving": {"speculation": {"drafter": "dflash2", "tokens": 7, "weights": _HUB}}},
        ["speculation:dflash2"],
    ),
    "https": (
        "g4-llmd",
        {
            "serving": {
                "router": {
                    "gateway": {
                        "gateway_class": "gke-l7-regional-external-managed",
                        "certificate": "my-certificate",
                        "authentication": {
                            "kind": "iap",
                            "client_id": "123456789012-abc123.apps.googleusercontent.com",
                            "client_secret": "iap-oauth",
                        },
                        "security_policy": "offices-only",
                    }
                }
            }
        },
        ["gateway:gke-l7-regional-external-managed", "authentication:iap", "security-policy:cloud-armor"],
    ),
    "queue-only": (
        "small-l4",
        {"serving": {"routing": {"policy": {"scorers": {"prefix_cache": 0, "queue": 1, "kv_cache_utilization": 0}}}}},
        [],
    ),
    **ROUTING,
    **PROXIED,
    **SCALING,
    "accepted": ("g4-llmd-multi", {"serving": {"wait": "accepted"}}, []),
    "accepted-groups": ("a4x-max-llmd", {"serving": {"wait": "accepted"}}, []),
    "one-group": ("a4x-max-llmd", {"serving": {"shape": {"replicas": 1}}}, []),
    "rdma": ("a4x-max-llmd", {"serving": {"transport": {"name": "nvlink+rdma"}}}, ["transport:nvlink+rdma"]),
    "one-node-nvlink": (
        "a4x-max-llmd",
        {"serving": {"shape": {"tensor_parallel": 4}, "context_tokens": 131_072, "engine": {"max_sequences": 16}}},
        ["parallelism:tp4"],
    ),
    "existing-namespace": (
        "g4-llmd",
        {
            "cluster": {"kind": "existing", "name": "shared", "version": "1.35.8-gke.1036000"},
            "network": {"kind": "of_cluster", "proxy_only_cidr": "10.9.0.0/23"},
            "serving": {"existing_namespace": True},
        },
        [],
    ),
    "unknown-proxies": (
        "g4-llmd",
        {
            "cluster": {"kind": "existing", "name": "shared", "version": "1.35.8-gke.1036000"},
            "network": {"kind": "of_cluster"},
        },
        [],
    ),
    "unmonitored": ("g4-llmd", {"monitoring": {"kind": "none"}}, []),
}
"""All of them, by name."""

EVERY = {**CASES, **DYNAMO_CASES}
"""With either router stack."""


RESERVATION = "projects/your-project-id/reservations/r/reservationBlocks/b/reservationSubBlocks/s"
"""Of stacks whose nodes come from one."""


def resolved(preset: str, overrides: dict[str, Any], accepted: list[str], **settings: str) -> StackSpec:
    """Resolve a preset with overrides; every stack is called ``test``."""
    config = {
        "beamline:preset": preset,
        "beamline:project": "your-project-id",
        "beamline:region": "us-central1",
        "beamline:zone": "us-central1-b",
        "beamline:overrides": json.dumps(overrides),
        "beamline:accept_unverified": json.dumps(accepted),
        **{f"beamline:{key}": value for key, value in settings.items()},
    }
    return resolve("test", config, where="a case", applying=False)


@cache
def spec_of(case: str) -> StackSpec:
    """Resolve one case."""
    preset, overrides, accepted = EVERY[case]
    if not preset.startswith("a4x"):
        return resolved(preset, overrides, accepted)
    by_pool = {name: f"{RESERVATION}-{name}" for name in overrides.get("accelerator_pools", {})}
    reservation = json.dumps(by_pool) if case == "metal-pools" else RESERVATION
    return resolved(preset, overrides, accepted, reservation=reservation)
