"""Create, read, change and delete, in the way that is common to all resource types.

A resource is entered in the ledger as ``working`` before the work on it starts. Google goes on with an operation
whatever becomes of the client; here the next process that starts goes on with it (``resume``). So a killed client finds
what a killed client would find at Google: the resource is there, and creating it again answers 409.
"""

import threading
from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from beamline.sandbox.cloud.access import check_access
from beamline.sandbox.cloud.errors import CloudError, CreatedButFailedError
from beamline.sandbox.cloud.fault_injection import FaultInjector, Target
from beamline.sandbox.cloud.kinds import KINDS, Identity, Kind
from beamline.sandbox.cloud.ledger import AlreadyInLedgerError, Record, State
from beamline.sandbox.cloud.quota_use import check_quotas
from beamline.sandbox.cloud.simulation import Simulation
from beamline.sandbox.cloud.values import UNKNOWN

__all__ = ["Operations", "merged", "preview_outputs"]


class Operations:
    """What the engine may ask of the simulated cloud. Every method raises CloudError when the cloud refuses."""

    def __init__(self, simulation: Simulation) -> None:
        self.simulation = simulation
        self._ledger = simulation.ledger
        self._faults = FaultInjector(simulation)
        self._locks: defaultdict[str, threading.Lock] = defaultdict(threading.Lock)

    def create(self, token: str, inputs: Mapping[str, Any]) -> Record:
        """Create a resource and wait until it is there."""
        kind = KINDS[token]
        identity = kind.identify(inputs, self.simulation)
        target = Target("create", token, identity, inputs)
        with self._locks[identity.id]:
            try:
                self._admitted(target, identity.id)
                if self._ledger.find(token, identity.id) is None:
                    self._finish_parents(identity.id)
                    kind.before_create(identity, inputs, self.simulation)
                    check_quotas(token, identity.location, inputs, self.simulation)
            except CloudError as error:
                raise CloudError(f"Error creating {kind.title}: {error}") from error
            record = Record(
                token, identity.id, identity.project, identity.location, identity.name, dict(inputs), {}, State.WORKING
            )
            try:
                record = self._ledger.add(record)
            except AlreadyInLedgerError:
                if not kind.shared:
                    raise CloudError(f"Error creating {kind.title}: {kind.exists_already(identity)}") from None
                record = self._ledger.change(token, identity.id, inputs=inputs)
            return self._worked(kind, target, record, kind.create_s)

    def read(self, token: str, resource_id: str) -> Record | None:
        """Return a resource as it is now; None when it is gone.

        Work that failed goes on, as GKE goes on to ask for machines it did not get. Raises CreatedButFailedError while
        the resource is not well: a refresh then keeps that in mind for the next ``up``.
        """
        with self._locks[resource_id]:
            record = self._ledger.find(token, resource_id)
            if record is None:
                return None
            try:
                self._admitted(Target("read", token, _identity(record), record.inputs), resource_id)
            except CloudError as error:
                raise CloudError(f"Error when reading {KINDS[token].title} {resource_id!r}: {error}") from error
            if record.state == State.FAILED:
                return self._settled(KINDS[token], self._computed(KINDS[token], record))
            return self._caught_up(record)

    def update(self, token: str, resource_id: str, inputs: Mapping[str, Any]) -> Record:
        """Change a resource in place."""
        kind = KINDS[token]
        with self._locks[resource_id]:
            record = self._ledger.find(token, resource_id)
            if record is None:
                raise CloudError(
                    f"Error updating {kind.title} {resource_id!r}: googleapi: Error 404: not found, notFound"
                )
            record = self._caught_up(record) or record
            target = Target("update", token, _identity(record), inputs)
            try:
                self._admitted(target, resource_id)
                self._finish_children(resource_id)
                kind.before_update(record, inputs, self.simulation)
                check_quotas(token, record.location, inputs, self.simulation, old_id=resource_id)
            except CloudError as error:
                raise CloudError(f"Error updating {kind.title} {resource_id!r}: {error}") from error
            record = self._ledger.change(token, resource_id, inputs=inputs, state=State.WORKING)
            return self._worked(kind, target, record, kind.update_s)

    def delete(self, token: str, resource_id: str) -> None:
        """Delete a resource; one that is gone already is no error, as for Google's provider."""
        kind = KINDS[token]
        with self._locks[resource_id]:
            record = self._ledger.find(token, resource_id)
            if record is None:
                return
            if record.state != State.DELETING:
                policy = record.inputs.get("deletionPolicy", "DELETE")
                if policy == "PREVENT":
                    raise CloudError(f"cannot destroy {kind.title} {resource_id!r}: its deletion_policy is PREVENT")
                if policy == "ABANDON":
                    return
                target = Target("delete", token, _identity(record), record.inputs)
                try:
                    self._admitted(target, resource_id)
                    self._finish_children(resource_id)
                    kind.before_delete(record, self.simulation)
                    record = self._ledger.change(token, resource_id, state=State.DELETING)
                    self._faults.on_answer(target)
                except CloudError as error:
                    raise CloudError(f"Error deleting {kind.title}: {error}") from error
                self.simulation.wait(self._faults.duration(target, kind.delete_s))
            self._removed(kind, record)

    def resume(self) -> None:
        """Go on with what a process that is no more had begun."""
        for record in self._ledger.everything():
            if record.type not in KINDS or record.state not in (State.WORKING, State.DELETING):
                continue
            with self._locks[record.id]:
                current = self._ledger.find(record.type, record.id)
                if current is not None:
                    try:
                        self._caught_up(current)
                    except CloudError:
                        continue  # whoever looks at the resource next is told

    def _admitted(self, target: Target, resource_id: str) -> None:
        """Refuse what the project, or a fault that was asked for, does not let through. Raises CloudError."""
        self._faults.on_request(target)
        if target.identity.project == self.simulation.project:
            check_access(target.operation, target.token, resource_id, self.simulation)

    def _worked(self, kind: Kind, target: Target, record: Record, usual_s: float) -> Record:
        """Do the work on a resource that was entered or changed, and wait until it is done."""
        record = self._computed(kind, record)
        doing = "creating" if target.operation == "create" else "updating"
        try:
            self._faults.on_answer(target)
        except CloudError as error:
            raise CloudError(f"Error {doing} {kind.title}: {error}") from error
        self.simulation.wait(self._faults.duration(target, usual_s))
        try:
            self._faults.on_work(target)
        except CloudError as error:
            self._ledger.change(record.type, record.id, state=State.FAILED)
            reason = f"Error waiting for {doing} {kind.title}: {error}"
            raise CreatedButFailedError(reason, record.id, record.inputs, record.outputs) from error
        return self._settled(kind, record)

    def _finish_children(self, resource_id: str) -> None:
        """Let what is part of a resource finish: GKE changes no cluster while it works on its pools."""
        for record in self._ledger.everything():
            working = record.state in (State.WORKING, State.DELETING)
            if working and record.id.startswith(f"{resource_id}/") and record.type in KINDS:
                with self._locks[record.id]:
                    current = self._ledger.find(record.type, record.id)
                    if current is not None:
                        self._caught_up(current)

    def _finish_parents(self, resource_id: str) -> None:
        """Let the resources finish that this one is part of, such as a pool's cluster."""
        for record in self._ledger.everything():
            if record.state == State.WORKING and resource_id.startswith(f"{record.id}/") and record.type in KINDS:
                with self._locks[record.id]:
                    self._caught_up(record)

    def _caught_up(self, record: Record) -> Record | None:
        kind = KINDS[record.type]
        if record.state == State.WORKING:
            return self._settled(kind, self._computed(kind, record))
        if record.state == State.DELETING:
            self._removed(kind, record)
            return None
        return record

    def _computed(self, kind: Kind, record: Record) -> Record:
        outputs = merged(record.inputs, kind.outputs(record, self.simulation))
        return self._ledger.change(record.type, record.id, outputs=outputs)

    def _settled(self, kind: Kind, record: Record) -> Record:
        if self.simulation.interrupted.is_set():
            return record
        try:
            found = kind.settle(record, self.simulation)
        except CloudError as error:
            self._ledger.change(record.type, record.id, state=State.FAILED)
            raise CreatedButFailedError(str(error), record.id, record.inputs, record.outputs) from error
        if self.simulation.interrupted.is_set():
            return record
        return self._ledger.change(record.type, record.id, outputs=merged(record.outputs, found), state=State.RUNNING)

    def _removed(self, kind: Kind, record: Record) -> None:
        kind.remove(record, self.simulation)
        self._ledger.remove(record.type, record.id)


def _identity(record: Record) -> Identity:
    return Identity(record.id, record.project, record.location, record.name)


def merged(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """Return ``base`` with the values of ``over`` laid over it, block by block."""
    out = dict(base)
    for key, value in over.items():
        below = out.get(key)
        out[key] = merged(below, value) if isinstance(value, Mapping) and isinstance(below, Mapping) else value
    return out


def preview_outputs(token: str, inputs: Mapping[str, Any], before: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return what is known of a resource before an operation: its inputs, and what the cloud filled in ``before``.

    What the cloud has yet to fill in is unknown.
    """
    out: dict[str, Any] = merged(inputs, {})
    for path in KINDS[token].computed:
        *blocks, last = path.split(".")
        place: Any = out
        old: Any = before or {}
        for block in blocks:
            place[block] = dict(place[block]) if isinstance(place.get(block), Mapping) else {}
            place, old = place[block], old.get(block) or {}
        place.setdefault(last, old.get(last, UNKNOWN))
    return out
