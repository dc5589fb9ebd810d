"""The catalog: every file is read, every row is named after its contents, figures agree with the facts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from stacks.catalog_files import CATALOG_DIR, ROW_KINDS, load_catalog
from stacks.engine_flags import known_versions
from stacks.yaml_files import read_yaml

CATALOG = load_catalog()
FACTS = read_yaml(Path(__file__).parent / "catalog_facts.yaml")


def test_every_file_is_a_row() -> None:
    """No file lies beside the folders that are read, and none is lost."""
    read = {f"{folder}/{name}.yaml" for folder in ROW_KINDS for name in getattr(CATALOG, folder)}
    read |= {
        str(path.relative_to(CATALOG_DIR))
        for kind in ("vllm", "sglang", "dynamo")
        for path in known_versions(kind).values()
    }
    files = {str(path.relative_to(CATALOG_DIR)) for path in CATALOG_DIR.rglob("*") if path.is_file()}
    singles = {"autoscaling", "hardware-columns", "helper-charts", "helper-images", "weight-storage"}
    assert files == read | {f"{name}.yaml" for name in singles}


@pytest.mark.parametrize("name", FACTS["hardware"])
def test_hardware_agrees_with_the_facts(name: str) -> None:
    """Figures of the machine types as their vendor states them, typed a second time."""
    row = CATALOG.hardware[name]
    found = {
        "vcpus": row.machine.vcpus,
        "memory_gb": row.machine.memory_gb,
        "gpus": row.gpu.count,
        "memory_gb_per_gpu": row.gpu.memory_gb_per_gpu,
        "ssds": row.local_ssd.count,
        "ssd_gib": row.local_ssd.size_gib,
        "network_gbps": row.machine.network_gbps,
        "nccl_p2p_level": row.gpu.nccl_p2p_level,
        "usd_per_hour": row.price.usd_per_hour,
        "rdma": row.network.rdma_interfaces,
        "min_driver": row.gpu.min_driver,
        "min_cuda": row.gpu.min_cuda,
    }
    assert found == FACTS["hardware"][name]


def test_all_hardware_is_in_the_facts() -> None:
    """A new machine type gets its second reading."""
    assert set(CATALOG.hardware) == set(FACTS["hardware"])


@pytest.mark.parametrize("name", [name for name, row in CATALOG.hardware.items() if row.fabric.placement])
def test_metal_agrees_with_the_facts(name: str) -> None:
    """What GKE asks for on nodes of one NVLink domain, typed a second time."""
    row, gke = CATALOG.hardware[name], CATALOG.hardware[name].gke
    found = row.fabric.model_dump(exclude={"placement", "source", "as_of"}) | {
        "arch": row.machine.arch,
        "compute_capability": row.gpu.compute_capability,
        "topology": row.fabric.placement and row.fabric.placement.accelerator_topology,
        "floors": gke.min_version_by_minor,
        "known_bad_versions": list(gke.known_bad_versions),
        "provisioning": gke.provisioning,
        "reservation_scope": gke.reservation_scope,
        "boot_disk_types": gke.boot_disk_types,
        "shielded_nodes": gke.shielded_nodes,
        "gvnic": row.network.gvnic,
        "taints": gke.taints,
    }
    assert found == FACTS["metal"][name]


def test_releases_agree_with_the_facts() -> None:
    """Which engines go with which release, and that a Dynamo release is pinned by its own version throughout."""
    assert {name: row.engines for name, row in CATALOG.releases.items()} == FACTS["releases"]
    for row in CATALOG.dynamo_releases.values():
        images = [runtime.image for runtime in row.runtimes.values()] + [i.image for i in row.platform.images]
        assert {row.platform.version, *(image.tag for image in images)} == {row.version}


def test_transports_agree_with_the_facts() -> None:
    """Claims, pages and KV backends of each transport, typed a second time."""
    assert {
        name: {key: getattr(row, key) for key in FACTS["transports"][name]} for name, row in CATALOG.transports.items()
    } == FACTS["transports"]


def test_charts_agree_with_the_facts() -> None:
    """Where charts come from, and in which version."""
    helpers = CATALOG.helper_charts
    rows = [helpers.dra_driver, helpers.leader_worker_set, CATALOG.dynamo_releases["dynamo-1.7.0"].platform]
    assert {
        row.name: {"version": row.version, "from": f"{row.registry}/{row.repository}", "protocol": row.protocol}
        for row in rows
    } == FACTS["charts"]


def test_one_card_is_the_same_on_every_machine() -> None:
    """Figures of a GPU do not depend on how many of them a machine has."""
    per_card: dict[str, set[tuple[object, ...]]] = {}
    for row in CATALOG.hardware.values():
        gpu = row.gpu
        figures = (gpu.model, gpu.memory_gb_per_gpu, gpu.memory_mib_per_gpu, gpu.memory_bandwidth_gb_per_s)
        figures += (gpu.min_driver, gpu.min_cuda)
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
    assert {key: s.first_version for key, s in row.engines.items()} == facts["first_version"]


def test_every_figure_has_a_source() -> None:
    """A section that holds figures or names of its own carries source and date; others only group such sections."""
    unsourced: dict[str, list[str]] = {}
    for model, _ in ROW_KINDS.values():
        schema = model.model_json_schema()
        for name, section in {model.__name__: schema, **schema.get("$defs", {})}.items():
            own = [key for key, value in section["properties"].items() if "$ref" not in json.dumps(value)]
            if own and not {"source", "as_of"} <= set(section["required"]):
                unsourced[name] = own
    assert unsourced == {
        "HardwareRow": ["machine_type"],
        "SystemMachineRow": ["machine_type"],
        "NicGroup": ["count", "gbps", "purpose", "driver"],
        "ChartImage": ["repository_value", "tag_value"],
        "Owned": ["arguments", "argument_prefixes", "environment", "environment_prefixes"],
        "ClientRow": ["name", "title", "version"],
        "Constant": ["path", "value", "why"],
        "Deadline": ["path", "unit", "covers"],
        "TokenCommand": ["path", "arguments", "refresh_ms"],
        "TokenVariable": ["name", "reference"],
        "Refused": ["why", "values", "taken", "taken_with", "only_with", "unless_variable"],
        "RewrittenPair": ["defaults", "values", "becomes"],
    }


def _sources(data: Any) -> list[str]:
    if isinstance(data, dict):
        return [v for k, v in data.items() if k == "source"] + [s for v in data.values() for s in _sources(v)]
    return [s for item in data for s in _sources(item)] if isinstance(data, list) else []


def test_assumptions_say_so() -> None:
    """A source is a page, a package, an issue, somebody's log or a plain word that the figure is ours."""
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
        "kubernetes-sigs/",
        "GKE",
        "container build files",
        "README",
        "container-engine-accelerators",
        "Drafter model",
        "run against a server",
    )
    ours = ("Assumed", "Derived", "Unknown", "Sum of", "General knowledge, not read")
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
