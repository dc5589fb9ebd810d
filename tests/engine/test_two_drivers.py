"""The in-process engine and the real one are asked for the same resources by the same program (design: two drivers)."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from beamline.engine import Graph, Invoke, Read, Resource, run_program
from tests.components.plans import CHECKOUT, PRESETS, config_of
from tests.engine.comparison import differences
from tests.engine.real_engine import RealPreview, real_graph

PROGRAMS = Path(__file__).with_name("programs")
STACK_FILE = Path(__file__).parent / "stacks" / "Pulumi.dev.yaml"

ADDED_BY_THE_REAL_ENGINE: Mapping[str, str] = {
    r"urn:pulumi:dev::beamline::pulumi:providers:gcp::default_[0-9_]+": (
        "a package whose resources name no provider gets a default one, which the program never registers"
    ),
}


@dataclasses.dataclass(frozen=True)
class Case:
    """A program and the configuration that it runs with."""

    program: Path
    config: Mapping[str, Any]

    def in_process(self) -> Graph:
        return run_program(self.program, project="beamline", stack="dev", config=self.config)

    def on_the_real_engine(self, folder: Path, pulumi: Path) -> RealPreview:
        file = folder / "Pulumi.dev.yaml"
        file.write_text(yaml.safe_dump({"config": dict(self.config)}))
        return real_graph(self.program, file, folder=folder / "project", pulumi=pulumi)


OWN_CONFIG = yaml.safe_load(STACK_FILE.read_text())["config"]
CASES: Mapping[str, Case] = {
    **{program: Case(PROGRAMS / program, OWN_CONFIG) for program in ("kit", "nested")},
    **{preset: Case(CHECKOUT, config_of(preset)) for preset in PRESETS},
}
"""Programs that use every feature of the protocol, and the kit's own program with every preset."""


@pytest.fixture(scope="module", params=CASES)
def drivers(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, tools: Callable[[str], Path]
) -> tuple[Graph, RealPreview]:
    """Run one program on both engines."""
    case = CASES[request.param]
    real = case.on_the_real_engine(tmp_path_factory.mktemp("real"), tools("pulumi"))
    return case.in_process(), real


@pytest.mark.sandbox
def test_both_engines_are_asked_for_the_same_resources(drivers: tuple[Graph, RealPreview]) -> None:
    """Every field of every registration, lookup and output is equal."""
    plan, real = drivers
    assert differences(plan, real.graph) == []


@pytest.mark.sandbox
def test_what_the_real_engine_adds_is_known(drivers: tuple[Graph, RealPreview]) -> None:
    """Beyond the program's own resources the real engine handles only what is listed with its reason."""
    _, real = drivers
    assert [urn for urn in real.added if not any(re.fullmatch(known, urn) for known in ADDED_BY_THE_REAL_ENGINE)] == []


ALTERED: Mapping[str, Any] = {
    "urn": "urn:pulumi:dev::beamline::other:index:Thing::other",
    "type": "other:index:Thing",
    "name": "other",
    "parent": "urn:pulumi:dev::beamline::other:index:Thing::parent",
    "inputs": {"location": "elsewhere"},
    "registered_outputs": {"endpoint": "elsewhere"},
    "custom": False,
    "dependencies": ("urn:pulumi:dev::beamline::other:index:Thing::dependency",),
    "property_dependencies": {"location": ("urn:pulumi:dev::beamline::other:index:Thing::dependency",)},
    "provider": "urn:pulumi:dev::beamline::pulumi:providers:other::other",
    "providers": {"other": "urn:pulumi:dev::beamline::pulumi:providers:other::other"},
    "protect": None,
    "ignore_changes": ("location",),
    "replace_on_changes": ("location",),
    "delete_before_replace": True,
    "deleted_with": "urn:pulumi:dev::beamline::other:index:Thing::owner",
    "retain_on_delete": True,
    "additional_secret_outputs": ("location",),
    "aliases": (),
    "custom_timeouts": {"create": "1m"},
    "import_id": "existing",
    "version": "0.0.1",
    "plugin_download_url": "https://plugins.example",
}


@pytest.fixture(scope="module")
def kit() -> Graph:
    return CASES["kit"].in_process()


@pytest.mark.parametrize("field", [field.name for field in dataclasses.fields(Resource)])
def test_altering_any_field_of_a_resource_is_seen(kit: Graph, field: str) -> None:
    """The comparison fails for each field of a resource by itself; a new field without a case here fails too."""
    index = next(i for i, resource in enumerate(kit.resources) if resource.name == "beam-gke")
    assert getattr(kit.resources[index], field) != ALTERED[field]
    altered = dataclasses.replace(kit.resources[index], **{field: ALTERED[field]})
    resources = (*kit.resources[:index], altered, *kit.resources[index + 1 :])
    assert differences(kit, dataclasses.replace(kit, resources=resources)) != []


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda kit: {"resources": kit.resources[1:]}, id="resource missing"),
        pytest.param(lambda kit: {"outputs": {**kit.outputs, "nodes": 3}}, id="output"),
        pytest.param(lambda _: {"reads": ()}, id="read missing"),
        pytest.param(lambda kit: {"reads": (dataclasses.replace(kit.reads[0], id="ns/other"),)}, id="read"),
        pytest.param(lambda _: {"invokes": (Invoke(token="gcp:compute/getZones:getZones"),)}, id="invoke"),
    ],
)
def test_altering_the_rest_of_a_graph_is_seen(kit: Graph, change: Callable[[Graph], dict[str, Any]]) -> None:
    assert differences(kit, dataclasses.replace(kit, **change(kit))) != []


def test_the_programs_use_every_compared_field(kit: Graph) -> None:
    """A field that no program sets would be equal for the wrong reason."""
    records = [*kit.resources, *CASES["nested"].in_process().resources]
    empty = {
        field.name
        for field in dataclasses.fields(Resource)
        if all(getattr(record, field.name) in (None, "", (), {}, field.default) for record in records)
    }
    # An import makes the real engine read the cloud, and the pinned SDKs set no download address.
    assert empty == {"import_id", "plugin_download_url"}
    assert [type(read) for read in kit.reads] == [Read]
