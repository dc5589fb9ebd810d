"""States are read whole or refused, and handed back in the order the engine takes."""

from __future__ import annotations

import json
from typing import Any

import pytest

from beamline.recovery.state import in_order, is_secret, read_state
from stacks.problems import ProblemsFound
from tests.recovery.states import NETWORK, NETWORK_ID, PROJECT, STACK, document, network, own, state


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("not json", "state-format"),
        ("[]", "state-format"),
        (json.dumps({"version": 1, "deployment": {}}), "state-format"),
        (json.dumps({"version": 9, "deployment": {}}), "state-format"),
        (json.dumps(document(network())).replace("::beamline::", "::other::"), "foreign-state"),
        (json.dumps(document(network())).replace(":dev::", ":prod::"), "foreign-state"),
        (json.dumps(document(pending={"creating": network()})).replace("::beamline::gcp", "::x::gcp"), "foreign-state"),
    ],
)
def test_a_state_that_cannot_be_worked_on_is_refused(text: str, rule: str) -> None:
    with pytest.raises(ProblemsFound) as raised:
        read_state(text, STACK, PROJECT)
    assert [problem.rule for problem in raised.value.problems] == [rule]


def test_a_state_without_resources_is_empty() -> None:
    found = read_state('{"version": 3, "deployment": null}', STACK, PROJECT)
    assert (found.resources, found.operations) == ([], [])


def test_what_is_to_be_deleted_or_replaced_is_not_there() -> None:
    found = state(network(id="a", delete=True), network(id="b", pendingReplacement=True), network(id=NETWORK_ID))
    assert found.live(network()["urn"]) == own(found)[2]
    assert found.knows(NETWORK, "a")
    assert not found.knows(NETWORK, "b")


def test_the_provider_of_a_resource_says_what_it_left_out() -> None:
    assert state().provider_of(network()) == {"project": "p", "region": "r", "zone": "r-b"}
    assert state().provider_of(network(provider="urn:gone::g")) is None


@pytest.mark.parametrize(
    ("given", "want"),
    [
        (["a", "b", "c"], ["a", "b", "c"]),
        (["b>a", "a", "c"], ["a", "b", "c"]),
        (["c>b", "b>a", "a"], ["a", "b", "c"]),
        (["a>gone", "b"], ["a", "b"]),
        (["a>b", "b>a", "c"], ["b", "a", "c"]),
    ],
    ids=["in order", "one too early", "all turned round", "a reference to nothing", "a circle"],
)
@pytest.mark.parametrize("key", ["parent", "dependencies", "propertyDependencies", "provider", "deletedWith"])
def test_everything_comes_after_what_it_refers_to(given: list[str], want: list[str], key: str) -> None:
    def made(text: str) -> dict[str, Any]:
        name, _, other = text.partition(">")
        value: Any = {"dependencies": [other], "propertyDependencies": {"x": [other]}, "provider": f"{other}::id"}
        return {"urn": name, **({key: value.get(key, other)} if other else {})}

    assert [each["urn"] for each in in_order([made(text) for text in given])] == want


def test_two_of_one_name_both_stay() -> None:
    pair = [{"urn": "a", "id": 1}, {"urn": "a", "id": 2, "delete": True}]
    assert in_order(pair) == pair


@pytest.mark.parametrize(
    ("value", "want"),
    [
        ({"a": [{"4dabf18193072939515e22adb298388d": "x"}]}, True),
        ({"a": "[secret]"}, True),
        ({"a": ["b", 1]}, False),
    ],
)
def test_secrets_are_seen_wherever_they_are(value: Any, *, want: bool) -> None:
    assert is_secret(value) is want
