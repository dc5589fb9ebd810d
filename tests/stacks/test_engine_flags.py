"""The files of flags fit their model, and there is one for every version that the catalog has."""

from __future__ import annotations

import pytest

from stacks.catalog_files import load_catalog
from stacks.engine_flags import FOLDER, engine_flags, known_versions

FILES = sorted(FOLDER.glob("*.json"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_file_is_named_for_what_it_is_about_and_names_documents_that_there_are(path: object) -> None:
    kind, _, version = str(getattr(path, "stem", "")).partition("-")
    flags = engine_flags(kind, version)
    assert flags is not None
    assert (flags.kind, flags.version) == (kind, version)
    programs = [flag for program in flags.programs.values() for flag in program.flags.values()]
    keys = [key for document in flags.documents.values() for key in document.keys.values()]
    choices = [d.choice for d in flags.documents.values() if d.choice is not None]
    named = {item.document for item in (*flags.engine_flags.values(), *programs, *keys) if item.document}
    assert named | {name for choice in choices for name in choice.documents.values()} <= set(flags.documents)


def test_every_engine_and_release_of_the_catalog_was_read_off() -> None:
    """Dynamo 1.7.0 could not be: its file says so, and which version stands for it."""
    catalog = load_catalog()
    for row in catalog.engines.values():
        assert row.version in known_versions(row.kind)
    for release in catalog.dynamo_releases.values():
        assert release.version in known_versions("dynamo")
    assert "1.7.0 is not on the package index" in engine_flags("dynamo", "1.7.0").source.replace(
        "1.7.0, which presets name,", "1.7.0"
    )  # type: ignore[union-attr]
