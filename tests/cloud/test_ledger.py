"""The ledger keeps what was entered, whatever happens to the process that entered it."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from beamline.sandbox.cloud.ledger import AlreadyInLedgerError, Ledger, Record, State

RECORD = Record("t", "projects/p/a", "p", "r", "a", {"name": "a"}, {"link": "x"}, State.WORKING)


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger(tmp_path / "cloud" / "ledger.db")


def test_a_record_comes_back_as_it_was_entered(ledger: Ledger) -> None:
    entered = ledger.add(RECORD)
    assert ledger.find("t", "projects/p/a") == entered == replace(RECORD, created=entered.created, revision=1)
    assert ledger.find("t", "other") is None
    assert ledger.find("u", "projects/p/a") is None


def test_a_second_one_of_the_same_id_is_refused_and_changes_nothing(ledger: Ledger) -> None:
    entered = ledger.add(RECORD)
    with pytest.raises(AlreadyInLedgerError):
        ledger.add(replace(RECORD, inputs={"name": "b"}))
    assert ledger.find("t", RECORD.id) == entered
    assert ledger.revision() == 1


def test_changes_keep_what_they_do_not_name(ledger: Ledger) -> None:
    entered = ledger.add(RECORD)
    changed = ledger.change("t", RECORD.id, state=State.RUNNING)
    assert changed == replace(entered, state=State.RUNNING, revision=2)
    assert ledger.change("t", RECORD.id, inputs={"name": "c"}).outputs == {"link": "x"}
    with pytest.raises(KeyError):
        ledger.change("t", "gone", state=State.RUNNING)


def test_lists_are_in_order_of_entry_and_by_the_start_of_the_id(ledger: Ledger) -> None:
    for name in ("b", "a", "c%", "c_"):
        ledger.add(replace(RECORD, id=f"projects/{name}/x", name=name))
    ledger.add(replace(RECORD, type="u"))
    assert [record.name for record in ledger.of_type("t")] == ["b", "a", "c%", "c_"]
    assert [record.name for record in ledger.of_type("t", under="projects/c%/")] == ["c%"]
    assert [record.type for record in ledger.everything()] == ["t", "t", "t", "t", "u"]


def test_the_revision_rises_with_every_change_also_with_removal(ledger: Ledger) -> None:
    ledger.add(RECORD)
    ledger.remove("t", RECORD.id)
    assert ledger.everything() == []
    assert ledger.revision() == 2


def test_many_threads_enter_one_resource_once(ledger: Ledger) -> None:
    """Pulumi creates in parallel; one of several requests for the same name wins."""
    outcomes: list[str] = []

    def enter() -> None:
        try:
            ledger.add(RECORD)
            outcomes.append("entered")
        except AlreadyInLedgerError:
            outcomes.append("refused")

    threads = [threading.Thread(target=enter) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(outcomes) == ["entered"] + ["refused"] * 7


def test_a_killed_process_leaves_whole_changes_only(tmp_path: Path) -> None:
    """SIGKILL in the middle of a transaction: what was committed is there, the rest is not, and work goes on."""
    path = tmp_path / "ledger.db"
    program = f"""
import os, signal
from pathlib import Path
from beamline.sandbox.cloud.ledger import Ledger, Record
ledger = Ledger(Path({str(path)!r}))
ledger.add(Record("t", "done", "p", "r", "done", {{}}, {{}}))
with ledger._change() as (connection, revision):
    connection.execute("UPDATE resources SET name = 'half' WHERE id = 'done'")
    os.kill(os.getpid(), signal.SIGKILL)
"""  # noqa: S608 - a program, not a query
    killed = subprocess.run([sys.executable, "-c", program], check=False)
    assert killed.returncode == -9
    ledger = Ledger(path)
    assert [(record.id, record.name) for record in ledger.everything()] == [("done", "done")]
    ledger.add(RECORD)
    assert ledger.revision() == 2


def test_others_can_read_the_table_by_its_columns(ledger: Ledger) -> None:
    """`sandbox down` looks for leftovers in the file itself."""
    ledger.add(RECORD)
    connection = sqlite3.connect(ledger._path)
    columns = [row[1] for row in connection.execute("PRAGMA table_info(resources)")]
    connection.close()
    assert columns == [
        "type", "id", "project", "location", "name", "inputs", "outputs", "state", "created", "revision",
    ]  # fmt: skip
