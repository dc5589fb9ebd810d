"""What an interrupted create left is entered, looked at, and kept or taken out again; nothing else changes."""

from __future__ import annotations

import json
from typing import Any

import pytest

from beamline.recovery.findings import IN_DOUBT, PLANNED, Lookup, lookups
from beamline.recovery.identities import Identity
from beamline.recovery.state import State
from beamline.recovery.surgery import Conclusion, concluded, entered
from tests.recovery.states import (
    DEPLOYMENT,
    NETWORK_ID,
    SUBNETWORK,
    deployment,
    document,
    network,
    own,
    release,
    resource,
    state,
    urn,
)

MANAGED = {"metadata": {"managedFields": [{"manager": "kube-controller-manager"}, {"manager": "pulumi-kubernetes-1a"}]}}
THEIRS = {"metadata": {"managedFields": [{"manager": "kubectl"}]}}


def _read(before: State, found: list[Lookup], *there: dict[str, Any]) -> Conclusion:
    """Conclude after an engine that found only what is given here."""
    return concluded(before, state(*there), found)


def _looked_up(before: State) -> list[Lookup]:
    return lookups(before)


ENTERED = network(id=NETWORK_ID, outputs={"name": "beam", "mtu": 8896}, initErrors=[IN_DOUBT])


def test_a_create_is_entered_under_its_id_and_marked() -> None:
    before = state(pending={"creating": network()})
    work = entered(before, _looked_up(before))
    assert (own(work), work.operations) == ([ENTERED], [])


def test_a_second_recovery_looks_again_at_what_the_first_had_entered() -> None:
    first = entered(state(pending={"creating": network()}), _looked_up(state(pending={"creating": network()})))
    found = _looked_up(first)
    assert [(lookup.urn, lookup.identity.id) for lookup in found] == [(network()["urn"], NETWORK_ID)]
    assert entered(first, found).is_like(first)
    assert own(_read(first, found).state) == []
    assert own(_read(first, found, network(id=NETWORK_ID)).state) == [network(id=NETWORK_ID)]


@pytest.mark.parametrize("kind", ["updating", "deleting"])
def test_what_was_being_changed_or_deleted_is_marked(kind: str) -> None:
    before = state(network(id=NETWORK_ID), network(id="old", delete=True), pending={kind: network(id=NETWORK_ID)})
    work = entered(before, _looked_up(before))
    assert own(work) == [network(id=NETWORK_ID, initErrors=[IN_DOUBT]), network(id="old", delete=True)]
    assert own(_read(before, [], network(id=NETWORK_ID)).state) == [network(id=NETWORK_ID)]


@pytest.mark.parametrize(
    ("made", "outputs"),
    [
        (deployment(), {**deployment()["inputs"], "__initialApiVersion": "apps/v1"}),
        (release(), {**release()["inputs"], "__inputs": release()["inputs"]}),
    ],
    ids=["a Kubernetes object", "a Helm release"],
)
def test_the_provider_is_told_what_it_needs_to_read_it(made: dict[str, Any], outputs: dict[str, Any]) -> None:
    before = state(pending={"creating": made})
    assert own(entered(before, _looked_up(before)))[0]["outputs"] == outputs


def test_what_exists_stays_and_what_does_not_goes() -> None:
    nodes = resource(SUBNETWORK, "nodes", {"name": "beam-nodes"}, dependencies=[network()["urn"]])
    before = state(pending={"creating 1": network(), "creating 2": nodes})
    result = _read(before, _looked_up(before), network(id=NETWORK_ID, outputs={"mtu": 8896}))
    assert own(result.state) == [network(id=NETWORK_ID, outputs={"mtu": 8896})]
    assert result.state.operations == []
    assert ([x.urn for x in result.taken_over], [x.urn for x in result.absent]) == ([network()["urn"]], [nodes["urn"]])


def test_a_kubernetes_object_keeps_the_field_manager_that_applied_it() -> None:
    before = state(pending={"creating": deployment()})
    read = deployment(id="serving/vllm", outputs={**MANAGED, "__fieldManager": "pulumi-kubernetes-other"})
    (found,) = own(_read(before, _looked_up(before), read).state)
    assert found["outputs"]["__fieldManager"] == "pulumi-kubernetes-1a"


def test_a_kubernetes_object_that_somebody_else_applied_is_not_taken_over() -> None:
    before = state(pending={"creating": deployment()})
    result = _read(before, _looked_up(before), deployment(id="serving/vllm", outputs=THEIRS))
    assert own(result.state) == []
    assert [lookup.urn for lookup in result.foreign] == [urn(DEPLOYMENT, "vllm")]


LABELS = {"app.kubernetes.io/part-of": "dev"}


