"""Looking and mending, step by step, on a Pulumi that is a dictionary; tests/faults does it on the real one."""

from __future__ import annotations

import json
from typing import Any

import pytest

from beamline.recovery import look, mend
from beamline.recovery.findings import IN_DOUBT
from beamline.recovery.state import read_state
from stacks.problems import ProblemsFound
from tests.recovery.fake_engine import FakeEngine, engine
from tests.recovery.states import (
    NETWORK_ID,
    PROJECT,
    STACK,
    SUBNETWORK,
    deployment,
    document,
    network,
    own,
    release,
    resource,
)

TOPIC = resource("gcp:pubsub/topic:Topic", "topic", {"name": "t"})
NODES = resource(SUBNETWORK, "nodes", {"name": "beam-nodes", "region": "r"}, dependencies=[network()["urn"]])
NODES_ID = "projects/p/regions/r/subnetworks/beam-nodes"
LOCKED = """could not import deployment: the stack is currently locked by 1 lock(s).
  gs://bucket/.pulumi/locks/organization/beamline/dev/a.json: created by ann@elsewhere (pid 7) at 2026-11-30
"""


def _silent(_: str) -> None:
    pass


def _recovered(pulumi: FakeEngine, *, adopt: bool = False) -> tuple[list[tuple[str, str]], list[str]]:
    """Look and mend; return what was done, and the rules of what remains."""
    found = mend(pulumi, look(pulumi, STACK, _silent, adopt=adopt), _silent)
    return [(each.subject, each.did) for each in found.outcomes], [each.rule for each in found.problems]


def _state(pulumi: FakeEngine) -> list[Any]:
    return own(read_state(json.dumps(pulumi.world["document"]), STACK, PROJECT))


def test_what_exists_is_entered_and_what_does_not_is_forgotten() -> None:
    pulumi = engine(document(pending={"creating 1": network(), "creating 2": NODES}), {NETWORK_ID: {}})
    assert _recovered(pulumi) == (
        [
            ("Network network", f"exists as {NETWORK_ID}: entered into the state"),
            ("Subnetwork nodes", "does not exist: forgotten, the next run creates it"),
        ],
        [],
    )
    assert _state(pulumi) == [network(id=NETWORK_ID, outputs=network()["inputs"])]


@pytest.mark.parametrize("step", ["stack import", "refresh"])
def test_a_recovery_that_is_killed_is_repeated(step: str) -> None:
    pulumi = engine(document(pending={"creating 1": network(), "creating 2": NODES}), {NETWORK_ID: {}}, dies_at=step)
    with pytest.raises(KeyboardInterrupt):
        _recovered(pulumi)
    pulumi.world["dies_at"] = None
    _recovered(pulumi)
    assert _state(pulumi) == [network(id=NETWORK_ID, outputs=network()["inputs"])]
    assert look(pulumi, STACK, _silent).findings == ()


def test_an_interrupted_change_and_deletion_are_read_again() -> None:
    before = document(
        network(id=NETWORK_ID),
        {**NODES, "id": NODES_ID},
        pending={"updating": network(id=NETWORK_ID), "deleting": {**NODES, "id": NODES_ID}},
    )
    pulumi = engine(before, {NETWORK_ID: {"outputs": {"mtu": 1500}}})
    assert _recovered(pulumi) == (
        [("Network network", "read again; updating forgotten"), ("Subnetwork nodes", "it is gone; deleting forgotten")],
        [],
    )
    assert _state(pulumi) == [network(id=NETWORK_ID, outputs={"mtu": 1500})]


def test_what_a_provider_made_before_it_died_is_found_through_the_program() -> None:
    """The engine lives, takes the create for failed, and forgets it."""
    steps = [{"op": "create", "newState": each} for each in (network(), NODES)]
    pulumi = engine(document(), {NETWORK_ID: {}}, json.dumps({"steps": steps}))
    found = look(pulumi, STACK, _silent, adopt=True).findings
    assert [(each.subject, each.will.partition(":")[0], each.is_planned) for each in found] == [
        ("Network network", f"look it up as {NETWORK_ID}", True),
        ("Subnetwork nodes", f"look it up as {NODES_ID}", True),
    ]
    assert _recovered(pulumi, adopt=True) == (
        [("Network network", f"exists as {NETWORK_ID}: entered into the state")],
        [],
    )
    assert _state(pulumi) == [network(id=NETWORK_ID, outputs=network()["inputs"])]


def test_what_somebody_else_made_is_left_to_them() -> None:
    preview = json.dumps({"steps": [{"op": "create", "newState": network()}]})
    pulumi = engine(document(), {NETWORK_ID: {"inputs": {"name": "beam", "mtu": 1460}}}, preview)
    assert _recovered(pulumi, adopt=True) == ([], ["not-ours"])
    assert _state(pulumi) == []


