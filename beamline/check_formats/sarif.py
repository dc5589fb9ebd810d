"""SARIF 2.1.0, which GitHub code scanning, Azure DevOps and editors read.

Source: OASIS, Static Analysis Results Interchange Format (SARIF) Version 2.1.0, sections 3.13 to 3.52.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from beamline import __version__
from beamline.check_formats.locations import location
from beamline.check_formats.verdicts import Verdict, fingerprint
from stacks.problems import Problem, Severity

__all__ = ["to_sarif"]

_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_LEVELS: dict[Severity, str] = {"error": "error", "warning": "warning", "note": "note"}
_FINGERPRINT = "beamlineProblem/v1"


def to_sarif(verdicts: Sequence[Verdict]) -> str:
    """Return one run with one result for each problem of each stack."""
    found = [(verdict, problem) for verdict in verdicts for problem in (*verdict.problems, *verdict.known)]
    ids = sorted({problem.rule for _, problem in found})
    run = {
        "tool": {"driver": {"name": "beamline", "semanticVersion": __version__, "rules": [{"id": one} for one in ids]}},
        "columnKind": "unicodeCodePoints",
        "originalUriBaseIds": {"CHECKOUT": {"description": {"text": "The folder that holds Pulumi.yaml."}}},
        "results": [
            _result(verdict, problem, ids.index(problem.rule)) | _state(verdict, problem, verdicts)
            for verdict, problem in found
        ],
    }
    return json.dumps({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2) + "\n"


def _state(verdict: Verdict, problem: Problem, verdicts: Sequence[Verdict]) -> dict[str, str]:
    """Say of every result whether a baseline has it, where there is one."""
    if not any(each.known for each in verdicts):
        return {}
    return {"baselineState": "unchanged" if problem in verdict.known else "new"}


def _result(verdict: Verdict, problem: Problem, index: int) -> dict[str, Any]:
    said = problem.to_json()
    return {
        "ruleId": problem.rule,
        "ruleIndex": index,
        "level": _LEVELS[problem.severity],
        "message": {"text": f"{problem.path}: {problem.why}\nRemedy: {problem.remedy}"},
        "locations": [_location(verdict, problem)],
        "partialFingerprints": {_FINGERPRINT: fingerprint(verdict.stack, problem.rule, problem.path)},
        "properties": {
            "stack": verdict.stack,
            **{key: said[key] for key in ("value", "allowed", "where", "source") if said[key] not in (None, "")},
        },
    }


def _location(verdict: Verdict, problem: Problem) -> dict[str, Any]:
    place = location(verdict, problem)
    is_relative = ":" not in place.uri
    return {
        "physicalLocation": {
            "artifactLocation": {"uri": place.uri, **({"uriBaseId": "CHECKOUT"} if is_relative else {})},
            "region": {"startLine": place.line, "startColumn": place.column},
        },
        "logicalLocations": [{"fullyQualifiedName": f"{verdict.title}: {problem.path}"}],
    }
