"""docs/components.md says what the classes say."""

from __future__ import annotations

import pytest

from components.cluster import Cluster
from tests.components.goldens import BLOCKS
from tests.docs.component_pages import COMPONENTS, FOREIGN_PROGRAM, components_page


def test_the_page_is_fresh() -> None:
    assert COMPONENTS.read_text() == components_page(), "run `make golden`"


def test_a_change_of_a_class_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a class says of itself is read anew each time."""
    monkeypatch.setattr(Cluster, "__doc__", "Something else.")
    assert COMPONENTS.read_text() != components_page()


def test_every_component_has_a_section_and_the_program_is_shown_whole() -> None:
    text = COMPONENTS.read_text()
    assert [block.__name__ for block in BLOCKS if f"\n## {block.__name__}\n" not in text] == []
    assert f"```python\n{FOREIGN_PROGRAM.read_text()}```" in text
