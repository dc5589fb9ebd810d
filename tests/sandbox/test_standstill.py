"""An apply is cut short when nothing moves and Kubernetes says why; never while anything moves."""

from __future__ import annotations

import pytest

from beamline.sandbox import standstill
from beamline.sandbox.pulumi_runs import Run
from beamline.sandbox.standstill import Standstill
from stacks.problems import EnvironmentProblem
from tests.sandbox.clusters import Cluster, pod

_STUCK = pod("vllm", ("PodScheduled", "False", "0/1 nodes are available"))


def _changing() -> Run:
    return Run(steps={"urn:pulumi:g4::beamline::kubernetes:apps/v1:Deployment::vllm": ("update", ())})


class _Clock:
    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 1000.0
        monkeypatch.setattr(standstill.time, "monotonic", lambda: self.now)

    def seconds_until_given_up(self, watch: Standstill, run: Run, limit: int = 10_000) -> int | None:
        for second in range(1, limit):
            self.now += 1
            if not watch.keep_waiting(run):
                return second
        return None


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> _Clock:
    return _Clock(monkeypatch)


@pytest.mark.parametrize(("time_scale", "want"), [(600.0, 32), (60.0, 122), (1.0, 7202)])
def test_patience_is_two_simulated_hours_and_at_least_half_a_minute(
    clock: _Clock, time_scale: float, want: int
) -> None:
    """Looked at every other second, and first after two."""
    watch = Standstill(Cluster(_STUCK), time_scale)
    assert clock.seconds_until_given_up(watch, _changing()) == want
    assert [problem.why for problem in watch.problems] == ["0/1 nodes are available"]


def test_a_healthy_cluster_is_waited_for_without_end(clock: _Clock) -> None:
    """What is missing may be no workload; then the engine's own time-out decides."""
    watch = Standstill(Cluster(pod("vllm", ("Ready", "True", ""))), 600.0)
    assert clock.seconds_until_given_up(watch, _changing()) is None


def test_every_move_starts_the_patience_again(clock: _Clock) -> None:
    cluster, run = Cluster(_STUCK), _changing()
    watch = Standstill(cluster, 600.0)
    assert clock.seconds_until_given_up(watch, run, limit=30) is None
    run.resource_events += 1
    assert clock.seconds_until_given_up(watch, run, limit=30) is None
    cluster.objects.append(pod("other", ("PodScheduled", "True", "")))
    assert clock.seconds_until_given_up(watch, run, limit=30) is None
    assert clock.seconds_until_given_up(watch, run) is not None


def test_errors_of_before_do_not_count_until_the_engine_changes_something(clock: _Clock) -> None:
    """The cluster may stand broken from the last apply, which this one is to put right."""
    run = Run(resource_events=3)
    watch = Standstill(Cluster(_STUCK), 600.0)
    assert clock.seconds_until_given_up(watch, run) is None
    run.steps = _changing().steps
    assert clock.seconds_until_given_up(watch, run) is not None


def test_an_api_server_that_is_away_is_the_engines_to_report(clock: _Clock) -> None:
    class Away(Cluster):
        def items(self, path: str, **_query: str) -> list[dict[str, object]]:
            raise EnvironmentProblem(path)

    assert clock.seconds_until_given_up(Standstill(Away(), 600.0), _changing(), limit=200) is None
