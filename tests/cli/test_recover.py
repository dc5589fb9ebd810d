"""`beamline recover`: what it says, asks and returns; what it does is tested in tests/recovery and tests/faults."""

from __future__ import annotations

import json
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from beamline.cli import recover
from tests.cli.command import run
from tests.cli.schemas import PROBLEMS, RECOVER
from tests.recovery.fake_engine import FakeEngine, engine
from tests.recovery.states import NETWORK_ID, document, network, resource

TOPIC = resource("gcp:pubsub/topic:Topic", "topic", {"name": "t"})
FOUND = f"""dev: what was found
what             found                 will
Network network  it was being created  look it up as {NETWORK_ID}: enter it into the state if it exists, forget it if \
not
"""
DONE = f"""
done
what             did
Network network  exists as {NETWORK_ID}: entered into the state

next: pulumi up --stack dev, or pulumi destroy --stack dev
"""


@pytest.fixture
def crashed(monkeypatch: pytest.MonkeyPatch) -> FakeEngine:
    """A stack whose engine was killed when it had created a network."""
    return _stand_in(monkeypatch, engine(document(pending={"creating": network()}), {NETWORK_ID: {}}))


def _stand_in(monkeypatch: pytest.MonkeyPatch, pulumi: FakeEngine) -> FakeEngine:
    monkeypatch.setattr(recover, "own_engine", lambda _folder: pulumi)
    return pulumi


def test_it_says_what_it_found_and_what_it_did(crashed: FakeEngine) -> None:
    ran = run("recover", "dev", "--yes")
    assert (ran.code, ran.stdout) == (0, FOUND + DONE)
    assert crashed.world["document"]["deployment"]["pending_operations"] == []


def test_a_second_time_there_is_nothing_left(crashed: FakeEngine) -> None:
    assert run("recover", "dev", "--yes").code == 0
    asked = len(crashed.world["asked"])
    ran = run("recover", "dev", "--yes")
    assert (ran.code, ran.stdout) == (0, "dev: nothing was left behind\n")
    assert "stack import" not in crashed.world["asked"][asked:]


def test_a_dry_run_changes_nothing_and_ends_with_1(crashed: FakeEngine) -> None:
    ran = run("recover", "dev", "--dry-run")
    assert (ran.code, ran.stdout) == (1, FOUND)
    assert crashed.world["document"] == document(pending={"creating": network()})


@pytest.mark.parametrize(("answer", "code"), [(True, 0), (False, 1)])
def test_it_asks_before_it_does_anything(
    crashed: FakeEngine, monkeypatch: pytest.MonkeyPatch, *, answer: bool, code: int
) -> None:
    monkeypatch.setattr(recover, "nobody_can_be_asked", lambda: False)
    monkeypatch.setattr("typer.confirm", lambda *_, **__: answer)
    assert run("recover", "dev").code == code
    assert ("stack import" in crashed.world["asked"]) is answer


@pytest.mark.parametrize("flags", [["--yes"], ["--dry-run"]])
def test_the_document_has_its_shape(crashed: FakeEngine, flags: list[str]) -> None:
    assert crashed
    ran = run("recover", "dev", "--json", *flags)
    assert [error.message for error in Draft202012Validator(RECOVER).iter_errors(ran.json())] == []
    assert ran.json()["changed"] is (flags == ["--yes"])


def test_a_program_that_gained_a_resource_is_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    """That it is about to be created is not something a crash left behind."""
    preview = json.dumps({"steps": [{"op": "create", "newState": network()}]})
    _stand_in(monkeypatch, engine(document(), {}, preview))
    ran = run("recover", "dev", "--dry-run")
    assert ran.code == 0
    assert ran.stdout.startswith("dev: nothing was left behind\n")
    assert "note[not-looked-up] 1 resources about to be created" in ran.stdout
    assert run("recover", "dev", "--yes").code == 0
    looked = run("recover", "dev", "--adopt", "--dry-run")
    assert looked.code == 0
    assert f"look it up as {NETWORK_ID}" in looked.stdout


def test_what_is_not_as_asked_for_is_never_taken_over(monkeypatch: pytest.MonkeyPatch) -> None:
    preview = json.dumps({"steps": [{"op": "create", "newState": network()}]})
    pulumi = _stand_in(monkeypatch, engine(document(), {NETWORK_ID: {"inputs": {"mtu": 1460}}}, preview))
    ran = run("recover", "dev", "--yes", "--adopt")
    assert ran.code == 1
    assert "error[not-ours] Network network" in ran.stdout
    assert pulumi.world["document"] == document()


def test_what_only_a_human_can_do_comes_last_and_ends_with_1(monkeypatch: pytest.MonkeyPatch) -> None:
    _stand_in(monkeypatch, engine(document(pending={"creating": TOPIC}), {}))
    ran = run("recover", "dev", "--yes")
    assert ran.code == 1
    assert "error[by-hand] Topic topic" in ran.stdout
    assert "--clear-pending-creates" in ran.stdout


def test_a_state_of_another_project_is_a_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    foreign: Any = document(network(id=NETWORK_ID, urn="urn:pulumi:dev::other::gcp:compute/network:Network::network"))
    _stand_in(monkeypatch, engine(foreign, {}))
    ran = run("recover", "dev", "--yes", "--json")
    assert (ran.code, [problem["rule"] for problem in ran.json()["problems"]]) == (1, ["foreign-state"])
    assert [error.message for error in Draft202012Validator(PROBLEMS).iter_errors(ran.json())] == []


def test_no_pulumi_is_the_machines_trouble(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    ran = run("recover", "dev", "--yes")
    assert (ran.code, ran.stdout) == (3, "")
    assert ran.stderr.startswith("pulumi is not on PATH;")
