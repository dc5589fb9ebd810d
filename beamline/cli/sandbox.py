"""`beamline sandbox`: a stack applied for real on this machine, with a SIMULATED Google Cloud under it."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
import yaml
from rich.console import Console

from beamline.cli.against import allowing
from beamline.cli.completion import complete_sandbox
from beamline.cli.endings import end_with, problems_as_result
from beamline.cli.output import heading, pairs, said, show, show_json, table, tell
from beamline.cli.parameters import AllowReplaceOption, JsonOption, StackArgument
from beamline.cli.planning import resolved
from beamline.cli.preflight import simulated_preflight
from beamline.cli.selection import Selection, select, stack_name
from beamline.cli.stack_text import counted
from stacks import to_text

if TYPE_CHECKING:
    from beamline.sandbox import DownResult, Progress, Report, Status, UpResult

__all__ = ["app"]

app = typer.Typer(
    help="Apply stacks here, on a SIMULATED Google Cloud.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

SandboxArgument = Annotated[
    str, typer.Argument(metavar="STACK", help="The stack whose sandbox is meant.", autocompletion=complete_sandbox)
]


@app.command("up")
def up(stack: StackArgument, allow_replace: AllowReplaceOption = None, as_json: JsonOption = False) -> None:
    """Apply a stack; again: prove nothing changes."""
    from beamline import sandbox  # noqa: PLC0415 - servers, kopf and Pulumi, which no other verb needs

    with problems_as_result(as_json=as_json):
        selection = allowing(allow_replace or [], select(stack))
        resolved(selection)  # mistakes of the stack need neither tools nor servers
        with _stack_file(selection) as file, _progress() as report:
            result = sandbox.up(selection.name, file, report=report)
    if as_json:
        warnings = [problem.to_json() for problem in result.warnings]
        show_json({**asdict(result), "warnings": warnings, "simulated": True})
    else:
        _show_up(result)


@app.command("down")
def down(
    stack: SandboxArgument,
    force: Annotated[
        bool, typer.Option("--force", help="Do not destroy through the engine; end the servers and remove everything.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Destroy a stack and leave nothing behind.

    Destroys through the engine, proves cloud and cluster empty, ends the servers and removes the sandbox's folder.
    """
    from beamline import sandbox  # noqa: PLC0415

    with problems_as_result(as_json=as_json), _progress() as report:
        result = sandbox.down(stack_name(stack), force=force, report=report)
    if as_json:
        show_json(asdict(result))
    else:
        show(said(_down_line(result)))


