"""Pydantic's findings become problems in the user's words: path, nearest key, what was found and what is needed."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from stacks.preset_files import compose
from stacks.spec import FlexStart, Preset
from stacks.typing_problems import dotted, nearest, validation_problems

Said = tuple[str, str, str, str, str]


def _problems(section: dict[str, Any]) -> list[Said]:
    """Problems of a sound preset with ``section`` put into it, sections replaced whole where they meet no section."""
    data, _ = compose("g4-llmd", key="preset", where="")
    _put(data, section)
    try:
        Preset.model_validate(data)
    except ValidationError as error:
        found = validation_problems(error, model=Preset, data=data, where="file")
        assert all((p.where, p.source) == ("file", "stacks/schemas/preset.schema.json") for p in found)
        return [(p.rule, p.path, p.why, p.allowed, p.remedy) for p in found]
    return []


def _put(data: dict[str, Any], section: dict[str, Any]) -> None:
    for key, value in section.items():
        if isinstance(value, dict) and isinstance(data.get(key), dict) and "!" not in value:
            _put(data[key], value)
        else:
            data[key] = {k: v for k, v in value.items() if k != "!"} if isinstance(value, dict) else value


WHOLE = "a whole number is needed here, this is "
QUOTE = "put it in quotes if it reads like a number: a version 1.30 would become 1.3"
_POOL = {"machine_type": "x", "nodes": 1, "boot_disk_gb": 100, "provisioning": {"kind": "spot"}}

CASES: dict[str, tuple[dict[str, Any], list[Said]]] = {
    "text for a count": (
        {"system_pool": {"nodes": "2"}},
        [("wrong-value", "system_pool.nodes", f"{WHOLE}text", "a whole number", "write it without quotes")],
    ),
    "words for a count": (
        {"system_pool": {"nodes": "two"}},
        [("wrong-value", "system_pool.nodes", f"{WHOLE}text", "a whole number", "write digits only, such as 8")],
    ),
    "true for a count": (
        {"system_pool": {"nodes": True}},
        [
            (
                "wrong-value",
                "system_pool.nodes",
                f"{WHOLE}true or false",
                "a whole number",
                "write digits only, such as 8",
            )
        ],
    ),
    "decimals for a count": (
        {"system_pool": {"nodes": 2.5}},
        [
            (
                "wrong-value",
                "system_pool.nodes",
                f"{WHOLE}a number with decimals or beyond 64 bits",
                "a whole number",
                "write digits only, such as 8",
            )
        ],
    ),
    "nothing for a count": (
        {"system_pool": {"nodes": None}},
        [
            (
                "wrong-value",
                "system_pool.nodes",
                f"{WHOLE}nothing (null)",
                "a whole number",
                "write digits only, such as 8",
            )
        ],
    ),
    "a number for a version": (
        {"serving": {"engine": {"version": 0.33}}},
        [
            (
                "wrong-value",
                "serving.engine.version",
                "text is needed here, this is a number with decimals or beyond 64 bits",
                "text",
                QUOTE,
            )
        ],
    ),
    "text for a boolean": (
        {"production": "true"},
        [
            (
                "wrong-value",
                "production",
                "true or false is needed here, this is text",
                "true or false",
                "write it without quotes",
            )
        ],
    ),
    "a list for a section": (
        {"network": ["a"]},
        [
            (
                "wrong-value",
                "network",
                "a section with keys is needed here, this is a list",
                "a section with keys",
                "write its keys below it, each on its own line",
            )
        ],
    ),
    "too many": (
        {"accelerator_pools": {"main": {"nodes": 1001}}},
        [
            (
                "wrong-value",
                "accelerator_pools.main.nodes",
                "the number must be at most 1000",
                "at most 1000",
                "write a number in that range",
            )
        ],
    ),
    "a share above one": (
        {"serving": {"engine": {"gpu_memory_utilization": 1.0}}},
        [
            (
                "wrong-value",
                "serving.engine.gpu_memory_utilization",
                "the number must be less than 1",
                "less than 1",
                "write a number in that range",
            )
        ],
    ),
    "a word near an allowed one": (
        {"cluster": {"release_channel": "REGULER"}},
        [
            (
                "wrong-value",
                "cluster.release_channel",
                "this is not one of the values that exist; did you mean 'REGULAR'?",
                "RAPID, REGULAR, STABLE, EXTENDED",
                "write 'REGULAR'",
            )
        ],
    ),
    "a number that is not allowed": (
        {"serving": {"kv_cache": {"block_size_tokens": 48}}},
        [
            (
                "wrong-value",
                "serving.kv_cache.block_size_tokens",
                "this is not one of the values that exist",
                "16, 32, 64, 128",
                "write one of the allowed values",
            )
        ],
    ),
    "an empty text": (
        {"model": {"name": ""}},
        [("wrong-value", "model.name", "nothing is written here", "at least one", "write it, or leave the key out")],
    ),
    "a key of another kind": (
        {"accelerator_pools": {"main": {"provisioning": {"name": "x"}}}},
        [
            (
                "unknown-key",
                "accelerator_pools.main.provisioning.name",
                "there is no key 'name' here, so it would do nothing",
                "kind",
                "remove it or use one of the allowed keys",
            )
        ],
    ),
    "the key of one pool, which there may be several of now": (
        {"accelerator_pool": {"nodes": 2}},
        [
            (
                "unknown-key",
                "accelerator_pool",
                "there is no key 'accelerator_pool' here, so it would do nothing; did you mean 'accelerator_pools'?",
                ", ".join(sorted(Preset.model_fields)),
                "rename it to 'accelerator_pools'",
            )
        ],
    ),
    "names of pools": (
        {"accelerator_pools": {"blue-1": {**_POOL, "use": "draining"}, "system": {**_POOL, "use": "idle"}}},
        [
            (
                "wrong-key",
                "accelerator_pools.blue-1",
                "the text does not have the form that is needed here",
                "a pool's name: at most 15 lower-case letters and digits, a letter first, not system",
                "leave hyphens out, or shorten it: at GKE it is beamline-<stack>-<pool>",
            ),
            (
                "wrong-key",
                "accelerator_pools.system",
                "the text does not have the form that is needed here",
                "a pool's name: at most 15 lower-case letters and digits, a letter first, not system",
                "that is the pool of routers and operators; choose another name",
            ),
            (
                "wrong-value",
                "accelerator_pools.system.use",
                "this is not one of the values that exist",
                "serving, standby, draining",
                "write one of the allowed values",
            ),
        ],
    ),
    "a pool that is called like a key of pools": (
        {"accelerator_pools": {"provisioning": {**_POOL, "provisioning": {"kind": "spot", "name": "x"}}}},
        [
            (
                "unknown-key",
                "accelerator_pools.provisioning.provisioning.name",
                "there is no key 'name' here, so it would do nothing",
                "kind",
                "remove it or use one of the allowed keys",
            )
        ],
    ),
    "more pools than there may be": (
        {"accelerator_pools": dict.fromkeys("abcdefghi", _POOL)},
        [("wrong-value", "accelerator_pools", "there are more than 8", "at most 8", "leave some out")],
    ),
    "a misspelt kind": (
        {"accelerator_pools": {"main": {"provisioning": {"kind": "spott"}}}},
        [
            (
                "wrong-kind",
                "accelerator_pools.main.provisioning.kind",
                "this section is chosen by its kind; that kind does not exist; did you mean 'spot'?",
                "flex_start, on_demand, reservation, spot",
                "write 'spot'",
            )
        ],
    ),
    "no kind": (
        {"accelerator_pools": {"main": {"provisioning": {"!": 1, "name": "x"}}}},
        [
            (
                "wrong-kind",
                "accelerator_pools.main.provisioning.kind",
                "this section is chosen by its kind",
                "flex_start, on_demand, reservation, spot",
                "set kind to one of the allowed words",
            )
        ],
    ),
    "a list as kind": (
        {"accelerator_pools": {"main": {"provisioning": {"kind": ["spot"]}}}},
        [
            (
                "wrong-kind",
                "accelerator_pools.main.provisioning.kind",
                "this section is chosen by its kind; that kind does not exist",
                "flex_start, on_demand, reservation, spot",
                "set kind to one of the allowed words",
            )
        ],
    ),
    "misspelt keys of the chosen kinds": (
        {
            "monitoring": {"!": 1, "kind": "none", "knd": 1},
            "serving": {
                "router": {
                    "!": 1,
                    "kind": "dynamo",
                    "release": "1.7.0",
                    "gateway": {"gateway_class": "gke-l7-rilb", "authentication": {"kind": "none", "reason": "a test"}},
                    "frontend": 1,
                },
                "transport": {"name": "tcp", "compute_domain_node": 8},
            },
        },
        [
            ("missing-key", "serving.router.frontends", "this key is required and has no default", "", "add frontends"),
            (
                "unknown-key",
                "monitoring.knd",
                "there is no key 'knd' here, so it would do nothing; did you mean 'kind'?",
                "kind",
                "rename it to 'kind'",
            ),
            (
                "unknown-key",
                "serving.router.frontend",
                "there is no key 'frontend' here, so it would do nothing; did you mean 'frontends'?",
                "frontends, gateway, kind, release",
                "rename it to 'frontends'",
            ),
            (
                "unknown-key",
                "serving.transport.compute_domain_node",
                (
                    "there is no key 'compute_domain_node' here, so it would do nothing; did you mean "
                    "'compute_domain_nodes'?"
                ),
                "compute_domain_nodes, name, rdma_devices_per_pod",
                "rename it to 'compute_domain_nodes'",
            ),
        ],
    ),
    "a missing key of the chosen kind": (
        {"cluster": {"!": 1, "kind": "existing", "version": "1.35.8-gke.1036000"}},
        [("missing-key", "cluster.name", "this key is required and has no default", "", "add name")],
    ),
    "a key with the name of its section's kind": (
        {"model": {"weights": {"kind": "bucket", "bucket": "abc", "prefix": "/x"}}},
        [
            (
                "wrong-value",
                "model.weights.prefix",
                "the text does not have the form that is needed here",
                (
                    "a folder inside the bucket, such as beam/fp8: no slash first or last, no empty part, no part that "
                    "starts with a dot"
                ),
                "leave the outer slashes out",
            )
        ],
    ),
    "a section where that key belongs": (
        {"model": {"weights": {"kind": "bucket", "bucket": {"bucket": 1}, "prefix": "x"}}},
        [
            (
                "wrong-value",
                "model.weights.bucket",
                "text is needed here, this is a section with keys",
                "text",
                QUOTE,
            )
        ],
    ),
    "a word as a feature's name": (
        {"evidence": {"fast": {"status": "measured", "source": "x", "as_of": "today"}}},
        [
            (
                "wrong-key",
                "evidence.fast",
                "the text does not have the form that is needed here",
                "a feature as plan names it, such as precision:fp8 or kv-offload:host_dram",
                "write it in the allowed form",
            ),
            (
                "wrong-value",
                "evidence.fast.as_of",
                "a day is needed here, this is text",
                "a day",
                "write a day as YYYY-MM-DD",
            ),
        ],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_problems(name: str) -> None:
    """Path, reason, what is allowed and remedy of each finding, and nothing beside it."""
    section, expected = CASES[name]
    assert sorted(_problems(section)) == sorted(expected)


def test_a_kind_that_cannot_work_says_why_and_who_says_so() -> None:
    """Not a misspelling: the word exists at Google, and something else is to be written here."""
    data, _ = compose("g4-llmd", key="preset", where="")
    _put(data, {"accelerator_pools": {"main": {"provisioning": {"kind": "queued", "max_run_duration_s": 3600}}}})
    with pytest.raises(ValidationError) as raised:
        Preset.model_validate(data)
    [found] = validation_problems(raised.value, model=Preset, data=data, where="file")
    refused = FlexStart.refused_kinds["queued"]
    assert (found.rule, found.path, found.why, found.source, found.remedy) == (
        "wrong-kind",
        "accelerator_pools.main.provisioning.kind",
        refused.why,
        refused.source,
        "write 'flex_start'",
    )


@pytest.mark.parametrize(
    ("path", "text"),
    [
        (("serving", "engine"), "serving.engine"),
        (("items", 2, "name"), "items[2].name"),
        (("overrides", "a.b"), 'overrides["a.b"]'),
        (("evidence", "precision:fp8"), "evidence.precision:fp8"),
        (("",), '[""]'),
        ((), ""),
    ],
)
def test_dotted(path: tuple[str | int, ...], text: str) -> None:
    """A key that is not a plain word is quoted, so that a path reads one way only."""
    assert dotted(path) == text


def test_nearest() -> None:
    """A close word is offered, a strange one is not."""
    known = ["context_tokens", "kv_cache", "wait"]
    assert nearest("contex_token", known) == "context_tokens"
    assert nearest("zzz", known) is None
    assert nearest("pipeline", ["beamline"]) == "beamline"
    assert nearest("pipeline", ["beamline"], cutoff=0.75) is None
