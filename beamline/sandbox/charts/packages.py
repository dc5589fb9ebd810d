"""Pack a stand-in chart as Helm packs charts: byte for byte the same archive for the same files.

``values.schema.yaml`` becomes the ``values.schema.json`` that Helm judges values by before it renders anything.
"""

import gzip
import io
import json
import tarfile
from collections.abc import Iterator
from functools import cache

import yaml

from beamline.crds import installed_by_chart
from beamline.sandbox.charts.catalog import Chart

__all__ = ["metadata", "packed"]

_SCHEMA = "values.schema.yaml"


def metadata(chart: Chart, version: str) -> dict[str, object]:
    """Return the chart's ``Chart.yaml`` for a version."""
    found: dict[str, object] = yaml.safe_load((chart.folder / "Chart.yaml").read_text(encoding="utf-8"))
    return {**found, "version": version, "appVersion": f"{found.get('appVersion', '')}{version}"}


@cache
def packed(chart: Chart, version: str) -> bytes:
    """Return the chart as a gzipped tar archive."""
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w", format=tarfile.GNU_FORMAT) as archive:
        for name, content in sorted(_files(chart, version)):
            entry = tarfile.TarInfo(f"{chart.name}/{name}")
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    return gzip.compress(raw.getvalue(), mtime=0)


def _files(chart: Chart, version: str) -> Iterator[tuple[str, bytes]]:
    yield "Chart.yaml", yaml.safe_dump(metadata(chart, version), sort_keys=True).encode()
    for path in sorted(chart.folder.rglob("*")):
        name = path.relative_to(chart.folder).as_posix()
        if name == _SCHEMA:
            schema = yaml.safe_load(path.read_text(encoding="utf-8"))
            yield "values.schema.json", json.dumps(schema, sort_keys=True).encode()
        elif path.is_file() and name != "Chart.yaml":
            yield name, path.read_bytes()
    if chart.definitions == "chart":
        for definition in installed_by_chart(chart.name):
            yield f"crds/{definition.name}.yaml", yaml.safe_dump(definition.manifest, sort_keys=False).encode()
