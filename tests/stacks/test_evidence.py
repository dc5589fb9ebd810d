"""How features are known to work: per preset, fail-closed, about one composition."""

from __future__ import annotations

import pytest

from stacks.catalog_files import load_catalog
from stacks.evidence import Feature, Subject, feature_names, features, unaccepted, unused_acceptances
from stacks.preset_files import PRESETS_DIR, compose, preset_names
from stacks.spec import Preset
from stacks.yaml_files import read_yaml

WHERE = "stacks/Pulumi.g4.yaml"
ABOUT = Subject("nvidia-rtx-pro-6000", "beam", "vllm 0.33.0", "llm-d 0.9.0")
MEASURED = Feature("precision:fp8", "measured", "our runs", "2026-11-29", "")
UNKNOWN = Feature("precision:nvfp4", "unverified", "", "", "no evidence is recorded for this feature")


def _preset(name: str) -> Preset:
    return Preset.model_validate(compose(name, key="preset", where="")[0])


def _precision(preset: Preset) -> str:
    return load_catalog().models[preset.model.name].checkpoints[preset.model.checkpoint].precision


EXPECTED = {
    "g4-llmd": {
        "engine:vllm": "documented",
        "precision:fp8": "derived",
        "parallelism:tp8-ep": "derived",
        "router:llm-d": "documented",
        "gateway:gke-l7-rilb": "documented",
        "kv-cache:fp8": "derived",
        "kv-offload:host_dram": "derived",
    },
    "g4-llmd-multi": {
        "engine:vllm": "documented",
        "precision:fp8": "derived",
        "parallelism:tp8-ep": "derived",
        "router:llm-d": "documented",
        "gateway:gke-l7-rilb": "documented",
        "replicas:many": "documented",
        "kv-cache:fp8": "derived",
        "kv-offload:host_dram": "derived",
    },
    "g4-llmd-nvfp4": {
        "engine:vllm": "documented",
        "precision:nvfp4": "unverified",
        "parallelism:tp4": "derived",
        "router:llm-d": "documented",
        "gateway:gke-l7-rilb": "documented",
        "replicas:many": "documented",
        "kv-cache:fp8": "derived",
        "kv-offload:host_dram": "derived",
    },
    "small-l4": {
        "engine:vllm": "documented",
        "precision:bf16": "documented",
        "parallelism:tp1": "derived",
        "router:llm-d": "documented",
        "gateway:gke-l7-rilb": "documented",
    },
}


@pytest.mark.parametrize("name", EXPECTED)
def test_standing_of_the_shipped_presets(name: str) -> None:
    """What each preset claims, feature by feature: nothing is called measured, as nothing was."""
    preset = _preset(name)
    found = features(preset, _precision(preset), ABOUT, lambda _: ABOUT)
    assert {f.name: f.status for f in found} == EXPECTED[name]
    assert set(EXPECTED) == set(preset_names())


@pytest.mark.parametrize("name", EXPECTED)
def test_no_preset_speaks_of_what_it_does_not_have(name: str) -> None:
    """A line of evidence in a preset's own file is about a feature of its own composition."""
    preset = _preset(name)
    own = read_yaml(PRESETS_DIR / f"{name}.yaml").get("evidence", {})
    assert set(own) <= set(feature_names(preset, _precision(preset)))


def test_evidence_about_something_else_does_not_count() -> None:
    """Another GPU, model, engine or release: unverified, and the message says what the line was about."""
    preset = _preset("small-l4")
    other = Subject("nvidia-l4", "qwen3-4b", "vllm 0.33.0", "llm-d 0.9.0")
    found = features(preset, "bf16", other, lambda _: ABOUT)
    assert {f.status for f in found} == {"unverified"}
    assert found[0].note == (
        "the recorded evidence is about beam on nvidia-rtx-pro-6000 with vllm 0.33.0 and llm-d 0.9.0, "
        "not qwen3-4b on nvidia-l4 with vllm 0.33.0 and llm-d 0.9.0"
    )
    unknown = features(preset, "bf16", other, lambda _: None)
    assert "about a preset that is not complete by itself" in unknown[0].note


def test_acceptance() -> None:
    """Named: accepted. Not named: an error. Named for nothing or twice: a warning."""
    found = [MEASURED, UNKNOWN]
    assert unaccepted(found, ["precision:nvfp4"], WHERE) == []
    assert [(p.rule, p.severity) for p in unaccepted(found, ["precision:fp8"], WHERE)] == [
        ("unverified-feature", "error")
    ]
    assert unused_acceptances(found, ["precision:nvfp4"], WHERE) == []
    twice = unused_acceptances(found, ["precision:fp8", "precision:nvfp4", "precision:nvfp4"], WHERE)
    assert [(p.value, p.severity) for p in twice] == [("precision:nvfp4", "warning"), ("precision:fp8", "warning")]
