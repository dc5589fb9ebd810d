"""What reviewers see when components change: names, inputs and options of resources, and the schema of the blocks.

    python -m tests.components.goldens

rewrites the files. A changed URN means that Pulumi replaces the resource in every existing stack.
"""

from __future__ import annotations

import json
from pathlib import Path

import yaml
from pulumi.provider.experimental.analyzer import Analyzer
from pulumi.provider.experimental.schema import generate_schema

from beamline.engine import Resource
from components.accelerator_networks import AcceleratorNetworkRights
from components.accelerator_node_pool import AcceleratorNodePool
from components.cluster import Cluster
from components.existing_cluster import ExistingCluster
from components.existing_network import ExistingNetwork
from components.fabric import Fabric
from components.gateway import Gateway
from components.monitoring import Monitoring
from components.mounted_weights import MountedWeights
from components.network import Network
from components.serving import DynamoServing, LlmdServing
from components.system_node_pool import SystemNodePool
from components.weights import Weights
from tests.components.plans import PRESETS, plan

FOLDER = Path(__file__).with_name("golden")
BLOCKS = (
    Network,
    ExistingNetwork,
    Cluster,
    ExistingCluster,
    SystemNodePool,
    AcceleratorNetworkRights,
    AcceleratorNodePool,
    Fabric,
    Weights,
    MountedWeights,
    LlmdServing,
    DynamoServing,
    Gateway,
    Monitoring,
)
OPTIONS = ("protect", "ignore_changes", "delete_before_replace", "custom_timeouts")


def goldens() -> dict[str, str]:
    """Return file texts by file name."""
    urns = {f"urns-{preset}.txt": _urns(preset) for preset in PRESETS}
    google = {f"google-{preset}.yaml": _google(preset) for preset in ("a4x-max-dynamo", "g4-llmd", "small-l4")}
    return {"schema.json": schema(), **urns, **google}


def schema() -> str:
    """The schema that Pulumi infers for the building blocks, as other languages would get it."""
    found = Analyzer("beamline").analyze(list(BLOCKS))
    spec = generate_schema("beamline", "0.0.0", None, found["component_definitions"], found["type_definitions"], [])
    return json.dumps(spec.to_json(), indent=1, sort_keys=True) + "\n"


def _urns(preset: str) -> str:
    return "".join(f"{resource.urn}\n" for resource in plan(preset).resources)


def _google(preset: str) -> str:
    """Everything that Google is asked for: resources by name, with their options."""
    found = {r.name: _described(r) for r in plan(preset).resources if r.type.startswith("gcp:")}
    return yaml.safe_dump(found, sort_keys=True, width=120)


def _described(resource: Resource) -> dict[str, object]:
    record = resource.to_json()
    options = {name: record[name] for name in OPTIONS if record[name]}
    return {"type": resource.type, "inputs": record["inputs"], **options}


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for name, text in goldens().items():
        (FOLDER / name).write_text(text)
