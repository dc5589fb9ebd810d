"""The program itself: what a user reads when a stack is wrong, whichever engine runs it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from beamline.engine import run_program
from stacks import ProblemsFound
from tests.components.conftest import Run
from tests.components.plans import CHECKOUT, config_of
from tests.engine.real_engine import RealProject

MISTAKES = {
    "beamline:preset": "g4-llmd",
    "beamline:projekt": "p",
    "beamline:region": "us-central1",
    "beamline:zone": "europe-west4-a",
    "beamline:overrides": {"accelerator_pools": {"main": {"local_ssd_count": 3}}},
}


def problems_in_process() -> ProblemsFound:
    with pytest.raises(ProblemsFound) as caught:
        run_program(CHECKOUT, project="beamline", stack="wrong", config=MISTAKES)
    return caught.value


def test_all_mistakes_come_at_once() -> None:
    assert {p.path for p in problems_in_process().problems if p.severity == "error"} == {
        "accelerator_pools.main.local_ssd_count",
        "project",
        "projekt",
        "zone",
    }


def test_what_does_not_stop_the_update_is_said_by_severity(run: Run) -> None:
    """Warnings are one warning and notes one message; errors are raised elsewhere and never said here."""
    graph = run(
        """
        from components.program import report
        from stacks import Problem

        report([Problem(f"{s}-{n}", "p", "w", "r", severity=s) for s in ("note", "warning") for n in (1, 2)])
        """
    )
    said = [
        (log.severity, [line.partition(" ")[0] for line in log.message.splitlines() if "[" in line])
        for log in graph.logs
    ]
    assert said == [
        ("warning", ["warning[warning-1]", "warning[warning-2]"]),
        ("info", ["note[note-1]", "note[note-2]"]),
    ]


@pytest.mark.sandbox
def test_the_real_engine_says_the_same_and_nothing_else(tmp_path: Path, tools: Callable[[str], Path]) -> None:
    """``pulumi preview`` and ``pulumi up`` print the text of ``plan``, fail, and show no traceback."""
    project = RealProject(tmp_path / "project", CHECKOUT, pulumi=tools("pulumi"), stack="wrong")
    project.create_stack(MISTAKES)
    expected = [line.strip() for line in str(problems_in_process()).splitlines()]
    for verb in (["preview"], ["up", "--yes"]):
        done = project.pulumi(*verb, check=False)
        said = [line.strip() for line in (done.stdout + done.stderr).splitlines()]
        assert done.returncode != 0
        assert [line for line in said if "Traceback" in line or "exited with" in line] == []
        assert [line for line in expected if line not in said] == []
        assert sum(line.startswith("error[") for line in said) == sum(line.startswith("error[") for line in expected)


@pytest.mark.sandbox
def test_an_empty_passphrase_stops_an_apply_before_anything_is_made(
    tmp_path: Path, tools: Callable[[str], Path]
) -> None:
    """Pulumi hands its environment on to the program, and the stack file says that a passphrase is in use."""
    project = RealProject(tmp_path / "project", CHECKOUT, pulumi=tools("pulumi"), stack="open")
    for passphrase, said in (("", True), ("correct horse", False)):
        project.environment["PULUMI_CONFIG_PASSPHRASE"] = passphrase
        if passphrase:
            project.pulumi("stack", "rm", "--yes", "--preserve-config")
            (project.folder / "stacks" / "Pulumi.open.yaml").unlink()
        project.create_stack(config_of("g4-llmd"))
        done = project.pulumi("up", "--yes", "--skip-preview", check=False)
        assert done.returncode != 0, "digests are not known either"
        assert ("error[passphrase-empty]" in done.stdout + done.stderr) is said
        assert "gcp:" not in project.pulumi("stack", "export").stdout
