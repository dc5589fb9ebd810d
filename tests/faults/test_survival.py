"""A stack survives kills inside a create, an update and a delete; without recover it would not.

Real engine, real Kubernetes provider and API server; SIMULATED Google Cloud, nodes and pods. `make faults` does twenty.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from beamline import sandbox
from tests.end_to_end.conftest import sandboxes
from tests.faults.agreement import Agreement
from tests.faults.killing import kill_in
from tests.faults.rounds import UP, Survived, compared, recovered, survived
from tests.faults.schedule import Kill, Victim, Work
from tests.faults.stack import Stack, opened

__all__ = ["sandboxes"]

pytestmark = pytest.mark.sandbox

IN_AGREEMENT = Agreement((), (), ())


@pytest.fixture(scope="module")
def stack(sandboxes: Path, tmp_path_factory: pytest.TempPathFactory) -> Stack:
    assert sandboxes.exists()
    return opened("faults", "small-l4", tmp_path_factory.mktemp("stack"))


def _report(_: str) -> None:
    pass


def _survived(stack: Stack, kill: Kill) -> Survived:
    result = survived(stack, kill, _report)
    assert (result.converged, result.agreement) == (True, IN_AGREEMENT), result
    return result


def test_a_killed_create_is_answered_409_until_it_is_recovered(stack: Stack) -> None:
    """Pulumi warns and creates again. What recover enters into the state is what the cloud has."""
    stack.configure({})
    killed = kill_in(stack, Kill(1, Work.CREATE, Victim.ENGINE, 0.0, lands=True), 0, *UP)
    assert killed is not None
    assert killed.operation.urn in killed.pending
    assert "currently locked" in stack.pulumi(*UP).output
    assert stack.pulumi("cancel", "--yes").code == 0
    again = stack.pulumi(*UP)
    assert again.code != 0
    assert "Error 409" in again.output
    _, did = recovered(stack)
    assert any("entered into the state" in each for each in did)
    assert stack.pulumi(*UP).code == 0
    assert stack.pulumi(*UP, "--expect-no-changes").code == 0
    assert compared(stack) == IN_AGREEMENT


def test_an_update_in_which_a_provider_dies_is_survived(stack: Stack) -> None:
    result = _survived(stack, Kill(2, Work.UPDATE, Victim.KUBERNETES, 0.0, lands=False))
    assert result.killed is not None
    assert result.killed.operation.kind.startswith("kubernetes:")


def test_a_delete_in_which_the_engine_dies_is_survived_and_nothing_is_left(stack: Stack) -> None:
    result = _survived(stack, Kill(3, Work.DELETE, Victim.ENGINE, 0.3, lands=True))
    assert result.killed is not None
    assert result.killed.operation.op == "delete"
    assert sandbox.down("faults").proven_empty
