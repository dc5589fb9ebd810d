"""`beamline fork`: what is written and said, how it ends, and that a run that fails leaves nothing behind."""

from __future__ import annotations

from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from beamline.cli import fork, new_files
from beamline.cli.new_files import write_all
from stacks.problems import EnvironmentProblem
from stacks.settings import STACKS_DIR
from tests.cli.command import run
from tests.cli.schemas import FORK, PROBLEMS
from tests.stacks.forking.forks import copy_of_stacks

HARDWARE = "g4-standard-192"


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of stacks/ in which forks are made."""
    folder = copy_of_stacks(tmp_path)
    monkeypatch.setattr(fork, "STACKS_DIR", folder)
    return folder


def _files(root: Path) -> dict[str, bytes]:
    return {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file()}


def test_it_says_what_it_wrote_and_writes_what_it_says(root: Path) -> None:
    """Two files are new, and the schemas that name presets know the new one; a second run writes over nothing."""
    before = _files(root)
    ran = run("fork", "g4-llmd", "mine", "--hardware", HARDWARE, "--json")
    assert (ran.code, ran.stderr) == (0, "")
    assert [error.message for error in Draft202012Validator(FORK).iter_errors(ran.json())] == []
    assert ran.json()["written"] == ["stacks/presets/mine.yaml", "stacks/Pulumi.mine.yaml"]
    after = _files(root)
    assert set(after) - set(before) == {"presets/mine.yaml", "Pulumi.mine.yaml"}
    changed = {name for name in before if before[name] != after[name]}
    assert changed == {"schemas/preset.schema.json", "schemas/stack.schema.json"}
    for feature in ran.json()["accept_unverified"]:
        assert f"  - {feature}\n" in after["Pulumi.mine.yaml"].decode()
    again = run("fork", "g4-llmd", "mine", "--hardware", HARDWARE, "--json")
    assert again.code == 1
    assert [error.message for error in Draft202012Validator(PROBLEMS).iter_errors(again.json())] == []
    assert _files(root) == after


@pytest.mark.usefixtures("root")
def test_text_for_people() -> None:
    """What changed and why, what is taken on, what to do next."""
    said = run("fork", "g4-llmd", "mine", "--hardware", HARDWARE).stdout
    for line in (
        f"mine: fork of g4-llmd for {HARDWARE}; no problems",
        "stacks/presets/mine.yaml",
        "accepted in stacks/Pulumi.mine.yaml, because nobody is known to have run it; yours to decide",
        "beamline plan mine",
    ):
        assert line in said.splitlines()
    assert "model.checkpoint" in said
    assert run("fork", "small-l4", "copy").stdout.startswith("copy: copy of small-l4; no problems\n")


def test_unknown_hardware_lists_what_is_missing_on_stdout(root: Path) -> None:
    ran = run("fork", "g4-llmd", "mine", "--hardware", "a5-future-8g")
    assert (ran.code, ran.stderr) == (1, "")
    assert "error[hardware-column-missing] gpu.memory_mib_per_gpu" in ran.stdout
    assert ran.stdout.endswith("beamline fork g4-llmd mine --hardware a5-future-8g\n")
    assert (root / "catalog/hardware/a5-future-8g.yaml").exists()
    assert not (root / "Pulumi.mine.yaml").exists()


def test_what_does_not_fit_is_not_written(root: Path) -> None:
    before = _files(root)
    ran = run("fork", "g4-llmd", "mine", "--hardware", "g2-standard-96", "--json")
    assert (ran.code, ran.json()["problems"][0]["rule"]) == (1, "fork-does-not-fit")
    assert _files(root) == before


def test_a_folder_that_takes_no_files(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The machine's trouble: exit code 3, the path and the reason, nothing half-written."""
    before = _files(root)
    write_text = Path.write_text

    def refused(path: Path, *args: object, **kwargs: object) -> int:
        if path.parent.name == "presets":
            raise PermissionError(13, "Permission denied", str(path))
        return write_text(path, *args, **kwargs)  # type: ignore[arg-type]

    monkeypatch.setattr(new_files.Path, "write_text", refused)
    ran = run("fork", "small-l4", "mine")
    assert (ran.code, ran.stdout) == (3, "")
    assert "presets" in ran.stderr
    assert "Permission denied" in ran.stderr
    assert _files(root) == before


def test_all_files_or_none(tmp_path: Path) -> None:
    """The second of two cannot be put in its place: the first is taken back, an old one has its old text."""
    (tmp_path / "old.yaml").write_text("before")
    (tmp_path / "folder.yaml").mkdir()
    (tmp_path / "folder.yaml" / "x").touch()
    with pytest.raises(EnvironmentProblem):
        write_all(tmp_path, {"new.yaml": "a", "old.yaml": "b", "folder.yaml": "c"})
    assert sorted(path.name for path in tmp_path.iterdir()) == ["folder.yaml", "old.yaml"]
    assert (tmp_path / "old.yaml").read_text() == "before"


def test_the_checkout_is_where_forks_go() -> None:
    assert fork.STACKS_DIR == STACKS_DIR


@pytest.mark.parametrize("words", [[], ["g4-llmd"], ["g4-llmd", "mine", "more"], ["g4-llmd", "mine", "--hardwre", "x"]])
def test_wrong_usage(words: list[str]) -> None:
    assert run("fork", *words).code == 2
