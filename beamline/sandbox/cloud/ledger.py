"""The ledger: what exists in the simulated project, in one SQLite file.

Every change is one transaction, so that a process killed at any point leaves a ledger that the next one can read. A
resource is entered before the work on it starts and carries a state, as Google's long operations do: a later process
finds it and finishes the work. ``revision`` rises with every change and lets others (the simulated controllers) notice.
"""

import json
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Any

__all__ = ["AlreadyInLedgerError", "Ledger", "Record", "State"]

_SCHEMA = """
CREATE TABLE IF NOT EXISTS resources (
    type TEXT NOT NULL, id TEXT NOT NULL, project TEXT NOT NULL, location TEXT NOT NULL, name TEXT NOT NULL,
    inputs TEXT NOT NULL, outputs TEXT NOT NULL, state TEXT NOT NULL, created TEXT NOT NULL, revision INTEGER NOT NULL,
    PRIMARY KEY (type, id)
) STRICT;
CREATE TABLE IF NOT EXISTS revisions (last INTEGER NOT NULL) STRICT;
INSERT INTO revisions SELECT 0 WHERE NOT EXISTS (SELECT 1 FROM revisions);
"""
_COLUMNS = "type, id, project, location, name, inputs, outputs, state, created, revision"
_BUSY_S = 30


class State(StrEnum):
    """How far the cloud is with a resource."""

    WORKING = "working"
    """The cloud is making it what its inputs say."""
    RUNNING = "running"
    FAILED = "failed"
    DELETING = "deleting"


class AlreadyInLedgerError(Exception):
    """There is a resource of that type and id."""


@dataclass(frozen=True)
class Record:
    """One resource: what was asked for, and what the cloud made of it."""

    type: str
    id: str
    project: str
    location: str
    name: str
    inputs: dict[str, Any]
    outputs: dict[str, Any]
    state: State = State.RUNNING
    created: str = ""
    revision: int = 0


class Ledger:
    """The resources of one sandbox. Safe to use from several threads and processes."""

    def __init__(self, path: Path) -> None:
        self._path = path
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with self._open() as connection:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.executescript(_SCHEMA)

    def revision(self) -> int:
        """Return a number that has risen since the last change."""
        with self._open() as connection:
            found: int = connection.execute("SELECT last FROM revisions").fetchone()[0]
            return found

    def find(self, kind: str, resource_id: str) -> Record | None:
        """Return one resource; None when it does not exist."""
        with self._open() as connection:
            return _one(connection, kind, resource_id)

    def of_type(self, kind: str, *, under: str = "") -> list[Record]:
        """Return the resources of a type, oldest first; ``under`` keeps those whose id starts with it."""
        with self._open() as connection:
            query = f"SELECT {_COLUMNS} FROM resources WHERE type = ? AND substr(id, 1, ?) = ? ORDER BY rowid"  # noqa: S608
            return [_record(row) for row in connection.execute(query, (kind, len(under), under))]

    def everything(self) -> list[Record]:
        """Return every resource, oldest first."""
        with self._open() as connection:
            return [_record(row) for row in connection.execute(f"SELECT {_COLUMNS} FROM resources ORDER BY rowid")]  # noqa: S608

    def add(self, record: Record) -> Record:
        """Enter a new resource. Raises AlreadyInLedgerError when there is one of that type and id."""
        with self._change() as (connection, revision):
            entered = replace(record, created=datetime.now(UTC).isoformat(timespec="seconds"), revision=revision)
            try:
                connection.execute(f"INSERT INTO resources ({_COLUMNS}) VALUES (?,?,?,?,?,?,?,?,?,?)", _row(entered))  # noqa: S608
            except sqlite3.IntegrityError:
                raise AlreadyInLedgerError(record.id) from None
        return entered

    def change(
        self,
        kind: str,
        resource_id: str,
        *,
        inputs: Mapping[str, Any] | None = None,
        outputs: Mapping[str, Any] | None = None,
        state: State | None = None,
    ) -> Record:
        """Change what is given and return the resource. Raises KeyError when it does not exist."""
        with self._change() as (connection, revision):
            found = _one(connection, kind, resource_id)
            if found is None:
                raise KeyError(resource_id)
            changed = replace(
                found,
                inputs=dict(inputs) if inputs is not None else found.inputs,
                outputs=dict(outputs) if outputs is not None else found.outputs,
                state=state or found.state,
                revision=revision,
            )
            connection.execute(
                "UPDATE resources SET inputs = ?, outputs = ?, state = ?, revision = ? WHERE type = ? AND id = ?",
                (json.dumps(changed.inputs), json.dumps(changed.outputs), changed.state, revision, kind, resource_id),
            )
        return changed

    def remove(self, kind: str, resource_id: str) -> None:
        """Strike a resource out; nothing happens when it does not exist."""
        with self._change() as (connection, _):
            connection.execute("DELETE FROM resources WHERE type = ? AND id = ?", (kind, resource_id))

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        connection = sqlite3.connect(self._path, timeout=_BUSY_S, isolation_level=None)
        try:
            connection.execute("PRAGMA synchronous = NORMAL")  # safe against a killed process, not against a power cut
            yield connection
        finally:
            connection.close()

    @contextmanager
    def _change(self) -> Iterator[tuple[sqlite3.Connection, int]]:
        with self._open() as connection:
            connection.execute("BEGIN IMMEDIATE")
            try:
                connection.execute("UPDATE revisions SET last = last + 1")
                yield connection, connection.execute("SELECT last FROM revisions").fetchone()[0]
            except BaseException:
                connection.execute("ROLLBACK")
                raise
            connection.execute("COMMIT")


def _one(connection: sqlite3.Connection, kind: str, resource_id: str) -> Record | None:
    query = f"SELECT {_COLUMNS} FROM resources WHERE type = ? AND id = ?"  # noqa: S608
    row = connection.execute(query, (kind, resource_id)).fetchone()
    return _record(row) if row else None


def _row(record: Record) -> tuple[Any, ...]:
    return (
        record.type,
        record.id,
        record.project,
        record.location,
        record.name,
        json.dumps(record.inputs),
        json.dumps(record.outputs),
        record.state,
        record.created,
        record.revision,
    )


def _record(row: tuple[Any, ...]) -> Record:
    kind, resource_id, project, location, name, inputs, outputs, state, created, revision = row
    return Record(
        type=kind,
        id=resource_id,
        project=project,
        location=location,
        name=name,
        inputs=json.loads(inputs),
        outputs=json.loads(outputs),
        state=State(state),
        created=created,
        revision=revision,
    )
