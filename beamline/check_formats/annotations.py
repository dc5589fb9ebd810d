"""GitHub's annotations: lines of a job's output that a pull request shows beside the code.

Source: GitHub docs, workflow commands: setting an error message; what has to be written as %XX.
"""

from __future__ import annotations

from collections.abc import Iterable

from beamline.check_formats.locations import location
from beamline.check_formats.verdicts import Verdict
from stacks.problems import Problem, Severity, to_text

__all__ = ["to_annotations"]

_COMMANDS: dict[Severity, str] = {"error": "error", "warning": "warning", "note": "notice"}


def to_annotations(verdicts: Iterable[Verdict]) -> str:
    """Return a line for each problem of each stack."""
    return "".join(_line(verdict, problem) for verdict in verdicts for problem in verdict.problems)


def _line(verdict: Verdict, problem: Problem) -> str:
    place = location(verdict, problem)
    properties = {
        "file": place.uri,
        "line": place.line,
        "col": place.column,
        "title": f"{verdict.title}: {problem.rule}",
    }
    written = ",".join(f"{key}={_property(str(value))}" for key, value in properties.items())
    return f"::{_COMMANDS[problem.severity]} {written}::{_data(to_text([problem]))}\n"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
