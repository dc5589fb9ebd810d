"""Images are named so that the same manifest runs the same bytes tomorrow."""

from __future__ import annotations

from collections.abc import Iterator

from beamline.engine.graph import Graph
from policies.objects import OPAQUE, pod_templates
from policies.rule import Finding, Rule

__all__ = ["RULES"]

_MOVING = frozenset({"latest", "nightly", "main", "master", "dev", "edge", "stable"})


def _moving(graph: Graph) -> Iterator[Finding]:
    for template in pod_templates(graph):
        for path, container in template.containers():
            image = str(container.get("image") or "")
            if image == OPAQUE or "@sha256:" in image:
                continue
            tag = image.rpartition("/")[2].partition(":")[2]
            if not tag or tag in _MOVING:
                said = f"the tag {tag!r} moves" if tag else "there is no tag, which means latest"
                yield Finding(
                    path=f"{path}.image",
                    urn=template.owner.urn,
                    value=image,
                    detail=said,
                    allowed="a release tag, better with its digest",
                )


RULES = (
    Rule(
        id="moving-image-tag",
        why="a restarted pod could run other software than the one that was tested",
        remedy="name a release in the catalog row and run `beamline lock`",
        source="Kubernetes docs, container images",
        find=_moving,
    ),
)
