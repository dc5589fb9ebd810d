"""`beamline lock`: digests for every image of the catalog, from their registries. Needs a network."""

from __future__ import annotations

from typing import Annotated

import typer

from beamline.cli.endings import end_with, problems_as_result
from beamline.cli.output import counting, said, show, show_json, table
from beamline.cli.parameters import JsonOption
from stacks import Problem, ProblemsFound, to_text
from stacks.catalog_files import load_catalog
from stacks.images import LOCK_FILE, read_lock
from stacks.yaml_files import read_yaml, shown

__all__ = ["lock"]

_MENDED = ("lock-digest", "wrong-value")
"""Rules about a lock file that this verb is the remedy for."""

CheckOption = Annotated[
    bool, typer.Option("--check", help="Write nothing; it is a problem when the lock file would change.")
]


def lock(check: CheckOption = False, as_json: JsonOption = False) -> None:
    """Pin image digests; needs a network.

    Asks the registry of every image in the catalog and writes stacks/images.lock.yaml.
    """
    # An HTTP library nobody else needs.
    from beamline.registry import Entry, RegistryClient, catalog_images, refresh, write_lock  # noqa: PLC0415

    with problems_as_result(as_json=as_json):
        images, locked = catalog_images(load_catalog()), read_lock(LOCK_FILE) if check else _usable()
    with counting("asking registries", len(images)) as progress:

        def report(_: Entry) -> None:
            progress.advance(progress.task_ids[0])

        result = refresh(images, locked, RegistryClient(), report)
    problems = list(result.problems)
    changed = [entry for entry in result.entries if entry.standing in ("new", "moved", "removed")]
    if check:
        problems += [_outdated(entry.image, entry.standing) for entry in changed]
    else:
        write_lock(LOCK_FILE, result.digests())
    if as_json:
        entries = [entry.to_json() for entry in result.entries]
        show_json({"images": entries, "problems": [problem.to_json() for problem in problems]})
    else:
        rows = [(entry.standing, entry.image, entry.digest or "") for entry in result.entries]
        show(table(("standing", "image", "digest"), rows), *([said("\n" + to_text(problems))] if problems else []))
    end_with(problems)


def _usable() -> dict[str, str]:
    """Return what the lock file knows, less what is no digest: that is mended by writing it anew."""
    try:
        return read_lock(LOCK_FILE)
    except ProblemsFound as found:
        if any(problem.rule not in _MENDED for problem in found.problems):
            raise
        wrong = {problem.path for problem in found.problems}
        images = read_yaml(LOCK_FILE).get("images")
        entries = images.items() if isinstance(images, dict) else ()
        return {name: digest for name, digest in entries if f'images["{name}"]' not in wrong}


def _outdated(image: str, standing: str) -> Problem:
    whys = {
        "new": "the registry has a digest for it, the lock file has none",
        "moved": "its tag names another digest than the lock file",
        "removed": "no row of the catalog names it any more",
    }
    return Problem(
        rule="lock-outdated",
        path=image,
        why=whys[standing],
        remedy="run `beamline lock`, look at the change, and commit it",
        where=shown(LOCK_FILE),
        source="the image's registry",
    )
