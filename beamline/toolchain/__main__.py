"""``python -m beamline.toolchain``: get every program the sandbox needs, then say where each came from."""

from __future__ import annotations

import sys
import time

from rich.console import Console
from rich.table import Column, Table

from beamline.toolchain import describe, ensure
from stacks.problems import EnvironmentProblem


def main() -> int:
    """Ensure all programs and print the table; 3 when one cannot be had."""
    started = time.monotonic()
    try:
        ensure()
    except EnvironmentProblem as problem:
        Console(stderr=True).print(str(problem), markup=False, highlight=False)
        return 3
    table = Table("program", "version", "from", "build time", Column("path", overflow="fold"), box=None, pad_edge=False)
    for tool in describe():
        built = "" if tool.build_s is None else f"{tool.build_s:.0f} s"
        table.add_row(tool.program, tool.version, tool.origin, built, str(tool.path))
    console = Console(width=max(Console().width, 160))
    console.print(table)
    console.print(f"all {table.row_count} programs ready after {time.monotonic() - started:.1f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