@app.command("status")
def status(
    stack: Annotated[
        str | None,
        typer.Argument(metavar="[STACK]", help="Default: every sandbox.", autocompletion=complete_sandbox),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Show what runs, and what is not ready."""
    from beamline import sandbox  # noqa: PLC0415

    with problems_as_result(as_json=as_json):
        names = sandbox.sandbox_names() if stack is None else [stack_name(stack)]
        found = [sandbox.status(name) for name in names]
    if as_json:
        show_json({"sandboxes": [_status_json(each) for each in found]})
    elif not found:
        show(said("no sandbox"))
    for each in [] if as_json else found:
        _show_status(each)
    end_with(problem for each in found for problem in each.problems)


app.command("preflight")(simulated_preflight)


@app.command("shell", context_settings={"ignore_unknown_options": True})
def shell(
    stack: SandboxArgument,
    command: Annotated[
        list[str] | None, typer.Argument(metavar="[-- COMMAND]...", help="Run this instead of a shell.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Open a shell, or run a command, in a sandbox.

    kubectl and pulumi in it talk to the sandbox.
    """
    from beamline import sandbox  # noqa: PLC0415

    with problems_as_result(as_json=as_json):
        found = sandbox.shell(stack_name(stack), command or [])
    if as_json:
        own = {key: value for key, value in found.environment.items() if os.environ.get(key) != value}
        show_json({"command": found.argv, "folder": str(found.folder), "environment": own})
        return
    if command is None:
        tell(f"SIMULATED Google Cloud of {stack_name(stack)}; kubectl and pulumi are ready; leave with exit")
    os.chdir(found.folder)
    try:
        os.execvpe(found.argv[0], found.argv, found.environment)  # noqa: S606 - the user's own command, no shell between
    except OSError as error:
        tell(f"{found.argv[0]} cannot be run: {error.strerror}")
        raise typer.Exit(127) from error


@app.command("logs")
def logs(
    stack: SandboxArgument,
    log: Annotated[str | None, typer.Argument(metavar="[LOG]", help="Default: list the logs there are.")] = None,
    lines: Annotated[int, typer.Option(min=1, help="How many lines from the end.")] = 50,
    as_json: JsonOption = False,
) -> None:
    """Show a server's log, a Pulumi run, or events."""
    from beamline import sandbox  # noqa: PLC0415

    name = stack_name(stack)
    with problems_as_result(as_json=as_json):
        key = "logs" if log is None else "lines"
        found = sandbox.log_names(name) if log is None else sandbox.logs(name, log, lines=lines)
    if as_json:
        show_json({"log": log, key: found})
    else:
        show(*(said(line) for line in found))


@contextmanager
def _stack_file(selection: Selection) -> Iterator[Path]:
    """Give a selection as a stack file; a preset has none, so it gets one for the length of the run."""
    if selection.file is not None:
        yield selection.file
        return
    with tempfile.TemporaryDirectory(prefix="beamline-") as folder:
        file = Path(folder) / f"Pulumi.{selection.name}.yaml"
        file.write_text(yaml.safe_dump({"config": selection.config}, sort_keys=False), encoding="utf-8")
        yield file


@contextmanager
def _progress() -> Iterator[Report]:
    """Show progress on stderr: one line that changes on a terminal, one line per step elsewhere."""
    from beamline.sandbox import print_progress  # noqa: PLC0415

    console = Console(file=sys.stderr, soft_wrap=True)
    if not console.is_terminal:
        yield print_progress(console)
        return
    with console.status("starting") as spinner:

        def report(progress: Progress) -> None:
            spinner.update(said(str(progress)))

        yield report


def _show_up(result: UpResult) -> None:
    changes = ", ".join(f"{count} {operation}" for operation, count in sorted(result.changes.items()))
    again = "; applied again: nothing to change" if result.verified_unchanged else ""
    took = ", ".join(f"{part} {seconds:.0f} s" for part, seconds in result.seconds.items())
    rows = list(_output_rows(result.outputs))
    show(
        said(f"{result.name}: applied to a SIMULATED Google Cloud ({changes}{again}) in {took}"),
        heading("outputs"),
        table(("output", "value"), rows),
        *([heading("warnings"), said(to_text(result.warnings))] if result.warnings else []),
        heading("look at it"),
        said(f".venv/bin/beamline sandbox status {result.name}"),
        said(f".venv/bin/beamline sandbox shell {result.name} -- kubectl get pods -A"),
        said(f".venv/bin/beamline sandbox down {result.name}"),
    )


def _output_rows(outputs: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    """One row per value; what is inside a structure is named by its path, and what is deeper is only counted off."""
    for name, value in outputs.items():
        if not isinstance(value, Mapping):
            yield name, str(value)
        elif any(isinstance(inner, Mapping) for inner in value.values()):
            yield name, ", ".join(value)
        else:
            yield from ((f"{name}.{key}", str(inner)) for key, inner in value.items())


def _down_line(result: DownResult) -> str:
    if not result.existed:
        return f"{result.name}: there is no sandbox"
    if not result.proven_empty:
        return f"{result.name}: servers ended, folder removed; nothing was destroyed through the engine"
    return f"{result.name}: {result.destroyed} resources destroyed; cloud and cluster proven empty; servers ended"


def _status_json(found: Status) -> dict[str, object]:
    own = found.to_json()
    ready = {"nodes_ready": own.pop("nodes"), "pods_ready": own.pop("pods")}
    problems = own.pop("problems")
    return {**own, **ready, "problems": problems, "simulated": True}


def _show_status(found: Status) -> None:
    facts = [
        ("state", found.state),
        ("applied", "yes" if found.applied else "no"),
        ("resources", str(found.resources)),
        ("nodes ready", found.nodes),
        ("pods ready", found.pods),
        ("API server", found.endpoint),
        ("kubeconfig", found.kubeconfig),
        ("folder", found.folder),
    ]
    servers = [
        (
            p.name,
            "simulated" if p.simulated else "real",
            "running" if p.alive else "ended",
            str(p.pid),
            "" if p.memory_mib is None else str(p.memory_mib),
        )
        for p in found.processes
    ]
    show(said(f"{found.name}: SIMULATED Google Cloud; {counted(found.problems)}"), pairs([f for f in facts if f[1]]))
    if servers:
        show(heading("servers"), table(("server", "is", "state", "pid", "MiB"), servers, right=("pid", "MiB")))
    if found.problems:
        show(heading("problems"), said(to_text(found.problems)))
