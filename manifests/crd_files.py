"""Definitions the kit installs itself: llm-d's own kinds, which neither GKE nor a chart of this kit brings."""

from __future__ import annotations

from pathlib import Path

import yaml

from manifests.objects import KubernetesObject

__all__ = ["definitions"]

_FOLDER = Path(__file__).parent / "crds"


def definitions() -> tuple[KubernetesObject, ...]:
    """Every CustomResourceDefinition of ``manifests/crds``, in order of file name."""
    bodies = [
        yaml.load(path.read_text(encoding="utf-8"), Loader=yaml.CSafeLoader) for path in sorted(_FOLDER.glob("*.yaml"))
    ]
    return tuple(
        KubernetesObject(area="serving", name=f"crd-{body['spec']['names']['plural']}", body=body) for body in bodies
    )
