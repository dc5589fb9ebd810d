"""How features are known to work: per preset, fail-closed, about one composition."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from stacks import ProblemsFound, StackSpec
from stacks.catalog_files import load_catalog
from stacks.derive import derive
from stacks.evidence import Feature, Subject, feature_names, features, unaccepted, unused_acceptances
from stacks.preset_files import PRESETS_DIR, compose
from stacks.row_lookup import look_up
from stacks.spec import Preset
from stacks.yaml_files import read_yaml
from tests.shipped import BESIDE_LADDERS, SHIPPED
from tests.stacks.conftest import Stack

WHERE = "stacks/Pulumi.g4.yaml"
ABOUT = Subject("nvidia-rtx-pro-6000", "beam", "vllm 0.33.0", "llm-d 0.9.0")
MEASURED = Feature("precision:fp8", "measured", "our runs", "2026-11-29", "")
UNKNOWN = Feature("precision:nvfp4", "unverified", "", "", "no evidence is recorded for this feature")


def _preset(name: str) -> Preset:
    return Preset.model_validate(compose(name, key="preset", where="")[0])


def _names(preset: Preset) -> list[str]:
    """Features of a preset, by the rows it names."""
    rows = look_up(preset, load_catalog(), [])
    assert rows is not None
    return feature_names(preset, rows.checkpoint.precision, derive(preset, rows))


def _features(preset: Preset, subject: Subject, subject_of: Callable[[str], Subject | None]) -> list[Feature]:
    rows = look_up(preset, load_catalog(), [])
    assert rows is not None
    return features(preset, rows.checkpoint.precision, derive(preset, rows), subject, subject_of)


EXPECTED = {
    "g4-llmd": {
        "engine:vllm": "documented",
        "precision:fp8": "derived",
        "parallelism:tp8-ep": "derived",
        "router:llm-d": "documented",
        "routing:prefix_approximate": "documented",
        "gateway:gke-l7-rilb": "documented",
        "kv-cache:fp8": "derived",
        "kv-offload:host_dram": "derived",
    },
    "g4-llmd-multi": {
        "engine:vllm": "documented",
        "precision:fp8": "derived",
        "parallelism:tp8-ep": "derived",
        "router:llm-d": "documented",
        "routing:prefix_approximate": "documented",
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
        "routing:prefix_approximate": "documented",
        "gateway:gke-l7-rilb": "documented",
        "replicas:many": "documented",
        "kv-cache:fp8": "derived",
        "kv-offload:host_dram": "derived",
    },
    "a4x-max-dynamo": {
        "engine:sglang": "documented",
        "precision:nvfp4": "documented",
        "parallelism:tp4": "documented",
        "router:dynamo": "documented",
        "routing:prefix_events": "documented",
        "gateway:gke-l7-rilb": "documented",
        "replicas:many": "documented",
        "disaggregation:prefill_decode": "derived",
        "transport:nvlink": "documented",
        "kv-pool:swa_0.1": "derived",
        "kv-cache:fp8": "derived",
        "kv-offload:local_ssd": "derived",
    },
    "a4x-max-dynamo-bf16": {
        "engine:sglang": "documented",
        "precision:bf16": "documented",
        "parallelism:tp8-nodes2": "documented",
        "router:dynamo": "documented",
        "routing:prefix_events": "documented",
        "gateway:gke-l7-rilb": "documented",
        "replicas:many": "documented",
        "transport:nvlink": "documented",
        "kv-pool:swa_0.1": "derived",
        "kv-cache:fp8": "derived",
    },
    "a4x-max-llmd": {
        "engine:vllm": "documented",
        "precision:bf16": "documented",
        "parallelism:tp8-nodes2": "derived",
        "router:llm-d": "documented",
        "routing:prefix_approximate": "documented",
        "gateway:gke-l7-rilb": "documented",
        "replicas:many": "documented",
        "transport:nvlink": "documented",
        "kv-cache:fp8": "derived",
    },
    "g4-dynamo": {
        "engine:vllm": "documented",
        "precision:fp8": "derived",
        "parallelism:tp8-ep": "derived",
        "router:dynamo": "documented",
        "routing:prefix_events": "documented",
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
        "routing:prefix_approximate": "documented",
        "gateway:gke-l7-rilb": "documented",
    },
}


@pytest.mark.parametrize("name", EXPECTED)
def test_standing_of_the_shipped_presets(name: str) -> None:
    """What each preset claims, feature by feature: nothing is called measured, as nothing was."""
    preset = _preset(name)
    found = _features(preset, ABOUT, lambda _: ABOUT)
    assert {f.name: f.status for f in found} == EXPECTED[name]
    assert set(EXPECTED) == set(BESIDE_LADDERS)


@pytest.mark.parametrize("name", SHIPPED)
def test_no_preset_speaks_of_what_it_does_not_have(name: str) -> None:
    """A line of evidence in a preset's own file is about a feature of its own composition."""
    preset = _preset(name)
    own = read_yaml(PRESETS_DIR / f"{name}.yaml").get("evidence", {})
    assert set(own) <= set(_names(preset))


