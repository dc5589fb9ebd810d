"""`beamline lock`: what is written, what is only said, and how it ends."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

import beamline.registry
from beamline.cli import lock
from beamline.registry import write_lock
from stacks.images import read_lock
from stacks.rows import ImageRow
from tests.cli.command import run
from tests.cli.schemas import LOCK
from tests.registry.fake_registry import FakeRegistry, served

OLD = "sha256:" + "0" * 64


@pytest.fixture
def registry(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeRegistry]:
    """A registry with two images, which are the whole catalog."""
    with served(FakeRegistry()) as running:
        rows = []
        for name in ("engine", "router"):
            running.add_index(f"{name}:v1", "amd64")
            rows.append(
                ImageRow(
                    registry=running.host,
                    repository=name,
                    tag="v1",
                    archs=["amd64"],
                    source="test",
                    as_of=date(2026, 1, 1),
                )
            )
        monkeypatch.setattr(beamline.registry, "catalog_images", lambda _: rows)
        yield running


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A lock file with nothing in it."""
    path = tmp_path / "images.lock.yaml"
    write_lock(path, {})
    monkeypatch.setattr(lock, "LOCK_FILE", path)
    return path


def test_digests_are_written_and_a_second_run_finds_them_unchanged(registry: FakeRegistry, file: Path) -> None:
    engine, router = registry.tags["engine:v1"], registry.tags["router:v1"]
    first, second = run("lock"), run("lock")
    assert read_lock(file) == {f"{registry.host}/engine:v1": engine, f"{registry.host}/router:v1": router}
    assert [(ran.code, [line.split() for line in ran.stdout.splitlines()]) for ran in (first, second)] == [
        (
            0,
            [
                ["standing", "image", "digest"],
                [standing, f"{registry.host}/engine:v1", engine],
                [standing, f"{registry.host}/router:v1", router],
            ],
        )
        for standing in ("new", "unchanged")
    ]


def test_check_writes_nothing_and_names_what_would_change(registry: FakeRegistry, file: Path) -> None:
    write_lock(file, {f"{registry.host}/engine:v1": OLD, "ghcr.io/gone:v1": OLD})
    before = file.read_bytes()
    ran = run("lock", "--check", "--json")
    assert (ran.code, file.read_bytes()) == (1, before)
    assert [error.message for error in Draft202012Validator(LOCK).iter_errors(ran.json())] == []
    problems = [(p["rule"], p["path"].replace(registry.host, "HOST"), p["why"]) for p in ran.json()["problems"]]
    assert problems == [
        ("lock-outdated", "HOST/engine:v1", "its tag names another digest than the lock file"),
        ("lock-outdated", "HOST/router:v1", "the registry has a digest for it, the lock file has none"),
        ("lock-outdated", "ghcr.io/gone:v1", "no row of the catalog names it any more"),
    ]


def test_check_of_a_current_file_is_fine(registry: FakeRegistry, file: Path) -> None:
    assert [run("lock").code, run("lock", "--check").code] == [0, 0]
    assert len(read_lock(file)) == len(registry.tags)


def test_what_cannot_be_reached_is_kept_and_said(registry: FakeRegistry, file: Path) -> None:
    write_lock(file, {f"{registry.host}/engine:v1": OLD})
    registry.broken.add("engine")
    ran = run("lock")
    assert (ran.code, "error[registry-unreachable]" in ran.stdout) == (1, True)
    assert read_lock(file) == {
        f"{registry.host}/engine:v1": OLD,
        f"{registry.host}/router:v1": registry.tags["router:v1"],
    }


@pytest.mark.parametrize("flags", [[], ["--check"], ["--json"]])
def test_without_a_network_nothing_is_written(registry: FakeRegistry, file: Path, flags: list[str]) -> None:
    registry.broken |= {"engine", "router"}
    before = file.read_bytes()
    ran = run("lock", *flags)
    assert (ran.code, ran.stdout, file.read_bytes()) == (3, "", before)
    assert ran.stderr.startswith("no registry could be reached, so nothing was changed:")


BROKEN = {
    "a digest that is none": ('images: {"HOST/engine:v1": sha256:abc, "HOST/router:v1": OLD}\n', "lock-digest", True),
    "a list": ("images: [a]\n", "wrong-value", True),
    "a section without entries": ("images:\n", "wrong-value", True),
    "a merge conflict": ("<<<<<<< ours\nimages: {}\n", "yaml", False),
    "a key that is none of ours": ("images: {}\nimage: {}\n", "unknown-key", False),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_lock_file_is_mended_or_said(registry: FakeRegistry, file: Path, name: str) -> None:
    text, rule, is_mended = BROKEN[name]
    file.write_text(text.replace("HOST", registry.host).replace("OLD", OLD))
    checked, ran = run("lock", "--check"), run("lock")
    assert (checked.code, checked.stdout.startswith(f"error[{rule}]")) == (1, True)
    if is_mended:
        assert (ran.code, read_lock(file)[f"{registry.host}/engine:v1"]) == (0, registry.tags["engine:v1"])
    else:
        assert (ran.code, ran.stdout, registry.requests) == (1, checked.stdout, [])
