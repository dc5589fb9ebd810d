"""Presets and overrides are laid over one another by one rule, and it is known who set what."""

from __future__ import annotations

from typing import Any

import pytest

from stacks.merging import Origins, difference, merge, origin_of, without

BASE = {
    "pool": {"nodes": 1, "kind": "spot"},
    "offload": {"kind": "host_dram", "gib": 4},
    "speculation": None,
    "evidence": {"a:b": {"status": "derived", "source": "x"}},
}


def _merged(over: dict[str, Any]) -> tuple[dict[str, Any], Origins]:
    origins: Origins = {}
    base = merge({}, BASE, origins, "preset")
    return merge(base, over, origins, "stack"), origins | {(): "preset"}


CASES: dict[str, tuple[dict[str, Any], dict[str, Any], dict[tuple[str, ...], str]]] = {
    "key by key": (
        {"pool": {"nodes": 2}},
        {"pool": {"nodes": 2, "kind": "spot"}},
        {("pool", "nodes"): "stack", ("pool", "kind"): "preset", ("pool",): "preset"},
    ),
    "another kind replaces the section and forgets its keys": (
        {"offload": {"kind": "none"}},
        {"offload": {"kind": "none"}},
        {("offload",): "stack", ("offload", "gib"): "stack"},
    ),
    "the same kind does not": (
        {"offload": {"kind": "host_dram"}},
        {"offload": {"kind": "host_dram", "gib": 4}},
        {("offload", "gib"): "preset", ("offload", "kind"): "stack"},
    ),
    "a scalar replaces a section": (
        {"pool": 5},
        {"pool": 5},
        {("pool",): "stack", ("pool", "nodes"): "stack"},
    ),
    "a section replaces nothing": (
        {"speculation": {"tokens": 7}},
        {"speculation": {"tokens": 7}},
        {("speculation",): "stack", ("speculation", "weights"): "stack"},
    ),
    "an evidence line is replaced whole": (
        {"evidence": {"a:b": {"status": "measured"}}},
        {"evidence": {"a:b": {"status": "measured"}}},
        {("evidence", "a:b"): "stack", ("evidence", "a:b", "source"): "stack", ("evidence",): "preset"},
    ),
    "an empty section changes nothing": ({"pool": {}}, {}, {("pool", "nodes"): "preset"}),
    "what nobody set belongs to the preset": ({}, {}, {("network", "mtu"): "preset"}),
}


@pytest.mark.parametrize("name", CASES)
def test_merge(name: str) -> None:
    """The result and the origin of each path in question."""
    over, changed, asked = CASES[name]
    merged, origins = _merged(over)
    assert merged == BASE | changed
    assert {path: origin_of(path, origins) for path in asked} == asked


@pytest.mark.parametrize("name", CASES)
def test_difference(name: str) -> None:
    """What a merge changed, laid over again, gives the same; where nothing changed, there is nothing to lay over."""
    wanted = merge(BASE, CASES[name][0], {}, "stack")
    assert merge(BASE, difference(BASE, wanted), {}, "stack") == wanted
    assert difference(wanted, wanted) == {}


def test_difference_is_the_least() -> None:
    """A key that stays is not said; a section of another kind, or a line of evidence, is said whole."""
    over = {"pool": {"nodes": 2, "kind": "spot"}, "offload": {"kind": "local_ssd", "gib": 4}, "new": {"a": 1}}
    least = {"pool": {"nodes": 2}, "offload": {"kind": "local_ssd", "gib": 4}, "new": {"a": 1}}
    assert difference(BASE, merge(BASE, over, {}, "stack")) == least


def test_inputs_stay_as_they_are() -> None:
    """A merge changes neither side: presets are read once and used often."""
    base: dict[str, Any] = {"a": {"b": 1}}
    over: dict[str, Any] = {"a": {"c": {"d": 2}}}
    merge(base, over, {}, "x")["a"]["c"]["d"] = 3
    assert (base, over) == ({"a": {"b": 1}}, {"a": {"c": {"d": 2}}})


@pytest.mark.parametrize(
    ("path", "left"),
    [
        (("a", "b"), {"a": {"c": 2}, "x.y": 3}),
        (("a",), {"x.y": 3}),
        (("x.y",), {"a": {"b": 1, "c": 2}}),
        (("a", "b", "c"), {"a": {"b": 1, "c": 2}, "x.y": 3}),
        (("z",), {"a": {"b": 1, "c": 2}, "x.y": 3}),
        ((), {"a": {"b": 1, "c": 2}, "x.y": 3}),
    ],
)
def test_without(path: tuple[str, ...], left: dict[str, Any]) -> None:
    """One key less, whatever its depth and spelling; nothing when it is not there."""
    assert without({"a": {"b": 1, "c": 2}, "x.y": 3}, path) == left