def test_evidence_about_something_else_does_not_count() -> None:
    """Another GPU, model, engine or release: unverified, and the message says what the line was about."""
    preset = _preset("small-l4")
    other = Subject("nvidia-l4", "qwen3-4b", "vllm 0.33.0", "llm-d 0.9.0")
    found = _features(preset, other, lambda _: ABOUT)
    assert {f.status for f in found} == {"unverified"}
    assert found[0].note == (
        "the recorded evidence is about beam on nvidia-rtx-pro-6000 with vllm 0.33.0 and llm-d 0.9.0, "
        "not qwen3-4b on nvidia-l4 with vllm 0.33.0 and llm-d 0.9.0"
    )
    unknown = _features(preset, other, lambda _: None)
    assert "about a preset that is not complete by itself" in unknown[0].note


SECOND_SHAPE: dict[str, tuple[dict[str, Any], set[str]]] = {
    "prefill apart from decode": (
        {"shape": {"prefill_replicas": 2, "decode_replicas": 6}},
        set(),
    ),
    "together again, and nothing to transport": (
        {
            "shape": {"kind": "aggregated", "replicas": 8, "tensor_parallel": 4, "expert_parallel": False},
            "transport": None,
        },
        {"disaggregation:prefill_decode", "transport:nvlink"},
    ),
    "another transport": ({"transport": {"name": "nvlink+rdma"}}, {"transport:nvlink"}),
}


@pytest.mark.parametrize("case", SECOND_SHAPE)
def test_features_follow_roles_and_transport(stack: Stack, case: str) -> None:
    """Splitting and a transport are features of their own, with the evidence of what they are called."""
    serving, gone = SECOND_SHAPE[case]
    accepted = ["transport:nvlink+rdma"] if case == "another transport" else []
    spec = stack(preset="a4x-max-dynamo", accept_unverified=accepted, overrides={"serving": serving})
    assert set(EXPECTED["a4x-max-dynamo"]) - {f.name for f in spec.features} == gone
    assert [f.name for f in spec.features if f.status == "unverified"] == accepted


def _parallelism(spec: StackSpec) -> list[str]:
    return [f.name for f in spec.features if f.name.startswith("parallelism:")]


def test_replicas_over_nodes_are_a_feature_of_their_own(stack: Stack) -> None:
    """TP8 within a node says nothing about TP8 over two: the same size has two names."""
    assert _parallelism(stack(preset="g4-llmd")) == ["parallelism:tp8-ep"]
    assert _parallelism(stack(preset="a4x-max-llmd")) == ["parallelism:tp8-nodes2"]
    with pytest.raises(ProblemsFound, match="parallelism:tp16-nodes4"):
        stack(preset="a4x-max-llmd", overrides={"serving": {"shape": {"replicas": 2, "tensor_parallel": 16}}})


def test_a_tuned_kv_pool_is_a_feature_of_its_own(stack: Stack) -> None:
    """Rung C3 is fail-closed for what it adds; evidence about one ratio of SGLang's says nothing about another."""
    for shape, added in {
        "g4-llmd": "kv-pool:window_checkpoints",
        "g4-dynamo": "kv-pool:window_checkpoints",
        "a4x-max-llmd": "kv-pool:window_checkpoints",
        "a4x-max-dynamo": "kv-pool:swa_0.08",
    }.items():
        below, tuned = _names(_preset(f"{shape}-c2")), _names(_preset(f"{shape}-c3"))
        assert [name for name in tuned if name not in below] == [added]
        with pytest.raises(ProblemsFound, match=added):
            stack(preset=f"{shape}-c3")
    with pytest.raises(ProblemsFound, match="kv-pool:free_share"):
        stack(preset="g4-llmd", overrides={"serving": {"engine": {"kv_free_share": 0.02}}})


def test_one_reason_is_one_problem() -> None:
    """Features without evidence for the same reason are named together; those of another reason apart."""
    other = Feature("router:dynamo", "unverified", "somebody", "2026-11-29", "the recorded evidence is about x, not y")
    found = [UNKNOWN, other, Feature("kv-cache:fp8", "unverified", "", "", UNKNOWN.note)]
    problems = unaccepted(found, [], WHERE)
    assert [p.remedy.partition(" to accept")[0] for p in problems] == [
        "add 'precision:nvfp4', 'kv-cache:fp8'",
        "add 'router:dynamo'",
    ]
    assert [p.source for p in problems] == ["evidence of the preset", "somebody (2026-11-29)"]


@pytest.mark.parametrize(
    ("path", "asked"), [("model.checkpoint", False), ("model", False), ("model.weights", True), ("serving", True)]
)
def test_what_is_refused_need_not_be_accepted(path: str, asked: bool) -> None:
    """An error about the key that chose a feature, or around it, comes first."""
    assert bool(unaccepted([UNKNOWN], [], WHERE, refused={path})) is asked


def test_every_feature_has_a_key_that_chose_it() -> None:
    """Each first word that a feature's name may have is known to ``unaccepted``."""
    for name in {feature for expected in EXPECTED.values() for feature in expected} | {
        "speculation:dflash2",
        "provisioning:spot",
        "provisioning:flex_start",
        "host-maintenance:periodic",
        "local-ssd:raw_block",
        "image-cache:secondary_boot_disk",
    }:
        assert unaccepted([Feature(name, "unverified", "", "", "-")], [], WHERE, refused={"nothing"})


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
