"""Makes operations run into the faults that ``faults.yaml`` asks for, as often as it asks.

How often a fault has struck is kept in the sandbox's folder, so that all processes of a sandbox count together. Where
Google's provider would ask again, so does this: the user hears of it when the provider would give up.
"""

import json
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from beamline.sandbox.cloud.access import api_of
from beamline.sandbox.cloud.errors import CloudError
from beamline.sandbox.cloud.fault_kinds import FaultKind, fault_kinds
from beamline.sandbox.cloud.faults import OperationFault, read_faults
from beamline.sandbox.cloud.inventory import read_inventory
from beamline.sandbox.cloud.kinds import KINDS, Identity
from beamline.sandbox.cloud.simulation import Simulation

__all__ = ["FaultInjector", "Target"]

_COUNTS = "faults-used.db"
_BUSY_S = 30
_TRANSPORT_S = 90.0
"""How long the provider's transport asks again (``defaultRetryTransportTimeoutSec``)."""
_OPERATION_S = 1800.0
"""The default time of a node pool's operations in the provider."""
_OPERATION_PAUSE_S = 10.0
"""The longest pause of the Terraform SDK's ``Retry``."""
_POOL = "gcp:container/nodePool:NodePool"


@dataclass(frozen=True)
class Target:
    """One operation on one resource."""

    operation: str
    token: str
    identity: Identity
    inputs: Mapping[str, Any]

    @property
    def zones(self) -> list[str]:
        """Where the resource's machines would be."""
        return list(self.inputs.get("nodeLocations") or []) or [self.identity.location]


class FaultInjector:
    """The faults of one simulated cloud."""

    def __init__(self, simulation: Simulation) -> None:
        self._simulation = simulation

    def on_request(self, target: Target) -> None:
        """Refuse a request, after asking again as the provider does. Raises CloudError."""
        for kind, fault in self._hitting(target, "request"):
            for pause in _pauses(kind, target):
                if not self._strikes(fault):
                    break
                self._simulation.wait(pause)
                if self._simulation.interrupted.is_set():
                    raise CloudError(self._words(kind, target))
            else:
                if self._strikes(fault):
                    raise CloudError(self._words(kind, target))

    def on_answer(self, target: Target) -> None:
        """Lose the connection to a cloud that has accepted the request. Raises CloudError."""
        self._raise(target, "answer")

    def on_work(self, target: Target) -> None:
        """Fail the work on a resource that exists. Raises CloudError."""
        self._raise(target, "work")

    def duration(self, target: Target, usual_s: float) -> float:
        """Return how long an operation takes, in simulated seconds."""
        for _, fault in self._hitting(target, "duration"):
            if self._strikes(fault):
                return usual_s * fault.factor if fault.factor is not None else usual_s + (fault.seconds or 0)
        return usual_s

    def _raise(self, target: Target, stage: str) -> None:
        for kind, fault in self._hitting(target, stage):
            if self._strikes(fault):
                raise CloudError(self._words(kind, target))

    def _hitting(self, target: Target, stage: str) -> Iterator[tuple[FaultKind, OperationFault]]:
        for fault in read_faults(self._simulation.folder).operations:
            kind = fault_kinds()[fault.fault]
            _check_type(fault)
            possible = target.operation in kind.operations and (not kind.types or target.token in kind.types)
            named = fault.hits(target.operation, target.token, target.identity.name, dict(target.inputs), target.zones)
            if kind.stage == stage and possible and named:
                yield kind, fault

    def _strikes(self, fault: OperationFault) -> bool:
        """Use up one of a fault's times; False when none is left."""
        if fault.times is None:
            return True
        key = json.dumps(asdict(fault), sort_keys=True)
        with closing(_counts(self._simulation.folder)) as connection:
            row = connection.execute(
                "INSERT INTO used VALUES (?, 1) ON CONFLICT (fault) DO UPDATE SET times = times + 1 WHERE times < ? "
                "RETURNING times",
                (key, fault.times),
            ).fetchone()
            return row is not None

    def _words(self, kind: FaultKind, target: Target) -> str:
        return kind.says.format(
            title=KINDS[target.token].title,
            id=target.identity.id,
            name=target.identity.name,
            project=target.identity.project,
            zone=target.zones[0],
            api=api_of(target.token),
            number=read_inventory(self._simulation).number,
            count=target.inputs.get("nodeCount", target.inputs.get("initialNodeCount", 1)),
        )


def _pauses(kind: FaultKind, target: Target) -> Iterator[float]:
    """Yield the pauses between the provider's attempts, in simulated seconds."""
    if kind.retried == "transport":
        pause, following, total = 0.5, 0.5, 0.0
        while total + pause <= _TRANSPORT_S:
            yield pause
            total += pause
            pause, following = pause + following, pause
    elif kind.retried == "operation" and target.token == _POOL:
        yield from [_OPERATION_PAUSE_S] * int(_OPERATION_S / _OPERATION_PAUSE_S)


def _check_type(fault: OperationFault) -> None:
    known = {*KINDS, *(token.rpartition(":")[2] for token in KINDS)}
    if fault.type and fault.type not in known:
        raise CloudError(
            f"faults.yaml: the simulated cloud has no resource type {fault.type!r}; it has "
            f"{', '.join(sorted(token.rpartition(':')[2] for token in KINDS))}"
        )


def _counts(folder: Path) -> sqlite3.Connection:
    folder.mkdir(parents=True, exist_ok=True)
    connection = sqlite3.connect(folder / _COUNTS, timeout=_BUSY_S, isolation_level=None)
    connection.execute("CREATE TABLE IF NOT EXISTS used (fault TEXT PRIMARY KEY, times INTEGER NOT NULL) STRICT")
    return connection
