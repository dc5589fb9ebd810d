"""Hardware that nobody wrote code for: two files of data, and a stack on it plans, is checked, and gets its nodes."""

from __future__ import annotations

import dataclasses
import importlib
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from beamline.checks import graph_problems
from beamline.engine import Graph, run_program
from beamline.sandbox.cloud import machines
from beamline.sandbox.cloud.kinds.node_configs import node_config_problems
from beamline.sandbox.cloud.machines import MACHINES, add_machines, machine
from beamline.sandbox.cloud.operations import Operations
from beamline.sandbox.cloud.simulation import Simulation
from policies.objects import plain
from stacks import Problem, StackSpec, resolve
from stacks.catalog_files import _read_row, load_catalog
from stacks.rows import HardwareRow
from stacks.settings import pulumi_config
from tests.components.plans import CHECKOUT, STACK, config_of

from .fake_api import FakeApi
from .samples import POOL, REGION, build, inputs, token, upto

FOLDER = Path(__file__).parent / "unknown_hardware"
NAME = "a5-future-8g"
CONFIG = config_of(
    "g4-llmd-nvfp4",
    overrides={
        "accelerator_pools": {"main": {"machine_type": NAME, "provisioning": {"kind": "spot"}}},
        "serving": {"kv_cache": {"offload": {"kind": "none"}}},
    },
    accept_unverified=[
        "engine:vllm",
        "precision:nvfp4",
        "parallelism:tp4",
        "replicas:many",
        "router:llm-d",
        "routing:prefix_approximate",
        "gateway:gke-l7-rilb",
        "kv-cache:fp8",
        "provisioning:spot",
    ],
)


@dataclasses.dataclass(frozen=True)
class Planned:
    """A stack on the unknown machine: its numbers, its graph, and what the checks of the graph say."""

    spec: StackSpec
    graph: Graph
    problems: list[Problem]

    def pool(self) -> dict[str, Any]:
        """The accelerator pool that the kit asks for, in the cluster of the samples instead of the stack's."""
        (found,) = [r for r in self.graph.resources if r.type == POOL and r.name.endswith("-main-pool")]
        sample = inputs("gpus")
        own = {key: sample[key] for key in ("cluster", "version")}
        pool = {**{key: plain(value) for key, value in found.inputs.items()}, **own, "location": REGION}
        pool["nodeConfig"]["serviceAccount"] = sample["nodeConfig"]["serviceAccount"]
        return {key: value for key, value in pool.items() if key != "project"}


def _row() -> HardwareRow:
    """The row, read as any other."""
    problems: list[Problem] = []
    row = _read_row(FOLDER / f"{NAME}.yaml", HardwareRow, f"stacks/catalog/hardware/{NAME}.yaml", problems)
    assert problems == []
    assert row is not None
    return row


@pytest.fixture(scope="module")
def planned() -> Planned:
    """Plan with the row in the catalog of whoever asks."""
    whole = load_catalog()
    catalog = dataclasses.replace(whole, hardware={**whole.hardware, NAME: _row()})
    with pytest.MonkeyPatch.context() as patch:
        for module in ("stacks.resolve", "policies.pools", "policies.rules.fabric"):
            patch.setattr(importlib.import_module(module), "load_catalog", lambda *_: catalog)
        spec = resolve(STACK, pulumi_config(CONFIG), where="stacks/Pulumi.dev.yaml", applying=False)
        graph = run_program(CHECKOUT, project="beamline", stack=STACK, config=CONFIG)
        return Planned(spec, graph, graph_problems(graph, spec.preset.cluster.version))


@pytest.fixture
def _sold(simulation: Simulation, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The simulated cloud of one sandbox has the machines of a file in its folder."""
    monkeypatch.setattr(machines, "_tables", list(machines._tables))
    shutil.copy(FOLDER / MACHINES, simulation.folder / MACHINES)
    add_machines(simulation.folder)
    yield
    machines._data.cache_clear()


def test_its_numbers_are_derived_from_its_row(planned: Planned) -> None:
    spec = planned.spec
    assert {p.severity for p in spec.problems} <= {"note"}
    assert spec.derived.local_ssd_gib_per_node == 18_000
    assert spec.derived.min_driver == "600"
    assert spec.derived.usd_per_hour == 40.0 * spec.preset.accelerator_pools["main"].nodes
    assert (spec.derived.usd_per_hour_one_year, spec.derived.usd_per_hour_three_years) == (None, None)


def test_its_graph_passes_every_check(planned: Planned) -> None:
    assert [p for p in planned.problems if p.severity != "note"] == []


def test_the_cloud_does_not_know_it_by_itself(planned: Planned) -> None:
    config = planned.pool()["nodeConfig"]
    assert machine(NAME) is None
    assert [p.path for p in node_config_problems(config, ["us-central1-b"])] == ["machineType"]


@pytest.mark.usefixtures("_sold")
def test_its_pool_is_created_with_its_nodes(planned: Planned, cloud: Operations, api: FakeApi) -> None:
    build(cloud, *upto("cluster"), "cluster", "system")
    cloud.create(token("network rights"), inputs("network rights"))
    pool = planned.pool()
    assert list(node_config_problems(pool["nodeConfig"], pool["nodeLocations"])) == []
    cloud.create(POOL, pool)
    made = [o for o in api.objects.values() if o["kind"] == "Node"]
    made = [n for n in made if n["metadata"]["labels"]["cloud.google.com/gke-nodepool"] == pool["name"]]
    capacity = json.loads(made[0]["metadata"]["annotations"]["sandbox.beamline.dev/capacity"])
    labels = made[0]["metadata"]["labels"]
    assert len(made) == pool["nodeCount"]
    assert (capacity["cpu"], capacity["nvidia.com/gpu"]) == ("256", "8")
    assert (labels["kubernetes.io/arch"], labels["cloud.google.com/gke-accelerator"]) == ("arm64", "nvidia-future")
    assert {taint["key"] for taint in made[0]["spec"]["taints"]} == {"nvidia.com/gpu", "kubernetes.io/arch"}


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("families: {g4: {boot_disks: [pd-ssd], boot_s: 1, spot: true}}\nmachines: {}", "g4 known already"),
        ("families: {}", "machines"),
        ("families: {x: {boot_disk: [pd-ssd]}}\nmachines: {}", "boot_disk"),
        ("- x", "indices"),
    ],
)
def test_a_file_that_says_nothing_clear_is_refused(
    text: str, says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(machines, "_tables", list(machines._tables))
    (tmp_path / MACHINES).write_text(text)
    with pytest.raises(ValueError, match=says):
        add_machines(tmp_path)
    assert machine("g4-standard-384") is not None


def test_without_a_file_nothing_is_added(tmp_path: Path) -> None:
    known = list(machines._tables)
    add_machines(tmp_path)
    assert machines._tables == known
