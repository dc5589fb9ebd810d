"""Faults of the simulated cloud, which a test or a curious user writes into ``cloud/faults.yaml`` of a sandbox.

``docs/simulation.md`` describes every key. The file is read whenever it matters, so a fault can come and go while the
sandbox runs; without it the cloud is well.
"""

from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from beamline.sandbox.cloud.fault_kinds import fault_kinds
from beamline.sandbox.cloud.strict_yaml import Column, StrictFile

__all__ = ["FAULTS", "Faults", "OperationFault", "read_faults"]

FAULTS = "faults.yaml"

_KEYS = {
    "sub_blocks": Column(
        dict, rows={"name": Column(required=True), "healthy_hosts": Column(int, required=True, least=0)}
    ),
    "nodes": Column(
        dict,
        rows={
            "pool": Column(required=True),
            "place": Column(int, required=True, least=0),
            "rdma_devices": Column(int, least=0),
            "ready": Column(bool),
        },
    ),
    "operations": Column(
        dict,
        rows={
            "fault": Column(required=True, choices=tuple(fault_kinds())),
            "type": Column(),
            "name": Column(),
            "operation": Column(choices=("create", "read", "update", "delete")),
            "zone": Column(),
            "machine_type": Column(),
            "times": Column(int, least=1),
            "factor": Column(float, least=1),
            "seconds": Column(float, least=0),
        },
    ),
}


@dataclass(frozen=True)
class OperationFault:
    """A fault that operations run into; what is empty or None matches everything."""

    fault: str
    type: str = ""
    """A resource type, whole (``gcp:container/nodePool:NodePool``) or its last part (``NodePool``)."""
    name: str = ""
    """A pattern of names, such as ``beam-*``."""
    operation: str = ""
    zone: str = ""
    machine_type: str = ""
    times: int | None = None
    """How often it happens, over all processes; None: always."""
    factor: float | None = None
    seconds: float | None = None
    """How much longer a slow operation takes."""

    def hits(self, operation: str, token: str, name: str, inputs: dict[str, Any], zones: list[str]) -> bool:
        """Tell whether an operation runs into the fault."""
        config = inputs.get("nodeConfig") or {}
        return (
            self.operation in ("", operation)
            and self.type in ("", token, token.rpartition(":")[2])
            and fnmatchcase(name, self.name or "*")
            and (not self.zone or self.zone in zones)
            and self.machine_type in ("", config.get("machineType"))
        )


@dataclass(frozen=True)
class Faults:
    """What is broken."""

    healthy_hosts: dict[str, int]
    """Path of a reservation's sub-block to how many of its hosts work."""
    rdma_devices: dict[tuple[str, int], int]
    """Pool and place of a node to how many RDMA interfaces come up."""
    never_ready: frozenset[tuple[str, int]]
    """Pool and place of nodes that never get ready."""
    operations: tuple[OperationFault, ...]


def read_faults(folder: Path) -> Faults:
    """Read the faults of the simulated cloud in a folder. Raises CloudError for a file that says nothing clear."""
    file = StrictFile(folder / FAULTS)
    raw = file.row("", file.load(), _KEYS)
    file.close()
    for index, row in enumerate(raw.get("nodes", [])):
        if not {"rdma_devices", "ready"} & row.keys():
            file.problem(f"nodes[{index}]: rdma_devices or ready is expected")
    for index, row in enumerate(raw.get("operations", [])):
        _check_operation(file, f"operations[{index}]", row)
    file.close()
    nodes = raw.get("nodes", [])
    return Faults(
        healthy_hosts={row["name"]: row["healthy_hosts"] for row in raw.get("sub_blocks", [])},
        rdma_devices={(row["pool"], row["place"]): row["rdma_devices"] for row in nodes if "rdma_devices" in row},
        never_ready=frozenset((row["pool"], row["place"]) for row in nodes if row.get("ready") is False),
        operations=tuple(OperationFault(**row) for row in raw.get("operations", [])),
    )


def _check_operation(file: StrictFile, at: str, row: dict[str, Any]) -> None:
    kind = fault_kinds()[row["fault"]]
    if kind.stage == "duration":
        if ("factor" in row) is ("seconds" in row):
            file.problem(f"{at}: {kind.name} takes either factor or seconds")
    elif {"factor", "seconds"} & row.keys():
        file.problem(f"{at}: factor and seconds are for the fault slow")
    if "operation" in row and row["operation"] not in kind.operations:
        file.problem(f"{at}.operation: {kind.name} happens to {', '.join(kind.operations)}")
    if kind.types and "type" in row and not any(row["type"] in (t, t.rpartition(":")[2]) for t in kind.types):
        file.problem(f"{at}.type: {kind.name} happens to {', '.join(t.rpartition(':')[2] for t in kind.types)}")
