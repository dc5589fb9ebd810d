"""The committed files are what the engines say today."""

from __future__ import annotations

from typing import Any

from tests.engines.flags_files import FOLDER, flag_files


def test_the_files_are_up_to_date(answers: dict[str, dict[str, Any]]) -> None:
    written = flag_files(answers)
    assert sorted(FOLDER.glob("*.json")) == sorted(written)
    for path, text in written.items():
        assert path.read_text(encoding="utf-8") == text, "if right: make engine-flags"
