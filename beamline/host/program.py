"""Run one Pulumi program against a real engine; the host starts this as a subprocess.

What the official ``pulumi-language-python-exec`` does, plus two things: it ends when the host ends, and problems that
escape the program (from inside an ``apply``) are shown as problems, not as a traceback.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import runpy
import signal
import sys
import threading
import traceback
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pulumi

from components.program import USER_HAS_BEEN_TOLD, problems_reported

_THREADS_PER_OPERATION = 4  # as the official host


def main() -> int:
    """Run the program that the first argument describes (JSON); return the exit code."""
    run: dict[str, Any] = json.loads(sys.argv[1])
    # The command line interrupts its plugins' whole process group; a KeyboardInterrupt's traceback is no news.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    threading.Thread(target=_end_with_the_host, daemon=True).start()
    pulumi.runtime.set_all_config(pulumi.runtime.get_config_env(), pulumi.runtime.get_config_secret_keys_env())
    pulumi.runtime.configure(pulumi.runtime.Settings(**run["settings"]))
    # A program that stops half way leaves futures unread; asyncio would complain about each of them.
    logging.getLogger("asyncio").setLevel(logging.CRITICAL)
    sys.argv = [run["program"], *run["arguments"]]
    os.chdir(run["working_directory"])
    return _run(run["program"], parallel=run["settings"]["parallel"])


def _run(program: str, *, parallel: int) -> int:
    def body() -> None:
        runpy.run_path(program, run_name="__main__")

    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    with ThreadPoolExecutor(max(parallel, 1) * _THREADS_PER_OPERATION) as executor:
        loop.set_default_executor(executor)
        try:
            with problems_reported():
                loop.run_until_complete(pulumi.runtime.run_in_stack(body))
        except pulumi.RunError as error:
            pulumi.log.error(str(error))
            return USER_HAS_BEEN_TOLD
        except Exception as error:  # noqa: BLE001 - whatever a program raises is shown to its author
            pulumi.log.error(f"Program failed with an unhandled exception:\n{_traceback(error, program)}")
            return USER_HAS_BEEN_TOLD
        finally:
            loop.close()
    return 0


def _traceback(error: Exception, program: str) -> str:
    """Format the traceback from the program's own first line on; whole, if the program is not in it."""
    start = error.__traceback__
    while start is not None and not start.tb_frame.f_code.co_filename.startswith(program):
        start = start.tb_next
    return "".join(traceback.format_exception(type(error), error, start or error.__traceback__))


def _end_with_the_host() -> None:
    """Leave at once when the host is gone: nobody would wait for this program any more."""
    os.read(sys.stdin.fileno(), 1)
    os._exit(1)


if __name__ == "__main__":
    sys.exit(main())
