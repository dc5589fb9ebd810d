"""The catalog: every file is read, every row is named after its contents, figures agree with the facts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from stacks.catalog_files import CATALOG_DIR, ROW_KINDS, load_catalog
from stacks.yaml_files import read_yaml

CATALOG = load_catalog()
FACTS = read_yaml(Path(__file__).parent / "catalog_facts.yaml")


def test_every_file_is_a_row() -> None:
    """No file lies beside the folders that are read, and none is lost."""
    read = {f"{folder}/{name}.yaml" for folder in ROW_KINDS for name in getattr(CATALOG, folder)}
    files = {str(path.relative_to(CATALOG_DIR)) for path in CATALOG_DIR.rglob("*") if path.is_file()}
    assert files == read | {"helper-images.yaml"}


@pytest.mark.parametrize("name", FACTS["hardware"])
def test_hardware_agrees_with_the_facts(name: str) -> None:
    """Figures of the machine types as their vendor states them, typed a second time."""
    row = CATALOG.hardware[name]
    found = {
        "vcpus": row.machine.vcpus,
        "memory_gb": row.machine.memory_gb,
        "gpus": row.gpu.count,
        "ssds": row.local_ssd.count,
        "network_gbps": row.machine.network_gbps,
        "nccl_p2p_level": row.gpu.nccl_p2p_level,
        "usd_per_hour": row.price.usd_per_hour,
    }
    assert found == FACTS["hardware"][name]


def test_all_hardware_is_in_the_facts() -> None:
    """A new machine type gets its second reading."""
    assert set(CATALOG.hardware) == set(FACTS["hardware"])


def test_one_card_is_the_same_on_every_machine() -> None:
    """Figures of a GPU do not depend on how many of them a machine has."""
    per_card: dict[str, set[tuple[object, ...]]] = {}
    for row in CATALOG.hardware.values():
        gpu = row.gpu
        figures = (gpu.model, gpu.memory_gb_per_gpu, gpu.memory_mib_per_gpu, gpu.memory_bandwidth_gb_per_s)
        features = (gpu.compute_capability, gpu.fp8_tensor_cores, gpu.fp4_tensor_cores, row.local_ssd.size_gib)
        per_card.setdefault(gpu.accelerator_type, set()).add(figures + features)
    assert {card: len(figures) for card, figures in per_card.items()} == dict.fromkeys(per_card, 1)


@pytest.mark.parametrize("name", FACTS["models"])
def test_models_agree_with_the_facts(name: str) -> None:
    """Architecture, weights and parallel sizes, typed a second time."""
    facts, row = FACTS["models"][name], CATALOG.models[name]
    architecture = row.architecture.model_dump(exclude={"source", "as_of"})
    assert architecture == facts["architecture"]
    assert {key: c.weights_bytes for key, c in row.checkpoints.items()} == facts["weights_bytes"]
    assert {key: s.tensor_parallel for key, s in row.engines.items()} == facts["tensor_parallel"]


def test_every_figure_has_a_source() -> None:
    """A section that holds figures or names of its own carries source and date; others only group such sections."""
    unsourced: dict[str, list[str]] = {}
    for model, _ in ROW_KINDS.values():
        schema = model.model_json_schema()
        for name, section in {model.__name__: schema, **schema["$defs"]}.items():
            own = [key for key, value in section["properties"].items() if "$ref" not in json.dumps(value)]
            if own and not {"source", "as_of"} <= set(section["required"]):
                unsourced[name] = own
    assert unsourced == {"HardwareRow": ["machine_type"], "SystemMachineRow": ["machine_type"]}


def _sources(data: Any) -> list[str]:
    if isinstance(data, dict):
        return [v for k, v in data.items() if k == "source"] + [s for v in data.values() for s in _sources(v)]
    return [s for item in data for s in _sources(item)] if isinstance(data, list) else []


def test_assumptions_say_so() -> None:
    """A source is a page, a package, an issue or a plain word that the figure is ours."""
    told = (
        "docs",
        "http",
        "wheel",
        "card",
        "release",
        "issue",
        "#",
        "dstack",
        "vLLM",
        "llm-d",
        "SGLang",
        "config.json",
    )
    ours = ("Assumed", "Derived", "Unknown", "Sum of")
    vague = [
        source
        for path in CATALOG_DIR.rglob("*.yaml")
        for source in _sources(read_yaml(path))
        if not (any(word in source for word in told) or source.startswith(ours))
    ]
    assert vague == []


def test_the_catalog_is_read_once() -> None:
    """A second stack costs no second reading."""
    assert load_catalog() is CATALOG
