"""What the engine's event log says becomes progress, errors and a result; an interrupted engine is let end."""

from __future__ import annotations

import json
import signal
from pathlib import Path
from typing import Any

import pytest

from beamline.sandbox.engine_problems import error_problems, unexpected
from beamline.sandbox.home import Home, home_of
from beamline.sandbox.pulumi_runs import EngineError, Run, run
from tests.toolchain.machines import executable

_URN = "urn:pulumi:g4::beamline::beamline:serving:Llmd$kubernetes:apps/v1:Deployment::vllm"
_STACK = "urn:pulumi:g4::beamline::pulumi:pulumi:Stack::beamline-g4"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    monkeypatch.setenv("BEAMLINE_HOME", str(tmp_path))
    home = home_of("g4")
    home.create()
    return home


def _step(op: str, urn: str = _URN, kind: str = "kubernetes:apps/v1:Deployment", **more: Any) -> dict[str, Any]:
    return {"metadata": {"op": op, "urn": urn, "type": kind, **more}}


def _pulumi(home: Home, *events: dict[str, Any], then: str = "exit 0", when_interrupted: str | None = None) -> None:
    """Put a ``pulumi`` there that writes these events to its event log, then ends or waits to be interrupted."""
    log = home.folder / "events"
    log.write_text("".join(f"{json.dumps(event)}\n" for event in events))
    script = ['while [ "$1" != --event-log ]; do shift; done']
    if when_interrupted is not None:
        script.append(f"trap '{when_interrupted}; exit 255' INT")
        then = "while :; do sleep 0.1; done"
    executable(home.bin / "pulumi", "\n".join([*script, f'cat {log} >> "$2"', then]))


def test_progress_counts_resources_and_leaves_the_stack_itself_out(home: Home) -> None:
    _pulumi(
        home,
        {"resourcePreEvent": _step("create", _STACK, "pulumi:pulumi:Stack")},
        {"resourcePreEvent": _step("same", f"{_URN}-0")},
        {"resourcePreEvent": _step("create")},
        {"resOutputsEvent": _step("create")},
        {"resOutputsEvent": _step("create", _STACK, "pulumi:pulumi:Stack")},
        {"summaryEvent": {"resourceChanges": {"create": 2, "same": 1}}},
    )
    lines: list[str] = []
    found = run(home, "apply", "up", report=lambda progress: lines.append(str(progress)), total=1)
    assert lines == ["apply [0/1]: creating Deployment vllm", "apply [1/1]: done Deployment vllm"]
    assert found == Run(code=0, steps={_URN: ("create", ())}, changes={"create": 2, "same": 1}, resource_events=5)


def test_what_a_refresh_found_is_a_change_with_its_properties(home: Home) -> None:
    _pulumi(
        home,
        {"resourcePreEvent": _step("refresh")},
        {"resOutputsEvent": _step("update", detailedDiff={"spec.replicas": {"diffKind": "update"}})},
        then="exit 1",
    )
    problems = unexpected(home, run(home, "refresh", "refresh"), "refresh", "differs from what the engine applied")
    assert [(problem.path, problem.value, problem.why) for problem in problems] == [
        ("Deployment vllm", "spec.replicas", "differs from what the engine applied: update")
    ]


def test_errors_about_resources_win_over_the_engines_closing_words(home: Home) -> None:
    _pulumi(
        home,
        {"diagnosticEvent": {"urn": _URN, "severity": "warning", "message": "[MinimumReplicasUnavailable]"}},
        {"diagnosticEvent": {"urn": _URN, "severity": "error", "message": "<{%reset%}>timed out<{%reset%}>\n"}},
        {"policyEvent": {"resourceUrn": _URN, "enforcementLevel": "advisory", "policyName": "p", "message": "hm"}},
        {"policyEvent": {"resourceUrn": _URN, "enforcementLevel": "mandatory", "policyName": "p", "message": "no"}},
        {"diagnosticEvent": {"severity": "error", "message": "update failed"}},
        then="exit 255",
    )
    found = run(home, "apply", "up")
    assert (found.code, found.errors) == (
        255,
        [EngineError(_URN, "timed out"), EngineError(_URN, "p: no"), EngineError("", "update failed")],
    )
    assert [(problem.path, problem.why) for problem in error_problems(home, found, "up")] == [
        ("Deployment vllm", "timed out"),
        ("Deployment vllm", "p: no"),
    ]


def test_a_command_that_fails_before_its_engine_starts_is_quoted(home: Home) -> None:
    _pulumi(home, then='echo "error: no stack named g4 found" >&2; exit 255')
    assert run(home, "apply", "up").errors == [EngineError("", "no stack named g4 found")]


def test_an_engine_that_waits_in_vain_is_interrupted_and_let_end(home: Home) -> None:
    """As by Ctrl-C: it has the time to write its state."""
    last_words = home.folder / "last-words"
    last_words.write_text('{"diagnosticEvent": {"severity": "error", "message": "update canceled"}}\n')
    _pulumi(home, {"resourcePreEvent": _step("create")}, when_interrupted=f'cat {last_words} >> "$2"')
    found = run(home, "apply", "up", keep_waiting=lambda so_far: not so_far.steps)
    assert (found.code, found.interrupted, found.errors) == (255, True, [EngineError("", "update canceled")])


def test_an_engine_can_be_interrupted_where_interrupts_are_ignored(home: Home) -> None:
    """A shell's background job ignores SIGINT, and so would what it starts."""
    done = home.folder / "done"
    _pulumi(home, {"resourcePreEvent": _step("create")}, when_interrupted=f"touch {done}")
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        assert run(home, "apply", "up", keep_waiting=lambda so_far: not so_far.steps).code == 255
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)
    assert done.exists()


def test_an_interrupted_command_interrupts_its_engine_and_waits_for_it(home: Home) -> None:
    done = home.folder / "done"
    _pulumi(home, {"resourcePreEvent": _step("create")}, when_interrupted=f"touch {done}")

    def interrupt(so_far: Run) -> bool:
        if so_far.steps:
            raise KeyboardInterrupt
        return True

    with pytest.raises(KeyboardInterrupt):
        run(home, "apply", "up", keep_waiting=interrupt)
    assert done.exists()
