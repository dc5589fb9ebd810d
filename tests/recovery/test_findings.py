"""What is found in a state, what is said about it, and what the program's preview adds."""

from __future__ import annotations

import json
from typing import Any

import pytest

from beamline.recovery.findings import IN_DOUBT, examine, hand_work, lookups, planned, targets
from tests.recovery.states import NETWORK_ID, deployment, network, resource, state, urn

TOPIC = resource("gcp:pubsub/topic:Topic", "topic", {"name": "t"})
MISSING = network(provider="urn:pulumi:dev::beamline::pulumi:providers:gcp::new::x")


@pytest.mark.parametrize(
    ("resources", "pending", "found", "will"),
    [
        (
            [],
            {"creating": network()},
            "it was being created",
            f"look it up as {NETWORK_ID}: enter it into the state if it exists, forget it if not",
        ),
        (
            [network(id=NETWORK_ID)],
            {"creating": network()},
            "it was being created",
            "read it again, forget the operation; the state has it",
        ),
        (
            [],
            {"creating": TOPIC},
            "it was being created, and its id does not follow from its inputs",
            "nothing, and nothing else before that is done",
        ),
        (
            [],
            {"creating": resource("pulumi:providers:kubernetes", "cluster")},
            "it was being created",
            "forget the operation; it is nothing in a cloud",
        ),
        (
            [network(id=NETWORK_ID)],
            {"updating": network(id=NETWORK_ID)},
            "a change was begun, its end is not known",
            "read it again, forget the operation; the next run compares, and repeats what is not done",
        ),
        (
            [network(id=NETWORK_ID)],
            {"deleting": network(id=NETWORK_ID)},
            "a deletion was begun, its end is not known",
            "read it again, forget the operation; the next run compares, and repeats what is not done",
        ),
        (
            [],
            {"reading": network(id=NETWORK_ID)},
            "reading was cut off",
            "forget the operation; it changes nothing in the cloud",
        ),
        (
            [network(id=NETWORK_ID, initErrors=[IN_DOUBT])],
            {},
            "a recovery that was interrupted had begun to look it up",
            "read it again",
        ),
        (
            [deployment(id="serving/vllm", initErrors=["0/1 ready"])],
            {},
            "it exists and did not become ready",
            "read it again; the next run waits for it again",
        ),
        (
            [network(id=NETWORK_ID), network(id="old", delete=True, protect=True)],
            {},
            "it was replaced, and is protected: no run will delete the old one",
            "nothing; that is a decision",
        ),
    ],
)
def test_each_thing_is_explained(resources: list[Any], pending: dict[str, Any], found: str, will: str) -> None:
    (finding,) = examine(state(*resources, pending=pending), "dev")
    assert (finding.found, finding.will) == (found, will)


def test_a_cluster_may_still_be_in_the_making() -> None:
    cluster = resource("gcp:container/cluster:Cluster", "cluster", {"name": "beam", "location": "r"})
    (finding,) = examine(state(pending={"creating": cluster}), "dev")
    assert finding.will.endswith("it is ready when `gcloud container operations list` says so")


def test_what_a_human_has_to_look_up_comes_with_the_commands() -> None:
    before = state(pending={"creating": TOPIC})
    (finding,) = examine(before, "dev")
    name = urn("gcp:pubsub/topic:Topic", "topic")
    refresh = "pulumi refresh --yes --stack dev"
    assert finding.by_hand == (
        f"if it exists: {refresh} --import-pending-creates '{name}' --import-pending-creates ID; "
        f"if it does not: {refresh} --clear-pending-creates"
    )
    assert hand_work(before)
    assert not hand_work(state(pending={"creating": network()}))
    assert lookups(before) == []


def test_a_create_is_looked_up_unless_the_state_has_what_it_made() -> None:
    assert [each.identity.id for each in lookups(state(pending={"creating": network()}))] == [NETWORK_ID]
    assert lookups(state(network(id=NETWORK_ID), pending={"creating": network()})) == []
    gone = network(id=NETWORK_ID, pendingReplacement=True)
    assert [each.identity.id for each in lookups(state(gone, pending={"creating": network()}))] == [NETWORK_ID]


def _preview(op: str, shown: dict[str, Any]) -> str:
    return json.dumps({"steps": [{"op": op, "urn": shown["urn"], "newState": shown}]})


@pytest.mark.parametrize(
    ("op", "shown", "want"),
    [
        ("create", network(), [NETWORK_ID]),
        ("create-replacement", network(), [NETWORK_ID]),
        ("same", network(), []),
        ("create", MISSING, []),
        ("create", TOPIC, []),
        ("create", {**network(), "inputs": {"name": "beam", "password": "[secret]"}}, []),
        ("create", {**network(), "custom": False}, []),
    ],
    ids=["a create", "a replacement", "no create", "its provider is new, too", "no id", "a secret", "a component"],
)
def test_what_the_program_is_about_to_create_is_looked_up(op: str, shown: dict[str, Any], want: list[str]) -> None:
    assert [each.identity.id for each in planned(_preview(op, shown), state())] == want


def test_what_is_pending_or_known_is_not_looked_up_twice() -> None:
    assert planned(_preview("create", network()), state(pending={"creating": network()})) == []
    assert planned(_preview("create", network()), state(network(id=NETWORK_ID))) == []
    assert planned("{}", state()) == []


def test_only_what_is_in_doubt_is_read_again() -> None:
    quiet = resource("gcp:compute/router:Router", "router", {"name": "r"}, id="r")
    half = deployment(id="serving/vllm", initErrors=["0/1 ready"])
    gone = resource("gcp:compute/firewall:Firewall", "rule", {"name": "f"})
    before = state(quiet, half, pending={"creating": network(), "deleting": gone})
    assert targets(before, lookups(before)) == [network()["urn"], half["urn"]]
