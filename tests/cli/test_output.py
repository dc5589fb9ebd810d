"""Nothing is cut: a pipe gets whole lines, a narrow terminal gets folded ones."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from beamline.cli.output import heading, pairs, said, show, table
from stacks.problems import Problem, to_text

LONG = "https://example.com/" + "x" * 300


def test_a_pipe_gets_whole_lines(capsys: pytest.CaptureFixture[str]) -> None:
    show(table(("a", "number"), [("short", "1"), (LONG, "22")], right=("number",)), heading("b"), pairs([("k", LONG)]))
    width = len(LONG)
    assert capsys.readouterr().out == (
        f"{'a':{width}}  number\n{'short':{width}}       1\n{LONG}      22\n\nb\nk  {LONG}\n"
    )


def test_brackets_of_others_are_no_markup(capsys: pytest.CaptureFixture[str]) -> None:
    problem = Problem("rule", "path", why="[bold]not bold[/bold] :smile:", remedy="none", value=["[red]"])
    show(said(to_text([problem])), table(("[red]",), [("[red]x[/red]",)]))
    assert "[bold]not bold[/bold] :smile:" in (out := capsys.readouterr().out)
    assert "[red]x[/red]" in out


@pytest.mark.parametrize("width", [40, 80, 200])
def test_a_terminal_folds_and_drops_nothing(width: int) -> None:
    text = io.StringIO()
    console = Console(file=text, width=width, force_terminal=True, color_system=None)
    console.print(table(("what", "where"), [("word", LONG)]))
    console.print(table(("what", "middle", "where"), [("y" * 30, "y" * 30, "short")]))
    console.print(pairs([("what", LONG)]))
    assert (text.getvalue().count("x"), text.getvalue().count("y")) == (2 * LONG.count("x"), 60)
    assert "…" not in text.getvalue()


def test_short_columns_stay_whole_where_the_long_ones_can_fold() -> None:
    text = io.StringIO()
    console = Console(file=text, width=60, force_terminal=True, color_system=None)
    console.print(table(("preset", "evidence", "text"), [("g4-llmd", "1 derived, 6 documented", "a b " * 30)]))
    console.print(table(("evidence", "text"), [("1 derived, 6 documented", "a b " * 30)], long=("evidence", "text")))
    lines = text.getvalue().splitlines()
    assert lines[1].startswith("g4-llmd  1 derived, 6 documented  a b")
    assert "1 derived, 6 documented" not in lines[-1]