@pytest.mark.parametrize(
    ("asked", "labels", "replicas", "is_planned", "is_ours"),
    [
        (LABELS, {**LABELS, "added": "later"}, 1, True, True),
        (LABELS, LABELS, 2, True, False),
        (LABELS, LABELS, 2, False, True),
        (LABELS, {"app.kubernetes.io/part-of": "prod"}, 1, False, False),
        (LABELS, {}, 1, False, False),
        ({}, LABELS, 1, False, True),
        ({}, LABELS, 2, False, False),
    ],
    ids=[
        "as asked for",
        "planned otherwise",
        "scaled since",
        "another stack's",
        "nobody's",
        "no labels and as asked for",
        "no labels and otherwise",
    ],
)
def test_that_a_pulumi_applied_an_object_is_not_enough(
    asked: dict[str, str], labels: dict[str, str], replicas: int, *, is_planned: bool, is_ours: bool
) -> None:
    """Another stack's Pulumi has a field manager of the same kind."""
    inputs = deployment()["inputs"]
    wanted = {**inputs, "metadata": {**inputs["metadata"], "labels": asked}, "spec": {"replicas": 1}}
    found = [Lookup({**deployment(), "inputs": wanted}, Identity("serving/vllm", "serving/vllm"), is_planned)]
    outputs = {"metadata": {**MANAGED["metadata"], "labels": labels}, "spec": {"replicas": replicas}}
    result = _read(state(), found, deployment(id="serving/vllm", outputs=outputs))
    assert len(result.taken_over if is_ours else result.foreign) == 1


@pytest.mark.parametrize(
    ("inputs", "is_ours"),
    [
        ({"name": "beam", "mtu": 8896}, True),
        ({"name": "beam", "mtu": 8896, "network": "https://www.googleapis.com/compute/v1/projects/p/x"}, True),
        ({"name": "beam"}, True),
        ({"name": "beam", "mtu": 1460}, False),
        ({"name": "beam", "routes": {"mode": "REGIONAL", "of": [{"name": "b"}, {"name": "a", "to": 1}]}}, True),
        ({"name": "beam", "routes": {"mode": "GLOBAL"}}, False),
        ({"name": "beam", "routes": {"of": [{"name": "a", "to": 2}]}}, False),
        ({"name": "beam", "network": "https://www.googleapis.com/compute/v1/projects/other-p/x"}, False),
        ({"selfLink": "projects/p/global/networks/beam"}, False),
        ({}, False),
    ],
    ids=[
        "as asked for",
        "with a link for a path",
        "with less than asked for",
        "otherwise",
        "nested as asked for",
        "nested otherwise",
        "otherwise in a list",
        "with a path that ends alike",
        "with nothing that was asked for",
        "with nothing at all",
    ],
)
def test_what_was_only_planned_has_to_be_as_it_was_asked_for(inputs: dict[str, Any], *, is_ours: bool) -> None:
    routes = {"mode": "regional", "of": [{"name": "a", "to": 1, "key": "[secret]"}]}
    asked = {**network(), "inputs": {**network()["inputs"], "network": "p/x", "routes": routes}}
    found = [Lookup(asked, Identity(NETWORK_ID, NETWORK_ID), is_planned=True)]
    before = state()
    work = entered(before, found)
    assert own(work)[0]["initErrors"] == [PLANNED]
    result = _read(before, found, {**network(id=NETWORK_ID), "inputs": inputs})
    assert len(result.taken_over if is_ours else result.foreign) == 1
    assert len(own(result.state)) == is_ours


def test_a_replacement_made_first_makes_the_old_one_to_be_deleted() -> None:
    """As the engine would have marked it; both bear one name."""
    before = state(network(id="old"), pending={"creating": network()})
    found = _looked_up(before)
    assert own(entered(before, found)) == [
        network(id="old", delete=True),
        ENTERED,
    ]
    made = _read(before, found, network(id="old", delete=True), network(id=NETWORK_ID))
    assert own(made.state) == [network(id="old", delete=True), network(id=NETWORK_ID)]
    never = _read(before, found, network(id="old", delete=True))
    assert own(never.state) == [network(id="old")]


def test_a_replacement_made_last_takes_the_place_of_the_old_one() -> None:
    """The old one is deleted, and stands in the state for those that depend on it."""
    nodes = resource(SUBNETWORK, "nodes", {"name": "n"}, id="n", dependencies=[network()["urn"]])
    gone = network(id=NETWORK_ID, pendingReplacement=True)
    before = state(gone, nodes, pending={"creating": network()})
    found = _looked_up(before)
    work = entered(before, found)
    assert own(work) == [ENTERED, nodes]
    never = _read(before, found, {**nodes, "dependencies": []})
    assert own(never.state) == [{**nodes, "dependencies": []}, gone]


def test_a_release_that_is_not_deployed_is_upgraded_by_the_next_run() -> None:
    before = state(pending={"creating": release()})
    read = release(id="lws-system/lws", outputs={"status": {"status": "failed"}})
    (found,) = own(_read(before, _looked_up(before), read).state)
    assert found["initErrors"] == [
        "Helm was interrupted, so not all that the chart installs may be there: its status is failed"
    ]
    read = release(id="lws-system/lws", outputs={"status": {"status": "deployed"}})
    assert own(_read(before, _looked_up(before), read).state) == [read]


def test_nothing_else_of_the_document_is_touched() -> None:
    before = state(network(id=NETWORK_ID))
    after = _read(before, [], network(id=NETWORK_ID)).state
    assert json.loads(json.dumps(after.document)) == document(network(id=NETWORK_ID))
