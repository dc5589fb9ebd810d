"""Helm charts of third parties: where a chart is pulled from, and the values that name its images."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from stacks.images import ImageReference, image_reference
from stacks.rows import ChartRow

__all__ = ["ChartReference", "chart_reference"]


@dataclass(frozen=True)
class ChartReference:
    """What Helm installs: ``oci://`` charts have no ``repository``, charts of an https repository have its address.

    ``values`` name the chart's images, mirror and digest applied; ``images`` are the same by the path of the value.
    ``webhook_port`` is the port of its pods that the control plane calls, if any.
    ``unlisted_images`` says in words what it runs besides, by a tag of its own.
    """

    chart: str
    repository: str | None
    name: str
    version: str
    namespace: str
    values: Mapping[str, Any]
    images: Mapping[str, ImageReference]
    webhook_port: int | None = None
    unlisted_images: tuple[str, ...] = ()


def chart_reference(row: ChartRow, *, mirror: str | None, lock: Mapping[str, str]) -> ChartReference:
    """Return where ``row`` is pulled from. A mirror is an OCI registry: it holds every chart, those of https too."""
    images = {i.repository_value: image_reference(i.image, mirror=mirror, lock=lock) for i in row.images}
    values: dict[str, Any] = {}
    for item in row.images:
        reference = images[item.repository_value]
        name, _, tag = reference.name.rpartition(":")
        _put(values, item.repository_value, name)
        _put(values, item.tag_value, tag if reference.digest is None else f"{tag}@{reference.digest}")
    chart, repository = _place(row, mirror)
    return ChartReference(
        chart=chart,
        repository=repository,
        name=row.name,
        version=row.version,
        namespace=row.namespace,
        values=values,
        images=images,
        webhook_port=row.webhook_port,
        unlisted_images=tuple(row.unlisted_images),
    )


def _place(row: ChartRow, mirror: str | None) -> tuple[str, str | None]:
    path = row.repository if row.protocol == "oci" else f"{row.repository}/{row.name}"
    if mirror is not None:
        return f"oci://{mirror}/{path}", None
    if row.protocol == "oci":
        return f"oci://{row.registry}/{path}", None
    return row.name, f"https://{row.registry}/{row.repository}"


def _put(values: dict[str, Any], path: str, value: str) -> None:
    *sections, key = path.split(".")
    for section in sections:
        values = values.setdefault(section, {})
    values[key] = value
