"""`beamline render`: a stack's Kubernetes objects and Helm releases as YAML files, for GitOps and for reading."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from beamline.cli.endings import problems_as_result
from beamline.cli.output import said, show, show_json, tell
from beamline.cli.parameters import JsonOption, StackArgument
from beamline.cli.planning import resolved
from beamline.cli.rendered_folder import update
from beamline.cli.selection import select
from manifests import HelmRelease, releases
from manifests import render as render_objects
from manifests.rendering import release_files, write
from stacks import to_text

__all__ = ["render"]

OutOption = Annotated[
    Path, typer.Option("--out", metavar="DIR", help="Folder for the files; new, empty, or from an earlier run.")
]


def render(stack: StackArgument, out: OutOption, as_json: JsonOption = False) -> None:
    """Write a stack's Kubernetes objects as YAML, and its Helm releases: one file each, in the order of their names.

    The first line of a release's file (.helm.yaml) is the command that installs it; kubectl cannot apply it.
    The same stack always gives the same bytes. Only files that an earlier run wrote are replaced or removed.
    """
    with problems_as_result(as_json=as_json):
        spec = resolved(select(stack))
        objects, charts = render_objects(spec), releases(spec)
        written = update(out, write(objects, charts))
    if spec.problems:
        tell(to_text(spec.problems))
    if as_json:
        told = [_told(name, release) for name, release in release_files(objects, charts).items()]
        show_json({"stack": spec.name, "folder": str(out), **asdict(written), "releases": told})
    else:
        count = len(written.changed) + len(written.unchanged)
        show(said(f"{count} files in {out}: {len(written.changed)} written, {len(written.removed)} removed"))


def _told(file: str, release: HelmRelease) -> dict[str, Any]:
    chart = release.chart
    return {
        "file": file,
        "release": release.name,
        "namespace": chart.namespace,
        "chart": chart.chart,
        "repository": chart.repository,
        "version": chart.version,
        "values": dict(release.values),
    }
