"""Objects and Helm releases as YAML files, for GitOps: what ``beamline render`` writes.

The same stack always gives the same bytes. File names have the area and the place in it, so that applying objects and
installing releases in order of name respects what each needs first. Nothing of Pulumi is in them.

A release's file says what to install and how; ``kubectl`` cannot apply it.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, get_args

import yaml

from manifests.objects import Area, HelmRelease, KubernetesObject

__all__ = ["document", "release_files", "write"]

_READ_OTHERWISE = re.compile(r"[yYnN]|[-+]?(\.[0-9]+|[0-9][0-9_]*(\.[0-9_]*)?)[eE][-+]?[0-9]+|0o[0-7_]+")
"""Texts that PyYAML would write bare, and that the YAML reader of kubectl and Helm takes for booleans or numbers."""


class _Dumper(yaml.SafeDumper):
    """Block style throughout, texts of several lines as literal blocks, and no anchors."""

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002 - PyYAML's signature
        """Write a value again where it occurs again."""
        return True


def _text(dumper: yaml.SafeDumper, value: str) -> yaml.ScalarNode:
    style = "|" if "\n" in value else "'" if _READ_OTHERWISE.fullmatch(value) else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=style)


_Dumper.add_representer(str, _text)


def write(objects: Sequence[KubernetesObject], releases: Sequence[HelmRelease] = ()) -> dict[str, str]:
    """Return file texts by file name, one object or release each, in the order of names, which is that of applying."""
    return {
        name: document(item.body) if isinstance(item, KubernetesObject) else _release(item, name)
        for name, item in _placed(objects, releases)
    }


def release_files(objects: Sequence[KubernetesObject], releases: Sequence[HelmRelease]) -> dict[str, HelmRelease]:
    """Return the releases by the names of the files that ``write`` gives them, in order."""
    return {name: item for name, item in _placed(objects, releases) if isinstance(item, HelmRelease)}


def _install_command(release: HelmRelease, values: str) -> list[str]:
    """The command that installs ``release``, its values in the file ``values`` (``-``: from standard input)."""
    chart = release.chart
    repository = ["--repo", chart.repository] if chart.repository else []
    place = ["--version", chart.version, "--namespace", chart.namespace]
    wait = ["--wait", "--timeout", f"{release.timeout_s}s"]
    return ["helm", "upgrade", "--install", release.name, chart.chart, *repository, *place, *wait, "-f", values]


def _placed(
    objects: Sequence[KubernetesObject], releases: Sequence[HelmRelease]
) -> Iterator[tuple[str, KubernetesObject | HelmRelease]]:
    """Yield everything with its file name, area by area."""
    for number, area in enumerate(get_args(Area), start=1):
        items = _in_order([o for o in objects if o.area == area], [r for r in releases if r.area == area])
        for place, item in enumerate(items, start=1):
            suffix = "yaml" if isinstance(item, KubernetesObject) else "helm.yaml"
            yield f"{number}-{area}-{place:02d}-{item.name}.{suffix}", item


def _in_order(
    objects: Sequence[KubernetesObject], releases: Sequence[HelmRelease]
) -> Iterator[KubernetesObject | HelmRelease]:
    """Yield one area's objects in the order given, each release as soon as all it comes after is there."""
    there: set[str] = set()
    waiting = list(releases)
    for item in [None, *objects]:
        if item is not None:
            there.add(item.name)
            yield item
        for release in [r for r in waiting if there.issuperset(r.after)]:
            waiting.remove(release)
            yield release
    if waiting:
        raise ValueError(f"{waiting[0].name} comes after {', '.join(waiting[0].after)}: not all objects of its area")


def _release(release: HelmRelease, file: str) -> str:
    chart = release.chart
    command = f"# yq .values {file} | {shlex.join(_install_command(release, '-'))}\n"
    repository = {"repository": chart.repository} if chart.repository else {}
    return command + document(
        {
            "release": release.name,
            "namespace": chart.namespace,
            "chart": chart.chart,
            **repository,
            "version": chart.version,
            "values": release.values,
        }
    )


def document(body: Mapping[str, Any]) -> str:
    """Return ``body`` as one YAML document, its keys in their own order."""
    text: str = yaml.dump(dict(body), Dumper=_Dumper, sort_keys=False, width=1000, allow_unicode=True)
    return text
