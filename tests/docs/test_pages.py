"""The documentation says what is: computed parts are fresh, and every command a reader may type works."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from beamline.sandbox.home import CHECKOUT
from stacks import resolve
from stacks.settings import pulumi_config, read_stack_file
from stacks.spec import Bucket
from tests.checkout import beamline, copy_of_checkout
from tests.docs.clients_page import CLIENTS, clients_page
from tests.docs.hardware_page import HARDWARE, hardware_page
from tests.docs.kv_blocks_page import KV_BLOCKS, kv_blocks_page
from tests.docs.pages import IN_A_SANDBOX, LADDER, OWNERSHIP, README, commands, ladder_page, ownership_page, readme
from tests.docs.preflight_page import PREFLIGHT, preflight_page
from tests.docs.security_page import SECURITY, security_page
from tests.engine.real_engine import RealProject

RUN_ELSEWHERE = {
    ".venv/bin/beamline plan g4 --against STATE.json": "tests/guard/test_plan_against.py, with a state",
    "make up": "tests/end_to_end/test_g4.py applies the same stack",
    "make test": "this run",
    "make down": "tests/end_to_end/test_g4.py",
    "make setup": "made the environment this test runs in",
}
NEEDS_A_CLOUD = (
    "gcloud ",
    "pulumi ",
    ".venv/bin/beamline down",
    ".venv/bin/beamline lock",
    ".venv/bin/beamline preflight",
)
WRITES = ".venv/bin/beamline fork"
"""Commands that add files to the checkout: they are run in a copy of it."""
RUN_HERE = [
    c for c in commands() if c not in RUN_ELSEWHERE and not c.startswith((IN_A_SANDBOX, WRITES, *NEEDS_A_CLOUD))
]


def test_the_computed_parts_of_the_documentation_are_fresh() -> None:
    assert README.read_text() == readme(README.read_text()), "run `make golden`"
    assert CLIENTS.read_text() == clients_page(), "run `make golden`"
    assert OWNERSHIP.read_text() == ownership_page(), "run `make golden`"
    assert LADDER.read_text() == ladder_page(LADDER.read_text()), "run `make golden`"
    assert PREFLIGHT.read_text() == preflight_page(), "run `make golden`"
    assert HARDWARE.read_text() == hardware_page(), "run `make golden`"
    assert KV_BLOCKS.read_text() == kv_blocks_page(), "run `make golden`"
    assert SECURITY.read_text() == security_page(), "run `make golden`"


def test_every_command_that_needs_no_cloud_is_run_by_some_test() -> None:
    assert len(RUN_HERE) >= 5
    unused = set(RUN_ELSEWHERE) - set(commands())
    assert unused == set(), "listed here, but no longer in the README"


@pytest.mark.parametrize("command", RUN_HERE)
def test_the_command_works_as_written(command: str, tmp_path: Path) -> None:
    words = [str(tmp_path / word) if word == "manifests-g4" else word for word in shlex.split(command)]
    done = subprocess.run(words, cwd=CHECKOUT, env=dict(os.environ), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Traceback" not in done.stderr


def test_commands_that_add_files_work_as_written(tmp_path: Path) -> None:
    copy, written = copy_of_checkout(tmp_path), [c for c in commands() if c.startswith(WRITES)]
    assert written
    for command in written:
        done = beamline(copy, *shlex.split(command)[1:])
        assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.sandbox
def test_the_cloud_commands_make_a_stack_file_that_is_right(tmp_path: Path, tools: Callable[[str], Path]) -> None:
    """``stack init`` and ``config set`` as written, on the shipped stack file, with the real command line."""
    project = RealProject(tmp_path / "project", CHECKOUT, pulumi=tools("pulumi"), stack="g4")
    file = project.folder / "stacks" / "Pulumi.g4.yaml"
    file.write_text((CHECKOUT / "stacks" / "Pulumi.g4.yaml").read_text())
    written = [c for c in commands() if c.startswith(("pulumi stack init", "pulumi config set"))]
    for command in written:
        project.pulumi(*shlex.split(command.replace("MY-PROJECT", "my-project").replace("MY-BUCKET", "my-bucket"))[1:])
    spec = resolve("g4", pulumi_config(read_stack_file(file)), where="stacks/Pulumi.g4.yaml", applying=False)
    weights = spec.preset.model.weights
    assert len(written) == 3
    assert isinstance(weights, Bucket)
    assert (spec.settings.project, weights.bucket) == ("my-project", "my-bucket")


@pytest.mark.parametrize("command", [c for c in commands() if c.startswith("make ")])
def test_the_make_target_exists(command: str) -> None:
    done = subprocess.run(
        ["make", "--dry-run", *command.split()[1:]], cwd=CHECKOUT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_every_link_to_a_file_of_ours_leads_somewhere() -> None:
    for page in [README, *sorted((CHECKOUT / "docs").glob("*.md")), CHECKOUT / "CONTRIBUTING.md"]:
        for target in re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"
