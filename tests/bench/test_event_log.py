"""Spans out of the engine's events, and following a log that grows."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from bench.event_log import follow, span_s


def begun(urn: str, op: str = "create") -> dict[str, Any]:
    return {"resourcePreEvent": {"metadata": {"urn": urn, "op": op, "type": "kubernetes:core/v1:Pod"}}}


def done(urn: str, op: str = "create", kind: str = "kubernetes:core/v1:Pod") -> dict[str, Any]:
    return {"resOutputsEvent": {"metadata": {"urn": urn, "op": op, "type": kind}}}


EVENTS = [
    (0.0, begun("cloud", "same")),
    (1.0, begun("a")),
    (1.5, done("network", kind="gcp:compute/network:Network")),
    (2.0, begun("b")),
    (3.0, done("b")),
    (7.5, done("a")),
    (9.0, {"summaryEvent": {}}),
]


def test_the_span_is_from_the_first_begun_to_the_last_created() -> None:
    assert span_s(EVENTS, {"a", "b"}) == 6.5


@pytest.mark.parametrize(
    ("events", "urns"),
    [
        pytest.param(EVENTS, {"a", "b", "c"}, id="one was not created"),
        pytest.param(EVENTS, {"a"}, id="one more was created"),
        pytest.param([(0.0, begun("a", "same")), (1.0, done("a", "same"))], {"a"}, id="one was there already"),
    ],
)
def test_another_set_of_objects_is_no_measurement(events: list[tuple[float, dict[str, Any]]], urns: set[str]) -> None:
    with pytest.raises(ValueError, match="other objects than meant"):
        span_s(events, urns)


def test_following_reads_what_is_written_until_the_process_ends(tmp_path: Path) -> None:
    log = tmp_path / "events.jsonl"
    program = (
        "import sys; log = open(sys.argv[1], 'a', buffering=1)\n"
        "log.write('{\"n\": 1}\\n{\"n\"'); log.flush(); log.write(': 2}\\n'); log.write('{\"n\": 3}\\n')"
    )
    with subprocess.Popen([sys.executable, "-c", program, str(log)]) as process:
        events = list(follow(process, log))
    assert [event for _, event in events] == [json.loads(f'{{"n": {n}}}') for n in (1, 2, 3)]
    stamps = [seen for seen, _ in events]
    assert stamps == sorted(stamps)
