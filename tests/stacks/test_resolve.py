"""The one way in: a checked stack, or every problem there is; the same answer for the same stack."""

from __future__ import annotations

import dataclasses
import json
import subprocess
import sys
from pathlib import Path

import pytest

from stacks import ProblemsFound, resolve, to_text
from stacks.cloud import SANDBOX_PROJECT
from stacks.settings import STACKS_DIR, pulumi_config, read_stack_file, stack_file
from tests.stacks.conftest import SOUND, Stack

WHERE = "stacks/Pulumi.g4.yaml"
BUCKET = {"model": {"weights": {"bucket": "acme-weights"}}}


def test_the_shipped_stack() -> None:
    """The shipped stack file plans: only notes, about placeholders and tags."""
    spec = resolve("g4", pulumi_config(read_stack_file(stack_file("g4"))), where=WHERE, applying=False)
    assert (spec.name, spec.prefix, spec.settings.zone) == ("g4", "beamline-g4", "us-central1-b")
    assert [(p.rule, p.path) for p in spec.problems] == [
        ("unresolved-image", "images"),
        ("placeholder-bucket", "model.weights.bucket"),
        ("placeholder-project", "project"),
    ]
    assert {p.severity for p in spec.problems} == {"note"}


def test_a_spec_does_not_change(stack: Stack) -> None:
    """Frozen all the way: nobody can adjust a stack after it was checked."""
    spec = stack()
    with pytest.raises(dataclasses.FrozenInstanceError):
        spec.name = "other"  # type: ignore[misc]
    with pytest.raises(ValueError, match="frozen"):
        spec.preset.production = False


@pytest.mark.parametrize(
    ("applying", "project", "production", "severity"),
    [
        (False, "acme-inference", True, "note"),
        (False, "your-project-id", True, "note"),
        (True, "acme-inference", False, "note"),
        (True, SANDBOX_PROJECT, True, "note"),
        (True, "acme-inference", True, "error"),
    ],
)
def test_digests_count_in_production_on_google(applying: bool, project: str, production: bool, severity: str) -> None:
    """A tag is noted in plans, in the sandbox and outside production; it stops a production run against Google."""
    config = pulumi_config(SOUND | {"project": project, "overrides": BUCKET | {"production": production}})
    try:
        problems = list(resolve("g4", config, where=WHERE, applying=applying).problems)
    except ProblemsFound as found:
        problems = found.problems
    assert {p.severity for p in problems if p.rule == "unresolved-image"} == {severity}


def test_settings_reach_the_images(stack: Stack) -> None:
    """A mirror holds for every image; the digest of the lock goes with the origin's name."""
    images = stack(mirror="mirror.example.com:5000/team").images
    assert {role: str(image) for role, image in images.items()} == {
        "engine": "mirror.example.com:5000/team/vllm/vllm-openai:v0.33.0",
        "router": "mirror.example.com:5000/team/llm-d/llm-d-router-endpoint-picker:v0.10.0",
        "weights": "mirror.example.com:5000/team/google.com/cloudsdktool/google-cloud-cli:548.0.0-slim",
    }


def test_hub_weights_are_fetched_with_the_engines_image(stack: Stack) -> None:
    """A bucket needs Google's tools; the hub's downloader is in the engine's image."""
    images = stack(preset="small-l4").images
    assert images["weights"] == images["engine"]


def test_wait_and_production_are_the_users_to_choose(stack: Stack) -> None:
    """The shipped presets wait for readiness, Beam's are for production; both can be overridden."""
    assert (stack().preset.serving.wait, stack().preset.production) == ("ready", True)
    spec = stack(overrides={"production": False, "serving": {"wait": "accepted"}})
    assert (spec.preset.serving.wait, spec.preset.production) == ("accepted", False)
    assert stack(preset="small-l4").preset.production is False


def test_the_same_stack_gives_the_same_text() -> None:
    """Order of keys, of finding and of hashing do not show."""
    config = pulumi_config(SOUND | {"zone": "b", "overrides": {"servng": 1, "model": 2, "network": {"mtu": 1}}})
    texts = set()
    for ordered in (config, dict(reversed(config.items()))):
        with pytest.raises(ProblemsFound) as found:
            resolve("g4", ordered, where=WHERE, applying=False)
        texts.add(to_text(found.value.problems))
    script = (
        "import json, sys\nfrom stacks import ProblemsFound, resolve\n"
        f"try: resolve('g4', json.loads(sys.argv[1]), where={WHERE!r}, applying=False)\n"
        "except ProblemsFound as found: sys.stdout.write(str(found))\n"
    )
    for seed in ("1", "2"):
        run = subprocess.run(
            [sys.executable, "-c", script, json.dumps(config)],
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": str(STACKS_DIR.parent)},
            capture_output=True,
            text=True,
            check=True,
        )
        texts.add(run.stdout)
    assert len(texts) == 1


def test_nothing_of_pulumi_is_imported() -> None:
    """Reading a stack needs no Pulumi: an editor's or a CI's check starts fast."""
    script = "import sys, stacks, stacks.json_schemas\nprint([m for m in sys.modules if m.startswith('pulumi')])"
    run = subprocess.run(
        [sys.executable, "-c", script], cwd=STACKS_DIR.parent, capture_output=True, text=True, check=True
    )
    assert run.stdout.strip() == "[]"


def test_a_stack_of_another_folder(tmp_path: Path) -> None:
    """Catalog, presets and lock are read from one folder; an empty one says what is missing."""
    with pytest.raises(ProblemsFound) as found:
        resolve("g4", pulumi_config(SOUND), where=WHERE, applying=False, root=tmp_path)
    assert [(p.rule, p.path) for p in found.value.problems] == [
        ("yaml", "autoscaling.yaml"),
        ("yaml", "hardware-columns.yaml"),
        ("yaml", "helper-charts.yaml"),
        ("yaml", "helper-images.yaml"),
        ("unknown-preset", "preset"),
        ("yaml", "weight-storage.yaml"),
    ]


@pytest.mark.parametrize(("key", "guess"), [("servin", "serving"), ("descripton", None), ("evidenc", None)])
def test_an_unknown_section_is_offered_what_a_stack_file_may_override(key: str, guess: str | None) -> None:
    """What only a preset may say about itself is neither listed nor guessed, with a sound preset or an unknown one."""
    for preset in ("g4-llmd", "nowhere"):
        config = pulumi_config(SOUND | {"preset": preset, "overrides": {key: 1}})
        with pytest.raises(ProblemsFound) as found:
            resolve("g4", config, where=WHERE, applying=False)
        (problem,) = [p for p in found.value.problems if p.rule == "unknown-key"]
        assert problem.allowed == (
            "accelerator_pools, cluster, model, monitoring, network, production, serving, system_pool"
        )
        assert problem.remedy == (f"rename it to {guess!r}" if guess else "remove it or use one of the allowed keys")
