"""Third parties' charts: which, how they are installed, in which order, and that their values have the chart's keys."""

from __future__ import annotations

from dataclasses import replace

import pytest
import yaml
from jsonschema import Draft7Validator

from beamline.sandbox.charts.catalog import charts
from manifests import HelmRelease, KubernetesObject, releases, render
from manifests.rendering import release_files, write

from .cases import CASES, spec_of

WITH_CHARTS = [case for case in CASES if releases(spec_of(case))]


def of(case: str, name: str) -> HelmRelease:
    (found,) = (r for r in releases(spec_of(case)) if r.name == name)
    return found


def test_each_stack_has_the_charts_it_needs_and_no_other() -> None:
    wanted = {"g4-llmd": [], "a4x-max-llmd": ["dra-driver", "lws"], "one-node-nvlink": ["dra-driver"]}
    assert {case: [r.name for r in releases(spec_of(case))] for case in wanted} == wanted


@pytest.mark.parametrize("case", WITH_CHARTS)
def test_every_chart_of_the_stack_is_released_once_with_its_exact_version(case: str) -> None:
    spec = spec_of(case)
    assert sorted(r.chart.name for r in releases(spec)) == sorted(chart.name for chart in spec.charts.values())
    assert all(set(r.chart.version) <= set("0123456789.") for r in releases(spec))


@pytest.mark.parametrize("case", WITH_CHARTS)
def test_values_have_the_charts_own_keys(case: str) -> None:
    """A misspelt value is not an error in Helm, it is ignored; the stand-in charts' schemas refuse it."""
    for release in releases(spec_of(case)):
        (stand_in,) = (chart for chart in charts() if chart.name == release.chart.name)
        schema = yaml.safe_load((stand_in.folder / "values.schema.yaml").read_text(encoding="utf-8"))
        assert [e.message for e in Draft7Validator(schema).iter_errors(release.values)] == [], release.name


@pytest.mark.parametrize("case", WITH_CHARTS)
def test_what_something_comes_after_is_in_its_area_and_in_an_earlier_file(case: str) -> None:
    objects, installed = render(spec_of(case)), releases(spec_of(case))
    everything: list[HelmRelease | KubernetesObject] = [*objects, *installed]
    names = [name.partition(".")[0].split("-", 3) for name in write(objects, installed)]
    place = {(area, name): index for index, (_, area, _, name) in enumerate(names)}
    assert place.keys() == {(item.area, item.name) for item in everything}
    charted = {(release.area, release.name) for release in installed}
    for item in everything:
        for first in item.after:
            assert (item.area, first) in place, f"{item.name} comes after {first}"
            if (item.area, first) in charted or isinstance(item, HelmRelease):
                assert place[item.area, first] < place[item.area, item.name]


def test_the_file_of_a_release_says_how_it_is_installed_and_with_what() -> None:
    spec = spec_of("a4x-max-llmd")
    files = write(render(spec), releases(spec))
    name = next(n for n in files if n.endswith("-lws.helm.yaml"))
    command, _, text = files[name].partition("\n")
    assert command == (
        f"# yq .values {name} | helm upgrade --install lws oci://registry.k8s.io/lws/charts/lws --version 0.9.0 "
        "--namespace lws-system --wait --timeout 600s -f -"
    )
    read = yaml.safe_load(text)
    assert (read["release"], read["namespace"], read["version"]) == ("lws", "lws-system", "0.9.0")
    assert read["chart"] == "oci://registry.k8s.io/lws/charts/lws"
    assert read["values"] == of("a4x-max-llmd", "lws").values


def test_a_chart_of_an_https_repository_is_named_with_it() -> None:
    release = of("a4x-max-llmd", "lws")
    there = replace(release.chart, chart="lws", repository="https://charts.example")
    (text,) = write([], [replace(release, chart=there, after=())]).values()
    assert " helm upgrade --install lws lws --repo https://charts.example --version 0.9.0 " in text.partition("\n")[0]
    assert yaml.safe_load(text)["repository"] == "https://charts.example"


def test_a_release_that_waits_for_nothing_there_is_an_error() -> None:
    with pytest.raises(ValueError, match=r"lws comes after elsewhere"):
        release_files(render(spec_of("a4x-max-llmd")), [replace(of("a4x-max-llmd", "lws"), after=("elsewhere",))])
