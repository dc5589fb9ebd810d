"""Whatever is changed in a stack that serves, all replicas but one are ready at every moment: there are no spare GPUs.

The tests run in file order in one sandbox; the cloud and what runs in pods are SIMULATED.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from beamline import sandbox
from tests.rollouts.changes import CHANGES, NAME, REPLICAS, Change, Recording, recordings

pytestmark = pytest.mark.sandbox


@pytest.fixture(scope="module")
def steps(sandboxes: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Recording]:
    assert sandboxes.exists()
    return recordings(tmp_path_factory.mktemp(NAME))


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.says)
def test_a_change_keeps_serving(change: Change, steps: Iterator[Recording]) -> None:
    recording = next(steps)
    assert recording.change == change
    least = min(moment.together for moment in recording.moments)
    most = max(moment.together + moment.starting for moment in recording.moments)
    assert (least, most) == (REPLICAS - 1 if change.pods else REPLICAS, REPLICAS)
    last = recording.moments[-1]
    assert (last.together, last.starting, last.ending) == (REPLICAS, 0, 0)
    assert recording.warnings == ()


def test_the_sandbox_is_taken_down() -> None:
    assert sandbox.down(NAME).proven_empty
