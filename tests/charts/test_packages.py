"""A stand-in chart is packed the same way each time, and refuses values by its schema."""

from __future__ import annotations

import io
import json
import tarfile
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from beamline.sandbox.charts.catalog import Chart, charts
from beamline.sandbox.charts.packages import packed

ROWS: list[dict[str, Any]] = yaml.safe_load(Path(__file__).with_name("values.yaml").read_text())
RELEASES = [(chart, version) for chart in charts() for version in chart.versions]


def files(chart: Chart, version: str) -> dict[str, str]:
    with tarfile.open(fileobj=io.BytesIO(packed(chart, version))) as archive:
        return {
            member.name.removeprefix(f"{chart.name}/"): (archive.extractfile(member) or io.BytesIO()).read().decode()
            for member in archive
        }


def schema_of(name: str) -> dict[str, Any]:
    chart = next(chart for chart in charts() if chart.name == name)
    schema: dict[str, Any] = json.loads(files(chart, chart.versions[0])["values.schema.json"])
    return schema


@pytest.mark.parametrize(("chart", "version"), RELEASES, ids=lambda part: getattr(part, "name", part))
def test_an_archive_is_a_chart_and_always_the_same(chart: Chart, version: str) -> None:
    found = files(chart, version)
    metadata = yaml.safe_load(found["Chart.yaml"])
    assert (metadata["name"], metadata["version"]) == (chart.name, version)
    assert any(name.startswith("crds/") for name in found) is (chart.definitions == "chart")
    first = packed(chart, version)
    packed.cache_clear()
    assert packed(chart, version) == first


def test_definitions_go_with_the_chart_that_installs_them() -> None:
    found = {chart.name: [n for n in files(chart, chart.versions[0]) if n.startswith("crds/")] for chart in charts()}
    assert found == {
        "dra-driver-nvidia-gpu": ["crds/computedomains.resource.nvidia.com.yaml"],
        "dynamo-platform": [],
        "lws": ["crds/leaderworkersets.leaderworkerset.x-k8s.io.yaml"],
    }


@pytest.mark.parametrize("chart", charts(), ids=lambda chart: chart.name)
def test_a_charts_own_values_fit_its_schema(chart: Chart) -> None:
    schema = schema_of(chart.name)
    jsonschema.Draft7Validator.check_schema(schema)
    jsonschema.validate(yaml.safe_load(files(chart, chart.versions[0])["values.yaml"]), schema)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row['chart']} {row.get('refused', 'good')}")
def test_values_are_judged(row: dict[str, Any]) -> None:
    found = [error.message for error in jsonschema.Draft7Validator(schema_of(row["chart"])).iter_errors(row["values"])]
    if "refused" in row:
        assert any(row["refused"] in message for message in found)
    else:
        assert found == []
