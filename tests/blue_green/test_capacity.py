"""What a watch tells is counted as it happened."""

from __future__ import annotations

from typing import Any

import pytest

from tests.blue_green.capacity import Moment, Pods, Watch


def event(kind: str, uid: str, version: int, node: str = "", *, ready: bool = False, ends: bool = False) -> Any:
    metadata = {"uid": uid, "resourceVersion": str(version), **({"deletionTimestamp": "now"} if ends else {})}
    status = {"conditions": [{"type": "Ready", "status": "True" if ready else "False"}]}
    return {"type": kind, "object": {"metadata": metadata, "spec": {"nodeName": node}, "status": status}}


def test_pods_are_counted_by_pool_and_leave_when_they_are_told_to() -> None:
    pods = Pods(lambda node: {"n1": "main", "n2": "green"}[node])
    told = [
        event("ADDED", "a", 1, "n1", ready=True),
        event("ADDED", "b", 2),
        event("MODIFIED", "b", 3, "n2", ready=True),
        event("MODIFIED", "a", 4, "n1", ready=True, ends=True),
        event("DELETED", "a", 5, "n1"),
    ]
    moments = []
    for second, one in enumerate(told):
        pods.told(one)
        moments.append(pods.moment(second))
    assert moments == [
        Moment(0, {"main": 1}, 0, 0),
        Moment(1, {"main": 1}, 1, 0),
        Moment(2, {"main": 1, "green": 1}, 0, 0),
        Moment(3, {"green": 1}, 0, 1),
        Moment(4, {"green": 1}, 0, 0),
    ]


def test_a_watch_that_ended_is_not_taken_for_silence() -> None:
    with pytest.raises(ValueError, match="the watch ended"):
        Pods(str).told({"type": "ERROR", "object": {"code": 410, "metadata": {"uid": "x"}}})


def test_a_watch_has_caught_up_when_it_told_what_the_list_has() -> None:
    watch = Watch()
    watch.read(iter([b'{"type": "ADDED", "object": {"metadata": {"uid": "a", "resourceVersion": "7"}}}\n']), 0.0)
    watch.caught_up({"items": [{"metadata": {"uid": "a", "resourceVersion": "7"}}]})
    assert len(watch.events) == 1
