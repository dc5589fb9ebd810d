"""Golden files: a change of names, inputs, options or of the blocks' schema is seen and wanted."""

from __future__ import annotations

import json

import pytest
from pulumi.provider.experimental.analyzer import Analyzer

from tests.components.goldens import BLOCKS, FOLDER, goldens


@pytest.mark.parametrize("name", sorted(path.name for path in FOLDER.iterdir()))
def test_golden(name: str) -> None:
    """The file is what the components give now (rewrite with ``python -m tests.components.goldens``)."""
    assert (FOLDER / name).read_text() == goldens()[name]


def test_no_golden_is_missing() -> None:
    """Every preset has its files, and no file is left over."""
    assert {path.name for path in FOLDER.iterdir()} == set(goldens())


def test_every_property_of_the_schema_is_explained() -> None:
    """Whoever uses a block from another language reads what each input and output means."""
    found = Analyzer("beamline").analyze(list(BLOCKS))
    blocks = found["component_definitions"].values()
    properties = {
        f"{owner.name}.{key}": value.description
        for owner in (*blocks, *found["type_definitions"].values())
        for key, value in {**getattr(owner, "inputs", {}), **getattr(owner, "properties", {})}.items()
    }
    properties |= {f"{block.name}.{key}": value.description for block in blocks for key, value in block.outputs.items()}
    assert len(properties) > 60
    assert [name for name, text in properties.items() if not text] == []


def test_only_values_of_other_resources_may_be_unknown() -> None:
    """Topology is plain: whatever decides which resources exist, or what they are called, cannot be an output."""
    resources = json.loads((FOLDER / "schema.json").read_text())["resources"]
    may_be_unknown = {
        f"{token.rpartition(':')[2]}.{key}"
        for token, resource in resources.items()
        for key, value in resource["inputProperties"].items()
        if not value.get("plain")
    }
    assert may_be_unknown == {
        "AcceleratorNetworkRights.cluster",
        "AcceleratorNodePool.cluster",
        "AcceleratorNodePool.serviceAccount",
        "Cluster.network",
        "Cluster.podsRange",
        "Cluster.servicesRange",
        "Cluster.subnetwork",
        "MountedWeights.workloadPool",
        "SystemNodePool.cluster",
        "SystemNodePool.serviceAccount",
        "Weights.workloadPool",
    }
