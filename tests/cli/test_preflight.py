"""`beamline preflight`, and the same of a sandbox: what it says, how it ends, whom it asks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from beamline import preflight
from beamline.preflight import Google
from beamline.sandbox.home import home_of
from beamline.sandbox.simulated_google import simulated_project
from tests.cli.command import run
from tests.cli.golden import MISTAKES
from tests.cli.schemas import PREFLIGHT


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the simulated project of a sandbox for g4."""
    monkeypatch.setenv("BEAMLINE_HOME", str(tmp_path))
    folder = home_of("g4").ledger.parent
    simulated_project(folder)
    return folder


@pytest.mark.usefixtures("home")
def test_a_stack_that_is_fine() -> None:
    ran = run("sandbox", "preflight", "g4")
    first, _, head, *rows = ran.stdout.splitlines()
    assert (ran.code, ran.stderr) == (0, "")
    assert first == f"g4: SIMULATED project, us-central1-b: {len(rows)} ok, 0 problems, could not look at 0"
    assert head.split() == ["is", "check", "asked", "found", "needed"]
    assert {row.split()[0] for row in rows} == {"ok"}


def test_a_problem_is_said_like_every_other_and_ends_with_1(home: Path) -> None:
    (home / "project.yaml").write_text("buckets: []\n")
    ran = run("sandbox", "preflight", "g4")
    assert ran.code == 1
    _, _, said = ran.stdout.partition("\nproblems\n")
    assert said.splitlines()[:2] == [
        "error[bucket-missing] model.weights.bucket",
        "  why:     gs://your-weights-bucket/beam/fp8/ holds the checkpoint: there is no bucket your-weights-bucket",
    ]


def test_what_could_not_be_looked_at_is_not_fine_and_ends_with_3(home: Path) -> None:
    (home / "project.yaml").write_text("apis: {monitoring.googleapis.com: false}\n")
    ran = run("sandbox", "preflight", "g4")
    assert ran.code == 3
    assert "could not look at 3" in ran.stdout.splitlines()[0]
    assert "could not look  quotas" in ran.stdout


def test_json_says_what_the_text_says(home: Path) -> None:
    (home / "project.yaml").write_text(
        "quotas: [{metric: ROUTERS, limit: 0}]\napis: {monitoring.googleapis.com: false}\n"
    )
    ran = run("sandbox", "preflight", "g4", "--json")
    document: dict[str, Any] = ran.json()
    assert [error.message for error in Draft202012Validator(PREFLIGHT).iter_errors(document)] == []
    assert (ran.code, document["simulated"], document["stack"]) == (1, True, "g4")
    assert [problem["rule"] for problem in document["problems"]] == ["quota-exceeded"]
    assert [f["standing"] for f in document["findings"]].count("could not look") == 3
    assert all(finding["source"] for finding in document["findings"])


def test_a_sandbox_needs_not_be_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BEAMLINE_HOME", str(tmp_path))
    assert run("sandbox", "preflight", "a4x-max").code == 0
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def nobody_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the test fail when anybody asks for credentials."""

    def asked(_: str) -> Google:
        raise AssertionError("credentials were asked for")

    monkeypatch.setattr(preflight, "from_credentials", asked)


@pytest.mark.usefixtures("nobody_is_asked")
@pytest.mark.parametrize(
    ("stack", "rules"),
    [
        ("g4", ["placeholder-bucket", "placeholder-project"]),
        ("a4x-max", ["placeholder-bucket", "placeholder-project", "placeholder-reservation"]),
    ],
)
def test_placeholders_are_refused_by_name(stack: str, rules: list[str]) -> None:
    ran = run("preflight", stack, "--json")
    errors = [problem["rule"] for problem in ran.json()["problems"] if problem["severity"] == "error"]
    assert (ran.code, errors) == (1, rules)


@pytest.mark.usefixtures("nobody_is_asked")
@pytest.mark.parametrize("stack", [MISTAKES, "g4-lmd"])
def test_a_stack_that_does_not_plan_is_not_asked_about(stack: str) -> None:
    ran = run("preflight", stack)
    assert ran.code == 1
    assert ran.stdout.startswith("error[")


def test_without_credentials_it_says_how_to_get_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "Pulumi.real.yaml"
    settings = {"preset": "small-l4", "project": "acme-inference", "region": "us-central1", "zone": "us-central1-b"}
    file.write_text("config:\n" + "".join(f"  beamline:{key}: {value}\n" for key, value in settings.items()))
    monkeypatch.setenv("CLOUDSDK_CONFIG", str(tmp_path))
    monkeypatch.setenv("NO_GCE_CHECK", "true")
    monkeypatch.delenv("GOOGLE_APPLICATION_CREDENTIALS", raising=False)
    ran = run("preflight", str(file))
    assert (ran.code, ran.stdout) == (3, "")
    assert "gcloud auth application-default login" in ran.stderr
