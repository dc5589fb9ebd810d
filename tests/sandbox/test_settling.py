"""Done means ready, except what the stack itself said not to wait for."""

from __future__ import annotations

from typing import Any

import pytest

from beamline.sandbox import settling, standstill
from beamline.sandbox.kubernetes_api import Object
from beamline.sandbox.progress import Progress
from beamline.sandbox.settling import settled
from stacks.problems import ProblemsFound
from tests.sandbox.clusters import Cluster, item, pod

_NOT_READY = ("Ready", "False", "containers with unready status: [vllm]")
_SERVICE = item("Service", "vllm", spec={"selector": {"app": "vllm"}})
_POD: dict[str, Any] = {"owner": ("StatefulSet", "vllm"), "labels": {"app": "vllm"}}


def _workload(**annotations: str) -> Object:
    workload = item("StatefulSet", "vllm", spec={"template": {"metadata": {"labels": {"app": "vllm"}}}})
    workload["metadata"]["annotations"] = annotations
    return workload


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Time that passes only by waiting."""
    now = [0.0]
    monkeypatch.setattr(standstill.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(settling.time, "sleep", lambda seconds: now.__setitem__(0, now[0] + seconds))


def test_what_becomes_ready_is_waited_for() -> None:
    cluster = Cluster(_workload(), pod("vllm-0", _NOT_READY, **_POD))
    lines: list[str] = []

    def report(progress: Progress) -> None:
        lines.append(str(progress))
        cluster.objects = [_workload(), pod("vllm-0", ("Ready", "True", ""), **_POD)]

    assert settled(cluster, 600.0, report) == []
    assert lines == ["settle: waiting for StatefulSet beam/vllm"]


def test_what_never_becomes_ready_is_a_problem_with_its_reason() -> None:
    cluster = Cluster(_workload(), pod("vllm-0", _NOT_READY, **_POD), _SERVICE)
    with pytest.raises(ProblemsFound) as raised:
        settled(cluster, 600.0, lambda _: None)
    assert [problem.rule for problem in raised.value.problems] == ["service-without-endpoints", "pod-not-ready"]


def test_what_the_stack_does_not_wait_for_is_a_warning_and_so_is_its_service() -> None:
    cluster = Cluster(_workload(**{"pulumi.com/skipAwait": "true"}), pod("vllm-0", _NOT_READY, **_POD), _SERVICE)
    found = settled(cluster, 600.0, lambda _: None)
    assert [(problem.rule, problem.severity) for problem in found] == [
        ("service-without-endpoints", "warning"),
        ("pod-not-ready", "warning"),
    ]


def test_a_service_that_selects_nothing_is_not_waited_for_nor_accepted() -> None:
    cluster = Cluster(
        _workload(**{"pulumi.com/skipAwait": "true"}),
        pod("vllm-0", _NOT_READY, **_POD),
        item("Service", "vllm", spec={"selector": {"app": "vlmm"}}),
    )
    with pytest.raises(ProblemsFound, match="service-selects-nothing"):
        settled(cluster, 600.0, lambda _: pytest.fail("waits"))
