"""The golden files: every preset's objects and releases as YAML, as they were last looked at."""

from __future__ import annotations

from pathlib import Path

from manifests import releases, render
from manifests.rendering import write

from .cases import spec_of

__all__ = ["GOLDEN", "rendered"]

GOLDEN = Path(__file__).parent / "golden"


def rendered(preset: str) -> dict[str, str]:
    """Return file texts by name; without the definitions, which are copied from ``manifests/crds`` as they are."""
    spec = spec_of(preset)
    return {name: text for name, text in write(render(spec), releases(spec)).items() if "-crd-" not in name}
