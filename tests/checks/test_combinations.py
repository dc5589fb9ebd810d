"""What plans also passes `check`: every pair of options on every shape, on the way an apply would go.

A value that the types accept and a schema, an SDK or a rule refuses would be found by the user an hour later.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any

import pytest
from allpairspy import AllPairs

from beamline.checks import graph_problems
from beamline.engine import run_program
from manifests import render
from stacks import resolve
from stacks.merging import merge
from stacks.settings import STACKS_DIR, pulumi_config

COMMIT = "a" * 40
BEAM_BUCKET = {"kind": "bucket", "bucket": "acme-weights", "prefix": "main/weights"}
HUB = {"kind": "huggingface", "repository": "acme/main", "revision": COMMIT, "token_secret": None}
DRAFTER_HUB = {"kind": "huggingface", "repository": "acme/drafter", "revision": COMMIT, "token_secret": "drafter-token"}


def _shape(machine: str, nodes: int, replicas: int, tp: int, **serving: Any) -> dict[str, Any]:
    """Overrides that put a preset on other machines; ``tp`` GPUs a replica."""
    shape = {"replicas": replicas, "tensor_parallel": tp}
    return {
        "accelerator_pools": {"main": {"machine_type": machine, "nodes": nodes}},
        "serving": {"shape": shape, **serving},
    }


SHAPES: Mapping[str, tuple[str, dict[str, Any]]] = {
    "g2-8": ("small-l4", _shape("g2-standard-8", 2, 2, 1)),
    "g2-24": ("small-l4", _shape("g2-standard-24", 1, 1, 2)),
    "g2-48": ("small-l4", _shape("g2-standard-48", 1, 4, 1)),
    "g2-96": ("small-l4", _shape("g2-standard-96", 1, 1, 8)),
    "g4-48": ("small-l4", _shape("g4-standard-48", 3, 3, 1)),
    "g4-96": ("small-l4", _shape("g4-standard-96", 1, 1, 2)),
    "g4-192": ("small-l4", _shape("g4-standard-192", 1, 4, 1)),
    "g4-384": ("g4-llmd", {}),
    "g4-384-tp8": ("g4-llmd", {"serving": {"shape": {"expert_parallel": False}}}),
    "g4-384-nvfp4": ("g4-llmd-nvfp4", {}),
    "g4-384-many": ("g4-llmd-multi", _shape("g4-standard-384", 4, 4, 8)),
}
OPEN = {"kind": "none", "reason": "inside the VPC"}
IAP = {"kind": "iap", "client_id": "1-a.apps.googleusercontent.com", "client_secret": "s" * 63}
OPTIONS: Mapping[str, Mapping[str, dict[str, Any]]] = {
    "provisioning": {
        kind: {"accelerator_pools": {"main": {"provisioning": {"kind": kind}}}}
        for kind in ("on_demand", "spot", "reservation")
    },
    "weights": {
        "bucket": {"model": {"weights": BEAM_BUCKET}},
        "hub": {"model": {"weights": HUB}},
        "hub-with-token": {"model": {"weights": HUB | {"token_secret": "t" * 255}}},
    },
    "offload": {
        kind: {"serving": {"kv_cache": {"offload": {"kind": kind} | more}}}
        for kind, more in {
            "none": {},
            "host_dram": {"gib_per_replica": 1},
            "local_ssd": {"gib_per_replica": 200},
        }.items()
    },
    "gateway": {
        name: {
            "serving": {
                "router": {
                    "gateway": {
                        "gateway_class": kind,
                        "certificate": certificate,
                        "authentication": authentication,
                        "security_policy": policy,
                    }
                }
            }
        }
        for name, kind, certificate, authentication, policy in (
            ("inside", "gke-l7-rilb", None, OPEN, None),
            ("inside-tls", "gke-l7-rilb", "c", IAP, None),
            ("outside", "gke-l7-regional-external-managed", "c" * 63, IAP, "p" * 63),
        )
    },
    "names": {
        "short": {"serving": {"namespace": "a"}},
        "long": {"serving": {"namespace": "n" * 55}},
    },
    "wait": {
        "ready": {"production": True, "serving": {"wait": "ready"}},
        "accepted": {"production": False, "serving": {"wait": "accepted"}},
    },
    "cache": {
        "plain": {"serving": {"kv_cache": {"dtype": "auto", "block_size_tokens": 16}}},
        "fp8": {"serving": {"kv_cache": {"dtype": "fp8", "block_size_tokens": 128}}},
    },
    "cluster": {version: {"cluster": {"version": version}} for version in ("1.34.1-gke.1829001", "1.36.0-gke.4447000")},
    "speculation": {
        "none": {},
        "drafter": {
            "serving": {
                "speculation": {"drafter": "dflash2", "tokens": 7, "weights": BEAM_BUCKET | {"prefix": "drafter"}}
            }
        },
        "drafter-from-the-hub": {
            "serving": {"speculation": {"drafter": "dflash2", "tokens": 15, "weights": DRAFTER_HUB}}
        },
    },
}
MIRRORS = {"none": None, "port": "mirror.example.com:5000/a", "google": "us-docker.pkg.dev/acme-inference/images/b"}
AXES: Mapping[str, tuple[str, ...]] = {
    "shape": tuple(SHAPES),
    "mirror": tuple(MIRRORS),
    **{axis: tuple(values) for axis, values in OPTIONS.items()},
}
ACCEPTED = [
    *("engine:vllm", "router:llm-d", "routing:prefix_approximate", "replicas:many"),
    *("provisioning:spot", "speculation:dflash2", "kv-cache:fp8"),
    *("precision:bf16", "precision:fp8", "precision:nvfp4", "kv-offload:host_dram", "kv-offload:local_ssd"),
    *("gateway:gke-l7-rilb", "gateway:gke-l7-regional-external-managed"),
    *("authentication:iap", "security-policy:cloud-armor"),
    *(f"parallelism:tp{size}{ep}" for size in (1, 2, 4, 8) for ep in ("", "-ep")),
]
Row = dict[str, str]


ROWS = [dict(zip(AXES, values, strict=True)) for values in AllPairs(list(AXES.values()))]


def _config(row: Row) -> tuple[str, dict[str, Any]]:
    """The stack of a row: its name and its config."""
    preset, overrides = SHAPES[row["shape"]]
    for axis, values in OPTIONS.items():
        if axis != "speculation" or preset != "small-l4":  # the small model has no drafter
            overrides = merge(overrides, values[row[axis]], {}, "")
    settings = {
        "preset": preset,
        "project": "acme-inference",
        "region": "us-central1",
        "zone": "us-central1-b",
        "accept_unverified": ACCEPTED,
        "overrides": overrides,
        "mirror": MIRRORS[row["mirror"]],
        "reservation": "projects/acme/reservations/r1" if row["provisioning"] == "reservation" else None,
    }
    name = "s" if row["names"] == "short" else "s23456789-23n"
    return name, {f"beamline:{key}": value for key, value in settings.items() if value is not None}


@pytest.mark.parametrize("row", ROWS, ids=["+".join(row.values()) for row in ROWS])
def test_what_plans_passes_check(row: Row) -> None:
    """No error from types to schemas, and every seeded set of weights and every token has its object."""
    name, config = _config(row)
    spec = resolve(name, pulumi_config(config), where="stack", applying=False)
    graph = run_program(STACKS_DIR.parent, project="beamline", stack=name, config=config)
    assert [p for p in graph_problems(graph, spec.preset.cluster.version) if p.severity != "note"] == []
    kinds = [item.body["kind"] for item in render(spec)]
    sources = [spec.preset.model.weights, *([s.weights] if (s := spec.preset.serving.speculation) else [])]
    tokens = {source.token_secret for source in sources if source.kind == "huggingface" and source.token_secret}
    assert kinds.count("SecretProviderClass") == bool(tokens)


def test_every_pair_of_options_is_in_a_row() -> None:
    """The rows are few and leave no pair out."""
    pairs = {frozenset(pair) for row in ROWS for pair in itertools.combinations(row.items(), 2)}
    sizes = [len(values) for values in AXES.values()]
    assert len(pairs) == sum(one * other for one, other in itertools.combinations(sizes, 2))
    assert len(ROWS) <= 60
