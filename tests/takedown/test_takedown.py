"""Taking a stack down: what is refused before anything is touched, and what counts as left."""

from __future__ import annotations

from typing import Any

import pytest

from beamline.recovery.findings import IN_DOUBT, PLANNED
from beamline.takedown import take_down, takedown
from stacks.problems import ProblemsFound
from tests.recovery.fake_engine import FakeEngine, engine
from tests.recovery.states import NETWORK_ID, STACK, document, network

STANDING = document(network(id=NETWORK_ID, protect=True))
REPLACED = document(network(id="old", delete=True))
OTHERS = "urn:pulumi:{}::gcp:compute/network:Network::network"


def _refused(pulumi: FakeEngine) -> list[str]:
    """Try to take it down; return the rules of what stopped it."""
    with pytest.raises(ProblemsFound) as raised:
        take_down(pulumi, takedown(pulumi, STACK))
    return [problem.rule for problem in raised.value.problems]


def test_what_is_protected_is_lifted_and_everything_goes() -> None:
    pulumi = engine(STANDING, {})
    known = takedown(pulumi, STACK)
    assert (known.project, known.backend, known.resources, known.protected) == (
        "beamline",
        "gs://bucket",
        1,
        ["network"],
    )
    take_down(pulumi, known)
    assert pulumi.world["asked"][2:] == ["state unprotect", "destroy --yes", "stack export"]


@pytest.mark.parametrize("owner", ["prod::beamline", "dev::website"], ids=["another stack", "another project"])
def test_a_state_that_is_somebody_elses_is_refused(owner: str) -> None:
    """Pulumi reads an empty or qualified name in its own way, so the name alone does not tell whose state it is."""
    pulumi = engine(_only(owner), {})
    assert _refused(pulumi) == ["foreign-state"]
    assert pulumi.world["asked"] == ["stack export"]


def _only(owner: str) -> dict[str, Any]:
    return {"version": 3, "deployment": {"resources": [network(id=NETWORK_ID, urn=OTHERS.format(owner))]}}


@pytest.mark.parametrize("standing", [(), (network(id="old", delete=True),)], ids=["nothing else", "an old one"])
def test_what_was_being_created_is_recovered_first(standing: tuple[Any, ...]) -> None:
    """A destroy forgets it, and it would stay in the cloud without anybody knowing."""
    pulumi = engine(document(*standing, pending={"creating": network()}), {})
    assert _refused(pulumi) == ["state-pending"]
    assert "destroy --yes" not in pulumi.world["asked"]


@pytest.mark.parametrize("mark", [IN_DOUBT, PLANNED])
def test_what_a_recovery_had_begun_to_look_up_is_not_destroyed(mark: str) -> None:
    pulumi = engine(document(network(id=NETWORK_ID, initErrors=[mark])), {})
    assert _refused(pulumi) == ["state-in-doubt"]
    assert "destroy --yes" not in pulumi.world["asked"]


def test_what_was_replaced_and_is_still_there_counts() -> None:
    assert takedown(engine(REPLACED, {}), STACK).resources == 1


@pytest.mark.parametrize(
    "survives",
    [STANDING, REPLACED, document(pending={"deleting": network(id=NETWORK_ID)})],
    ids=["a resource", "a replaced one", "one whose deletion was cut off"],
)
def test_what_the_destroy_left_is_a_problem(survives: dict[str, Any]) -> None:
    assert _refused(engine(STANDING, {}, survives=survives)) == ["destroy-unfinished"]
