"""The table of properties: names that exist, nothing said twice, nothing of the kit's left out, nobody contradicted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, get_args

import pytest
import yaml
from pulumi import _types

from beamline.sandbox import cloud
from components.sdk import arguments_class, resource_class
from guard.table import PropertiesRow, longest, table
from tests.components.plans import PRESETS, plan

TYPES = table().types
SIMULATED = yaml.safe_load((Path(cloud.__file__).parent / "properties.yaml").read_text())


def _paths(row: PropertiesRow) -> list[str]:
    lists = (row.replace, row.keep, row.when, row.in_place, row.defaults, row.unordered, row.by_name, row.inside)
    return sorted({*(path for paths in lists for path in paths), *filter(None, row.instead)})


def _models(annotation: Any) -> Iterator[Any]:
    """Yield the SDK's input types that an annotation may hold, through unions, lists and awaitables."""
    if isinstance(annotation, type) and _types.is_input_type(annotation):
        yield annotation
    for inner in get_args(annotation):
        yield from _models(inner)


def _exists(model: Any, path: str) -> bool:
    first, _, rest = path.partition(".")
    properties = _types.input_type_types(model)
    if first not in properties:
        return False
    inner = list(_models(properties[first]))
    return not rest or not inner or any(_exists(one, rest) for one in inner)


@pytest.mark.parametrize("name", TYPES)
def test_every_property_is_one_of_the_sdk(name: str) -> None:
    """A misspelt path would never match, and what it was to refuse would count as unknown."""
    model = arguments_class(resource_class(name))
    missing = {path for path in _paths(TYPES[name]) if not _exists(model, path)}
    assert missing == set()


@pytest.mark.parametrize("name", TYPES)
def test_a_property_is_in_one_list_only(name: str) -> None:
    row = TYPES[name]
    listed = _judged(row)
    assert sorted(listed) == sorted(set(listed))
    assert set(row.inside.values()) <= set(TYPES)
    assert set(row.instead) >= {""}
    assert all(longest(path, row.replace) for path in row.keep if path not in _BLOCKS_THAT_ARE_KEPT)


_BLOCKS_THAT_ARE_KEPT = {"masterAuth", "privateClusterConfig"}
"""Google fills in more of them than what it cannot change."""


@pytest.mark.parametrize("preset", PRESETS)
def test_every_property_that_the_kit_sets_is_in_the_table(preset: str) -> None:
    """Only then is a property noticed that the kit stops setting: inside an update, recorded inputs are not known."""
    unlisted = [
        f"{resource.type} {path}"
        for resource in plan(preset).resources
        if resource.type in TYPES
        for path in _leaves(resource.inputs, "")
        if not longest(path, _judged(TYPES[resource.type]))
    ]
    assert unlisted == []


def _judged(row: PropertiesRow) -> list[str]:
    return [*row.replace, *row.in_place, *row.when]


def _leaves(value: Any, path: str) -> Iterator[str]:
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from _leaves(item, f"{path}.{key}" if path else key)
    elif isinstance(value, list):
        for item in value:
            yield from _leaves(item, path)
    else:
        yield path


@pytest.mark.parametrize("name", sorted(set(TYPES) & set(SIMULATED)))
def test_the_simulated_cloud_says_the_same(name: str) -> None:
    """Two tables, read from the source apart; where they differ, one of them is wrong or knows less."""
    row, simulated = TYPES[name], set(SIMULATED[name]["replace"])
    only_theirs = {path for path in simulated if not _replaces(row, path)}
    only_ours = {path for path in row.replace if not longest(path, simulated)}
    assert only_theirs == set()
    assert only_ours == set(MORE_THAN_THE_SIMULATED_CLOUD.get(name, ()))


def _replaces(row: PropertiesRow, path: str) -> bool:
    """Tell whether the table replaces for this path, or for parts of it."""
    return bool(longest(path, row.replace)) or any(one.startswith(f"{path}.") for one in row.replace)


MORE_THAN_THE_SIMULATED_CLOUD: Mapping[str, Mapping[str, str]] = {
    "gcp:container/cluster:Cluster": {
        "ipAllocationPolicy": "it knows the parts there are; another one counts as fixed"
    },
    "gcp:container/nodePool:NodePool": {"nodeConfig.ephemeralStorageConfig": "an older name for local SSDs"},
}
"""What only the guard refuses, with the reason; what only the simulated cloud replaces would get through."""
