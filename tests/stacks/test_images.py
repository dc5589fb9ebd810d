"""References of images: origin, mirror, digest; and a lock file that only holds digests."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import pytest

from stacks.images import LOCK_FILE, ImageReference, image_reference, read_lock
from stacks.rows import ImageRow

DIGEST = "sha256:" + "ab" * 32
ROW = ImageRow(
    registry="ghcr.io",
    repository="llm-d/router",
    tag="v0.10.0",
    archs=["amd64"],
    source="test",
    as_of=dt.date(2026, 11, 29),
)


@pytest.mark.parametrize(
    ("mirror", "locked", "reference"),
    [
        (None, False, "ghcr.io/llm-d/router:v0.10.0"),
        (None, True, f"ghcr.io/llm-d/router:v0.10.0@{DIGEST}"),
        ("m.example.com:5000/team", False, "m.example.com:5000/team/llm-d/router:v0.10.0"),
        ("m.example.com:5000/team", True, f"m.example.com:5000/team/llm-d/router:v0.10.0@{DIGEST}"),
    ],
)
def test_reference(mirror: str | None, locked: bool, reference: str) -> None:
    """A mirror replaces the registry's host and keeps the rest; a digest of the origin holds at a mirror, too."""
    lock = {"ghcr.io/llm-d/router:v0.10.0": DIGEST} if locked else {}
    found = image_reference(ROW, mirror=mirror, lock=lock)
    assert (str(found), found.resolved) == (reference, locked)


def test_a_digest_of_another_tag_is_not_taken() -> None:
    """Only the exact name in the lock counts."""
    lock = {"ghcr.io/llm-d/router:v0.9.0": DIGEST, "ghcr.io/llm-d/router": DIGEST}
    assert image_reference(ROW, mirror=None, lock=lock) == ImageReference("ghcr.io/llm-d/router:v0.10.0", None)


def test_lock(tmp_path: Path) -> None:
    """A lock is read as it is written; a checkout without one has no digests; the shipped one is sound."""
    path = tmp_path / "images.lock.yaml"
    path.write_text(f"images:\n  ghcr.io/llm-d/router:v0.10.0: {DIGEST}\n", encoding="utf-8")
    assert read_lock(path) == {"ghcr.io/llm-d/router:v0.10.0": DIGEST}
    assert read_lock(tmp_path / "none.yaml") == {}
    assert all(digest.startswith("sha256:") for digest in read_lock(LOCK_FILE).values())
