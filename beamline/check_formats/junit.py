"""JUnit XML, which Jenkins, GitLab and most others show as tests: a stack is a suite, a problem a failed test.

Source: the schema that Jenkins' xUnit plugin checks with, junit-10.xsd.
"""

from __future__ import annotations

from collections.abc import Iterable
from xml.etree import ElementTree as ET

from beamline.check_formats.locations import location
from beamline.check_formats.verdicts import Verdict
from stacks.problems import Problem, to_text

__all__ = ["to_junit"]


def to_junit(verdicts: Iterable[Verdict]) -> str:
    """Return one suite for each stack; errors are failures, and a stack without one is a test that passed."""
    root = ET.Element("testsuites", name="beamline check")
    for verdict in verdicts:
        errors = [problem for problem in verdict.problems if problem.severity == "error"]
        suite = ET.SubElement(
            root, "testsuite", name=verdict.title, tests=str(max(len(errors), 1)), failures=str(len(errors)), errors="0"
        )
        for problem in errors:
            _failed(suite, verdict, problem)
        if not errors:
            ET.SubElement(suite, "testcase", classname=verdict.title, name="no errors")
        rest = [problem for problem in verdict.problems if problem.severity != "error"]
        if rest := [*rest, *verdict.known]:
            ET.SubElement(suite, "system-out").text = _allowed(to_text(rest))
    ET.indent(root)
    written: bytes = ET.tostring(root, encoding="us-ascii", xml_declaration=True)
    return f"{written.decode()}\n"


def _failed(suite: ET.Element, verdict: Verdict, problem: Problem) -> None:
    place = location(verdict, problem)
    case = ET.SubElement(
        suite,
        "testcase",
        classname=f"{verdict.title}.{problem.rule}",
        name=_allowed(problem.path),
        file=place.uri,
        line=str(place.line),
    )
    failure = ET.SubElement(case, "failure", type=problem.rule, message=_allowed(problem.why))
    failure.text = _allowed(to_text([problem]))


def _allowed(text: str) -> str:
    """Leave out what no XML document may hold."""
    return "".join(
        c for c in text if c in "\t\n\r" or " " <= c <= "\ud7ff" or "\ue000" <= c <= "\ufffd" or c > "\uffff"
    )
