"""A pool takes over from another, step by step, and the ready replicas never fall below those configured.

The engine, the API server and the scheduler are real. SIMULATED: Google Cloud, kubelets and GKE's controllers.
The tests run in file order in one sandbox.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.blue_green.sequence import NAME, REPLICAS, Recording, recordings

pytestmark = pytest.mark.sandbox


@pytest.fixture(scope="module")
def steps(sandboxes: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Recording]:
    assert sandboxes.exists()
    return recordings(tmp_path_factory.mktemp("blue-green"))


def _sound(recording: Recording) -> None:
    """Capacity held at every moment; nothing is left to do, or to be said."""
    assert [moment for moment in recording.moments if moment.together < REPLICAS] == []
    assert (recording.unchanged, recording.warnings) == (True, ())
    last = recording.moments[-1]
    assert (last.together, last.starting, last.ending) == (REPLICAS, 0, 0)


def test_a_pool_that_stands_by_gets_no_pod(steps: Iterator[Recording]) -> None:
    recording = next(steps)
    _sound(recording)
    assert recording.nodes == {"green": REPLICAS, "main": REPLICAS}
    assert [dict(moment.ready) for moment in recording.moments] == [{"main": REPLICAS}]


def test_a_drain_moves_pods_one_by_one_and_loses_none(steps: Iterator[Recording]) -> None:
    recording = next(steps)
    _sound(recording)
    assert recording.moments[0].ready == {"main": REPLICAS}
    assert recording.moments[-1].ready == {"green": REPLICAS}
    assert max(moment.together + moment.starting for moment in recording.moments) == REPLICAS + 1


def test_a_pool_that_is_left_out_goes_only_when_it_is_named(steps: Iterator[Recording]) -> None:
    recording = next(steps)
    _sound(recording)
    assert recording.refused == (f"would-delete {NAME}-main-pool",)
    assert recording.nodes == {"green": REPLICAS}
    assert [dict(moment.ready) for moment in recording.moments] == [{"green": REPLICAS}]
