"""Run a Pulumi program in this process: no engine, no cloud, no login, no network.

``beamline plan`` and the tests run the same ``__main__.py`` that ``pulumi up`` runs. After the first run, whose cost
is importing the SDKs, a run costs milliseconds, so every preset can be planned in one test session. Each run gets its
own event loop and its own context, in which the SDK keeps all of its state.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import io
import os
import runpy
import sys
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Executor
from pathlib import Path
from typing import Any

import pulumi

from beamline.engine.graph import Graph, Log
from beamline.engine.monitor import InMemoryEngine, InMemoryMonitor, Recall
from stacks.problems import EnvironmentProblem, ProblemsFound
from stacks.pulumi_values import pulumi_config, secret_keys

__all__ = ["run_program"]

_PARALLEL = 16  # the command line's default


def run_program(
    program_dir: Path, *, project: str, stack: str, config: Mapping[str, object], recall: Recall | None = None
) -> Graph:
    """Run the program in ``program_dir`` as a first preview of ``stack`` and return what it registered.

    ``config`` is the stack file's ``config:`` section. With ``recall``, which knows what an earlier update has made, it
    is a later preview. Raises ``ProblemsFound`` or ``EnvironmentProblem`` as the
    program raised it; any other exception is a defect of the program and comes with its own traceback.
    """
    program_dir = program_dir.resolve()
    if not (program_dir / "__main__.py").is_file():
        raise EnvironmentProblem(f"there is no Pulumi program in {program_dir}: it has no __main__.py")
    _refuse_foreign_modules(program_dir)
    monitor, engine = InMemoryMonitor(project, stack, recall), InMemoryEngine()
    settings: dict[str, Any] = {
        "monitor": monitor,
        "engine": engine,
        "project": project,
        "stack": stack,
        "parallel": _PARALLEL,
        "dry_run": True,
        "organization": "organization",  # what a backend without organizations reports
        "root_directory": str(program_dir),
    }
    with _program_surroundings(program_dir) as printed:
        contextvars.copy_context().run(_run, program_dir, settings, config)
    said = tuple(Log("info", line) for line in printed.getvalue().splitlines() if line.strip())
    return monitor.graph(tuple(engine.logs) + said)


def _run(program_dir: Path, settings: dict[str, Any], config: Mapping[str, object]) -> None:
    """Run one program in the current context."""
    pulumi.runtime.settings.ROOT.set(None)
    pulumi.runtime.set_all_config(pulumi_config(config), secret_keys(config))
    pulumi.runtime.configure(pulumi.runtime.Settings(**settings))
    loop = _InlineLoop()
    # The SDK leaves futures unread when a program fails; the failure itself is what is raised.
    loop.set_exception_handler(lambda _loop, _context: None)
    try:
        loop.run_until_complete(pulumi.runtime.run_in_stack(_program(program_dir)))
    except SystemExit as stop:
        if isinstance(stop.__cause__, ProblemsFound | EnvironmentProblem):
            raise stop.__cause__ from None
        raise RuntimeError(f"the program ended itself with exit code {stop.code}") from stop
    finally:
        _cancel_leftovers(loop)
        loop.close()
        _forget_settings()


def _program(program_dir: Path) -> Callable[[], None]:
    def run() -> None:
        runpy.run_path(str(program_dir), run_name="__main__")

    return run


class _InlineLoop(asyncio.SelectorEventLoop):
    """An event loop whose executor calls run at once: the monitor answers from memory, so threads only cost."""

    def run_in_executor(
        self, _executor: Executor | None, func: Callable[..., Any], *args: object
    ) -> asyncio.Future[Any]:
        future: asyncio.Future[Any] = self.create_future()
        try:
            future.set_result(func(*args))
        except Exception as error:  # noqa: BLE001 - handed to whoever awaits the call
            future.set_exception(error)
        return future


def _cancel_leftovers(loop: asyncio.AbstractEventLoop) -> None:
    leftovers = asyncio.all_tasks(loop)
    for task in leftovers:
        task.cancel()
    if leftovers:
        loop.run_until_complete(asyncio.gather(*leftovers, return_exceptions=True))


def _forget_settings() -> None:
    """Make the SDK forget this run.

    A setting that changes from None becomes the default for contexts to come, and changes back only when it is None
    already: hence twice.
    """
    for _ in range(2):
        pulumi.runtime.Settings(project=None, stack=None)


@contextlib.contextmanager
def _program_surroundings(program_dir: Path) -> Iterator[io.StringIO]:
    """Give the program the working folder, strictness and standard streams it may count on; undo all afterwards.

    What it prints is caught: standard output belongs to this process' own result.
    """
    name = "PULUMI_ERROR_OUTPUT_STRING"  # an Output in an f-string is then an error instead of odd text
    before = os.environ.get(name)
    os.environ[name] = "true"
    printed = io.StringIO()
    try:
        with (
            contextlib.chdir(program_dir),
            contextlib.redirect_stdout(printed),
            contextlib.redirect_stderr(printed),
        ):
            yield printed
    finally:
        if before is None:
            del os.environ[name]
        else:
            os.environ[name] = before


def _refuse_foreign_modules(program_dir: Path) -> None:
    """Refuse to mix two checkouts: modules stay loaded, so the program would silently run this process' code."""
    own = {path.stem for path in program_dir.glob("*.py")} | {path.parent.name for path in program_dir.glob("*/*.py")}
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] not in own or name == "__main__":
            continue
        file = getattr(module, "__file__", None)
        if file and not Path(file).resolve().is_relative_to(program_dir):
            raise EnvironmentProblem(
                f"the program in {program_dir} brings its own {name.partition('.')[0]!r}, but this process has loaded "
                f"it from {file}: run the command of that checkout"
            )