def test_what_the_program_is_about_to_create_is_taken_over_only_when_that_is_asked_for() -> None:
    """It may be somebody else's: all that is known is that it bears the name."""
    preview = json.dumps({"steps": [{"op": "create", "newState": network()}]})
    pulumi = engine(document(), {NETWORK_ID: {}}, preview)
    assert _recovered(pulumi) == ([], ["not-looked-up"])
    assert _state(pulumi) == []
    assert "stack import" not in pulumi.world["asked"]


def test_what_an_interrupted_adoption_had_entered_needs_the_option_again() -> None:
    preview = json.dumps({"steps": [{"op": "create", "newState": network()}]})
    pulumi = engine(document(), {NETWORK_ID: {}}, preview, dies_at="refresh")
    with pytest.raises(KeyboardInterrupt):
        _recovered(pulumi, adopt=True)
    pulumi.world.update(dies_at=None, preview="{}")
    assert _state(pulumi) != []
    assert _recovered(pulumi) == ([("Network network", "taken out of the state, not looked up")], [])
    assert _state(pulumi) == []


def test_what_could_not_be_read_is_taken_out_again() -> None:
    """A destroy would delete what only bears the name; what was pending stays, for it leaves no other trace."""
    preview = json.dumps({"steps": [{"op": "create-replacement", "newState": network()}]})
    old = network(id="old")
    pulumi = engine(document(old, pending={"creating": NODES}), {}, preview, cannot_read="error: no credentials")
    with pytest.raises(ProblemsFound, match="no credentials"):
        _recovered(pulumi, adopt=True)
    before, nodes = _state(pulumi)
    assert before == old
    assert (nodes["urn"], nodes["id"], nodes["initErrors"]) == (NODES["urn"], NODES_ID, [IN_DOUBT])


def test_nothing_is_done_before_a_human_looked_up_what_only_they_can() -> None:
    """An import would drop the pending operation, and with it the only trace."""
    pulumi = engine(document(pending={"creating 1": network(), "creating 2": TOPIC}), {NETWORK_ID: {}})
    assert _recovered(pulumi) == ([], ["by-hand"])
    assert pulumi.world["document"] == document(pending={"creating 1": network(), "creating 2": TOPIC})


def test_a_release_whose_cluster_cannot_be_asked_comes_with_helms_own_commands() -> None:
    """There is no kubectl here; what follows from the state alone is done all the same."""
    outputs = {"status": {"status": "pending-install"}}
    pulumi = engine(document(pending={"creating": release()}), {"lws-system/lws": {"outputs": outputs}})
    found = mend(pulumi, look(pulumi, STACK, _silent), _silent)
    (problem,) = found.problems
    why = "whether Helm was cut off could not be looked at: kubectl is not on PATH"
    assert (problem.rule, problem.why) == ("helm-not-asked", why)
    assert problem.remedy == (
        "`helm --namespace lws-system status lws`; pending-upgrade: `helm --namespace lws-system rollback lws`; "
        "pending-install: `helm --namespace lws-system uninstall lws`"
    )
    assert _state(pulumi)[0]["initErrors"]


def test_a_stack_in_order_is_not_touched() -> None:
    ready = deployment(id="serving/vllm")
    pulumi = engine(document(network(id=NETWORK_ID), ready), {})
    case = look(pulumi, STACK, _silent)
    assert case.findings == ()
    assert mend(pulumi, case, _silent).outcomes == ()
    assert "stack import" not in pulumi.world["asked"]
    assert "refresh --yes" not in pulumi.world["asked"]


def test_a_state_that_moved_is_left_alone() -> None:
    pulumi = engine(document(pending={"creating": network()}), {})
    case = look(pulumi, STACK, _silent)
    pulumi.world["document"] = document(network(id=NETWORK_ID))
    with pytest.raises(ProblemsFound, match="it changed since it was looked at"):
        mend(pulumi, case, _silent)


@pytest.mark.parametrize(
    ("said", "rule", "words"),
    [
        (LOCKED, "stack-locked", "ann@elsewhere, process 7, since 2026-11-30"),
        ("error: [409] Conflict: Another update is currently in progress.", "stack-locked", "Another update"),
        ("error: get stack secrets manager: incorrect passphrase", "state-secrets", "incorrect passphrase"),
        ("error: something new", "engine", "something new"),
    ],
    ids=["a lock in an object store", "an update in Pulumi Cloud", "no key", "anything else"],
)
def test_what_pulumi_refuses_is_a_problem(said: str, rule: str, words: str) -> None:
    pulumi = engine(document(pending={"creating": network()}), {}, refuses=said)
    with pytest.raises(ProblemsFound, match=words.replace("+", r"\+")) as raised:
        _recovered(pulumi)
    assert [problem.rule for problem in raised.value.problems] == [rule]


def test_a_program_that_cannot_be_previewed_is_said() -> None:
    pulumi = engine(document(network(id=NETWORK_ID)), {}, "not json")
    assert [note.rule for note in look(pulumi, STACK, _silent).notes] == ["not-looked-at"]
