"""`beamline render`: the same bytes every time, and never a file of somebody else lost."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from beamline.cli import rendered_folder
from beamline.cli.rendered_folder import RECORD, Written, update
from stacks.problems import EnvironmentProblem, ProblemsFound
from tests.cli.command import run

FILES = {"01-a.yaml": "a: 1\n", "02-b.yaml": "b: 2\n"}


def _bytes(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_the_same_stack_gives_the_same_bytes(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    assert [run("render", "g4", "--out", str(folder)).code for folder in (first, second)] == [0, 0]
    assert _bytes(first) == _bytes(second)


def test_rendering_again_changes_nothing_and_says_so(tmp_path: Path) -> None:
    out = tmp_path / "out"
    count = len(run("render", "g4", "--out", str(out), "--json").json()["changed"])
    before = {path: path.stat().st_mtime_ns for path in out.iterdir()}
    again = run("render", "g4", "--out", str(out))
    assert again.stdout == f"{count} files in {out}: 0 written, 0 removed\n"
    assert {path: path.stat().st_mtime_ns for path in out.iterdir()} == before


def test_every_file_is_one_kubernetes_object_and_nothing_else(tmp_path: Path) -> None:
    run("render", "small-l4", "--out", str(tmp_path / "out"))
    objects = [list(yaml.safe_load_all(path.read_text())) for path in (tmp_path / "out").glob("*.yaml")]
    assert [len(each) for each in objects] == [1] * len(objects)
    assert all({"apiVersion", "kind", "metadata"} <= set(each[0]) for each in objects)


def test_a_release_has_a_file_of_its_own_and_json_tells_the_same(tmp_path: Path) -> None:
    out = tmp_path / "out"
    told = run("render", "a4x-max-llmd", "--out", str(out), "--json").json()["releases"]
    assert [release["file"] for release in told] == sorted(path.name for path in out.glob("*.helm.yaml"))
    for release in told:
        text = (out / release["file"]).read_text()
        assert f"helm upgrade --install {release['release']} {release['chart']} " in text.partition("\n")[0]
        read = yaml.safe_load(text)
        assert {"repository": None, **read} == {key: value for key, value in release.items() if key != "file"}


def test_a_stack_without_charts_tells_of_none(tmp_path: Path) -> None:
    assert run("render", "small-l4", "--out", str(tmp_path / "out"), "--json").json()["releases"] == []


def test_notes_about_the_stack_go_to_stderr(tmp_path: Path) -> None:
    ran = run("render", "g4", "--out", str(tmp_path / "out"))
    assert "note[placeholder-project]" in ran.stderr
    assert "note[" not in ran.stdout


def test_a_file_that_is_no_longer_rendered_goes_and_others_stay(tmp_path: Path) -> None:
    update(tmp_path / "out", FILES)
    (tmp_path / "out" / "kustomization.yaml").write_text("mine")
    written = update(tmp_path / "out", {"01-a.yaml": "a: 1\n", "03-c.yaml": "c: 3\n"})
    assert written == Written(changed=["03-c.yaml"], unchanged=["01-a.yaml"], removed=["02-b.yaml"])
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        RECORD,
        "01-a.yaml",
        "03-c.yaml",
        "kustomization.yaml",
    ]


def _full_folder(out: Path) -> None:
    out.mkdir()
    (out / "notes.txt").write_text("mine")


def _a_file(out: Path) -> None:
    out.write_text("mine")


def _edited(out: Path) -> None:
    update(out, FILES)
    (out / "02-b.yaml").write_text("b: edited\n")


def _edited_and_stale(out: Path) -> None:
    update(out, {**FILES, "03-c.yaml": "c: 3\n"})
    (out / "03-c.yaml").write_text("c: edited\n")


def _taken_name(out: Path) -> None:
    update(out, {"01-a.yaml": "a: 1\n"})
    (out / "02-b.yaml").write_text("mine")


REFUSED: dict[str, tuple[Callable[[Path], None], str, str]] = {
    "a folder with other files": (_full_folder, "", "the folder holds files that this command did not write"),
    "a file": (_a_file, "", "this is a file"),
    "an edited file": (_edited, "/02-b.yaml", "the file was changed after it was written, and would be lost"),
    "an edited file that would go": (
        _edited_and_stale,
        "/03-c.yaml",
        "the file was changed after it was written, and would be lost",
    ),
    "a file of that name": (_taken_name, "/02-b.yaml", "the file was not written by this command, and would be lost"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_would_be_lost_stops_the_run_before_anything_is_touched(name: str, tmp_path: Path) -> None:
    prepare, where, why = REFUSED[name]
    prepare(tmp_path / "out")
    before = _bytes(tmp_path)
    with pytest.raises(ProblemsFound) as found:
        update(tmp_path / "out", FILES)
    assert [(p.rule, p.value, p.why) for p in found.value.problems] == [
        ("render-folder", f"{tmp_path}/out{where}", why)
    ]
    assert _bytes(tmp_path) == before


def test_a_refusal_is_a_problem_of_the_command(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    ran = run("render", "small-l4", "--out", str(tmp_path))
    assert ran.code == 1
    assert ran.stdout == (
        f"error[render-folder] --out = {tmp_path}\n"
        "  why:     the folder holds files that this command did not write\n"
        "  allowed: an empty folder, or none yet\n"
        "  remedy:  move it away, or render into another folder\n"
        "  source:  beamline render\n"
    )


@pytest.mark.parametrize("survivors", range(6))
def test_a_run_that_was_killed_is_completed_by_the_next(
    survivors: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever the number of files written before the end, nothing is taken for somebody else's."""
    out = tmp_path / "out"
    update(out, FILES)
    wanted = {"01-a.yaml": "a: 10\n", "03-c.yaml": "c: 30\n", "04-d.yaml": "d: 40\n"}
    replace, left = rendered_folder._replace, [survivors]

    def dies(path: Path, text: str) -> None:
        if left[0] == 0:
            raise KeyboardInterrupt
        left[0] -= 1
        replace(path, text)

    monkeypatch.setattr(rendered_folder, "_replace", dies)
    try:
        update(out, wanted)
    except KeyboardInterrupt:
        monkeypatch.setattr(rendered_folder, "_replace", replace)
        update(out, wanted)
    fresh = tmp_path / "fresh"
    monkeypatch.setattr(rendered_folder, "_replace", replace)
    update(fresh, wanted)
    assert _bytes(out) == _bytes(fresh)


