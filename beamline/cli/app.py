"""The application: which verbs there are."""

from __future__ import annotations

import io
import sys
from typing import Annotated

import typer

from beamline import __version__
from beamline.cli import check, down, fork, lock, plan, preflight, presets, recover, render, sandbox, size
from beamline.cli.endings import Verbs

__all__ = ["app", "main"]

app = typer.Typer(
    name="beamline",
    cls=Verbs,
    help="Plan, check and try out an inference stack on Google Kubernetes Engine.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
app.command("presets")(presets.presets)
app.command("plan")(plan.plan)
app.command("check")(check.check)
app.command("render")(render.render)
app.command("size")(size.size)
app.command("fork")(fork.fork)
app.command("lock")(lock.lock)
app.command("preflight")(preflight.preflight)
app.command("recover")(recover.recover)
app.command("down")(down.down)
app.add_typer(sandbox.app, name="sandbox")


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"beamline {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", help="Write the version and end.", callback=_version, is_eager=True)
    ] = False,
) -> None:
    """Plan, check and try out an inference stack on Google Kubernetes Engine."""


def main() -> None:
    """Run the command line; characters that a terminal cannot write are escaped."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    app()
