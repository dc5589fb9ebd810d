"""What a long command says while it works."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from rich.console import Console

__all__ = ["Progress", "Report", "print_progress", "silent"]


@dataclass(frozen=True)
class Progress:
    """One line of progress; ``done`` and ``total`` count resources where there is something to count."""

    step: str
    text: str
    done: int | None = None
    total: int | None = None

    def __str__(self) -> str:
        count = "" if self.done is None else f" [{self.done}{'' if self.total is None else f'/{self.total}'}]"
        return f"{self.step}{count}: {self.text}"


Report = Callable[[Progress], None]
"""Called from the thread that runs the command."""


def silent(_: Progress) -> None:
    """Report nothing."""


def print_progress(console: Console) -> Report:
    """Return a report that prints each line to ``console``."""

    def report(progress: Progress) -> None:
        console.print(str(progress), markup=False, highlight=False)

    return report