def test_a_record_cannot_name_files_elsewhere(tmp_path: Path) -> None:
    victim = tmp_path / "victim.yaml"
    victim.write_text("mine")
    update(tmp_path / "out", FILES)
    with (tmp_path / "out" / RECORD).open("a") as record:
        record.write(f"{'0' * 64}  ../victim.yaml\n")
    update(tmp_path / "out", {})
    assert victim.read_text() == "mine"


def test_a_place_that_cannot_be_written_names_it(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    with pytest.raises(EnvironmentProblem, match=r"file/out cannot be written: Not a directory"):
        update(tmp_path / "file" / "out", FILES)


def test_a_stack_with_mistakes_is_not_rendered(tmp_path: Path) -> None:
    ran = run("render", "g4-llmd-nvfp4", "--out", str(tmp_path / "out"))
    assert (ran.code, (tmp_path / "out").exists()) == (1, False)
    assert ran.stdout.startswith("error[unverified-feature]")


def test_problems_are_those_of_plan(tmp_path: Path) -> None:
    rendered = run("render", "g4-lmd", "--out", str(tmp_path / "out"))
    assert f"g4-lmd: 1 error\n\n{rendered.stdout}" == run("plan", "g4-lmd").stdout


def test_a_record_that_cannot_be_read_costs_no_file(tmp_path: Path) -> None:
    """Without it nobody knows whose the files are, so they stay."""
    update(tmp_path / "out", FILES)
    (tmp_path / "out" / RECORD).write_bytes(b"\xff\xfe")
    with pytest.raises(ProblemsFound):
        update(tmp_path / "out", {"01-a.yaml": "a: 2\n"})
    assert (tmp_path / "out" / "01-a.yaml").read_text() == "a: 1\n"
