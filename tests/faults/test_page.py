"""What is written about kills: one row each, nothing rounded away; and the committed page is of a run like that."""

from __future__ import annotations

import re
from typing import Any

import pytest

from beamline.sandbox.home import CHECKOUT
from tests.faults.agreement import agreement
from tests.faults.killing import Killed, Operation
from tests.faults.page import COLUMNS, Run, cells, page, prose, summary
from tests.faults.rounds import Survived
from tests.faults.schedule import Kill, Victim, Work, schedule

PAGE = CHECKOUT / "docs" / "faults.md"
URN = "urn:pulumi:dev::beamline::gcp:compute/network:Network::network"
NETWORK = Operation("create", URN, "gcp:compute/network:Network", {"name": "n"})
KILL = Kill(7, Work.CREATE, Victim.ENGINE, 0.5, lands=True)


def _result(**changes: Any) -> Survived:
    good: dict[str, Any] = {
        "kill": KILL,
        "stack": "small-l4",
        "killed": Killed(NETWORK, 2, -9, (URN,)),
        "found": ("a", "b", "c", "d"),
        "did": ("e | f",),
        "converged": True,
        "agreement": agreement([], []),
    }
    return Survived(**{**good, **changes})


def test_the_page_says_what_was_killed_and_what_came_of_it() -> None:
    run = Run("make faults SEED=1", {"date": "2026-11-30"}, 1, [_result()])
    assert cells(run.results[0]) == (
        "7", "small-l4", "engine", "create Network network and 2 more", "a; b; c; 1 more", "e | f", "converged",
        "0", "0",
    )  # fmt: skip
    assert len(cells(run.results[0])) == len(COLUMNS)
    assert cells(_result(found=["lock of me@laptop: process 7 is gone, its lock is not"]))[4] == (
        "lock: process 7 is gone, its lock is not"
    )
    assert "1/1 converged, 0 orphans, 0 doubles" in page(run)
    assert "| 7 | small-l4 | engine | create Network network and 2 more | a; b; c; 1 more | e   f |" in page(run)
    assert run.all_well


@pytest.mark.parametrize(
    ("changes", "want"),
    [
        ({"converged": False}, "0/1 converged, 0 orphans, 0 doubles"),
        ({"agreement": agreement([], [("Network", "o")])}, "1/1 converged, 1 orphans, 0 doubles"),
        ({"agreement": agreement([("Network", "m")], [])}, "1/1 converged, 1 orphans, 0 doubles"),
        ({"agreement": None, "converged": False}, "0/1 converged, 0 orphans, 0 doubles, 1 not compared"),
        ({"agreement": agreement([("N", "d")] * 2, [("N", "d")])}, "1/1 converged, 0 orphans, 1 doubles"),
    ],
)
def test_one_kill_that_was_not_survived_fails_the_run(changes: dict[str, Any], want: str) -> None:
    run = Run("make faults", {}, 1, [_result(**changes)])
    assert summary(run) == want
    assert not run.all_well


def test_what_is_orphaned_or_double_is_named() -> None:
    found = agreement([("Pod", "m"), ("Pod", "d"), ("Pod", "d")], [("Secret", "ns/o"), ("Pod", "d")])
    assert cells(_result(agreement=found))[-2:] == ("2: Secret ns/o, Pod m (only in the state)", "1: Pod d")
    assert cells(_result(agreement=None, killed=None, converged=False))[3:] == (
        "nothing", "a; b; c; 1 more", "e | f", "did not converge", "not compared", "not compared",
    )  # fmt: skip


def test_what_a_stack_leaves_behind_fails_the_run() -> None:
    run = Run("make faults", {}, 1, [_result()], ["API server: Pod left"])
    assert summary(run) == "1/1 converged, 0 orphans, 0 doubles; left behind at the end"
    assert not run.all_well


def test_the_committed_page_is_of_a_whole_run_of_the_schedule_as_it_is_now() -> None:
    text = PAGE.read_text(encoding="utf-8")
    command = re.search(r"`make faults SEED=(\d+) KILLS=(\d+) PAGE=docs/faults.md`", text)
    assert command is not None
    kills = schedule(int(command[1]), int(command[2]))
    rows = [line.strip("| ").split(" | ") for line in text.splitlines() if re.match(r"\| \d+ \|", line)]
    assert [(row[0], row[2]) for row in rows] == [(str(kill.number), str(kill.victim)) for kill in kills]
    converged = sum(row[-3] == "converged" for row in rows)
    orphans, doubles = (sum(int(row[column].partition(":")[0]) for row in rows) for column in (-2, -1))
    assert f"**{converged}/{len(kills)} converged, {orphans} orphans, {doubles} doubles.**" in text
    assert "\n".join(prose(kills)) in text
    assert "(faults.md)" in (CHECKOUT / "docs" / "operations.md").read_text(encoding="utf-8")
