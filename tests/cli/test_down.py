"""`beamline down`: whom it takes down, and what it says and asks before."""

from __future__ import annotations

from typing import Any

import pytest

from beamline.cli import down, recover
from tests.cli.command import run
from tests.recovery.fake_engine import FakeEngine, engine
from tests.recovery.states import NETWORK_ID, document, network

ANNOUNCED = """dev of project beamline, in gs://bucket: all 1 resources will be deleted, and what is in them
  among them: network
  unprotected first: network
  not touched: weights in buckets that are not the stack's own, reservations, DNS names, certificates
"""


@pytest.fixture
def standing(monkeypatch: pytest.MonkeyPatch) -> FakeEngine:
    return _stand_in(monkeypatch, document(network(id=NETWORK_ID, protect=True)))


def _stand_in(monkeypatch: pytest.MonkeyPatch, state: dict[str, Any]) -> FakeEngine:
    pulumi = engine(state, {})
    folders: list[object] = []
    for verb in (down, recover):
        monkeypatch.setattr(verb, "own_engine", lambda folder: folders.append(folder) or pulumi)
    pulumi.world["folders"] = folders
    return pulumi


def test_it_says_what_goes_and_whose_it_is(standing: FakeEngine) -> None:
    ran = run("down", "dev", "--yes", "dev")
    assert (ran.code, ran.stderr) == (0, ANNOUNCED)
    assert ran.stdout.startswith("dev: 1 resources deleted, none left")
    assert "destroy --yes" in standing.world["asked"]


@pytest.mark.parametrize("name", ["", " ", "org/x/prod", "prod/", "-dev", "Pulumi.dev.yaml", "no/such/Pulumi.dev.yaml"])
def test_what_is_no_stack_is_wrong_usage(standing: FakeEngine, name: str) -> None:
    """Pulumi takes an empty name for the selected stack, and one with an owner for somebody else's."""
    assert run("down", "--yes", name, "--", name).code == 2
    assert run("recover", "--yes", "--", name).code == 2
    assert standing.world["asked"] == []


@pytest.mark.parametrize("said", ["", "prod"])
def test_another_name_touches_nothing(standing: FakeEngine, said: str) -> None:
    assert run("down", "dev", "--yes", said).code == 2
    assert standing.world["asked"] == []


def test_both_verbs_work_in_the_checkout(standing: FakeEngine, monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    (tmp_path / "Pulumi.yaml").write_text("name: website\nruntime: python\n")
    monkeypatch.chdir(tmp_path)
    run("recover", "dev", "--dry-run")
    run("down", "dev", "--yes", "dev")
    assert set(standing.world["folders"]) == {down.CHECKOUT}


def test_what_was_cut_off_is_refused_before_anybody_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    pulumi = _stand_in(monkeypatch, document(pending={"creating": network()}))
    ran = run("down", "dev", "--yes", "dev")
    assert ran.code == 1
    assert "error[state-pending]" in ran.stdout
    assert "beamline recover dev" in ran.stdout
    assert "destroy --yes" not in pulumi.world["asked"]
