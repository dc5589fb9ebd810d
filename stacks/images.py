"""Container images: catalog rows, one mirror setting, digests from a lock file that only a registry can fill."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from stacks.problems import Problem, ProblemsFound
from stacks.rows import ImageRow
from stacks.yaml_files import read_yaml

__all__ = ["LOCK_FILE", "ImageReference", "image_reference", "read_lock"]

LOCK_FILE = Path(__file__).parent / "images.lock.yaml"
_WHERE = "stacks/images.lock.yaml"
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")


@dataclass(frozen=True)
class ImageReference:
    """What a pod pulls: ``registry/repository:tag``, and ``@digest`` once a registry has been asked."""

    name: str
    digest: str | None

    @property
    def resolved(self) -> bool:
        """Whether the digest is known."""
        return self.digest is not None

    def __str__(self) -> str:
        """The text that goes into a manifest."""
        return self.name if self.digest is None else f"{self.name}@{self.digest}"


def read_lock(path: Path = LOCK_FILE) -> dict[str, str]:
    """Return digest by ``registry/repository:tag``; raises ``ProblemsFound`` for anything that is not a digest."""
    if not path.exists():
        return {}
    data = read_yaml(path, where=_WHERE)
    problems = [_not_in_lock(key) for key in data if key != "images"]
    images = data.get("images")
    if not isinstance(images, dict):
        raise ProblemsFound([*problems, _not_images(images)])
    problems += [
        _not_a_digest(name, digest)
        for name, digest in images.items()
        if not (isinstance(digest, str) and _DIGEST.fullmatch(digest))
    ]
    if problems:
        raise ProblemsFound(problems)
    return images


def _not_in_lock(key: str) -> Problem:
    return Problem(
        rule="unknown-key",
        path=key,
        why="a lock file holds images only, so this would do nothing",
        allowed="images",
        remedy="remove it",
        where=_WHERE,
        source="stacks/images.py",
    )


def _not_images(images: object) -> Problem:
    return Problem(
        rule="wrong-value",
        path="images",
        value=images,
        why="images is a section of name: digest lines",
        allowed="{} while no digest is known",
        remedy="run `beamline lock` where the registries can be reached",
        where=_WHERE,
        source="stacks/images.py",
    )


def _not_a_digest(name: str, digest: object) -> Problem:
    return Problem(
        rule="lock-digest",
        path=f'images["{name}"]',
        value=digest,
        why="this is not a sha256 digest",
        allowed="sha256: followed by 64 hexadecimal digits",
        remedy="run `beamline lock` where the registries can be reached; never type a digest",
        where=_WHERE,
        source="OCI image specification, digests",
    )


def image_reference(row: ImageRow, *, mirror: str | None, lock: Mapping[str, str]) -> ImageReference:
    """Return where ``row`` is pulled from.

    A mirror replaces the registry host and keeps the repository path: ``mirror/vllm/vllm-openai``. A digest names
    content, so the one resolved at the origin also holds at a mirror.
    """
    origin = f"{row.registry}/{row.repository}:{row.tag}"
    host = row.registry if mirror is None else mirror
    return ImageReference(name=f"{host}/{row.repository}:{row.tag}", digest=lock.get(origin))
