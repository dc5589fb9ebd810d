"""The golden files: every preset's objects as YAML, as they were last looked at."""

from __future__ import annotations

from pathlib import Path

from manifests import render
from manifests.rendering import write

from .cases import spec_of

__all__ = ["GOLDEN", "rendered"]

GOLDEN = Path(__file__).parent / "golden"


def rendered(preset: str) -> dict[str, str]:
    """Return file texts by name; without the definitions, which are copied from ``manifests/crds`` as they are."""
    return {name: text for name, text in write(render(spec_of(preset))).items() if "-crd-" not in name}
