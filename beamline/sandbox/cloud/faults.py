"""Faults of the simulated hardware, which a test or a curious user writes into ``cloud/faults.yaml`` of a sandbox::

    sub_blocks:
      - {name: projects/P/reservations/R/reservationBlocks/B/reservationSubBlocks/S, healthy_hosts: 16}
    nodes:
      - {pool: beam-metal, place: 0, rdma_devices: 7}

``name`` is the reservation as the node pool names it, with its project. ``place`` counts a pool's nodes in the order of
their names, from 0. The file is read whenever it matters, so a fault can come and go while the sandbox runs; without it
the hardware is well.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from beamline.sandbox.cloud.errors import CloudError

__all__ = ["FAULTS", "Faults", "read_faults"]

FAULTS = "faults.yaml"

_KEYS: dict[str, dict[str, type]] = {
    "sub_blocks": {"name": str, "healthy_hosts": int},
    "nodes": {"pool": str, "place": int, "rdma_devices": int},
}


@dataclass(frozen=True)
class Faults:
    """What is broken."""

    healthy_hosts: dict[str, int]
    """Path of a reservation's sub-block to how many of its hosts work."""
    rdma_devices: dict[tuple[str, int], int]
    """Pool and place of a node to how many RDMA interfaces come up."""


def read_faults(folder: Path) -> Faults:
    """Read the faults of the simulated cloud in a folder. Raises CloudError for a file that says nothing clear."""
    path = folder / FAULTS
    try:
        raw = yaml.safe_load(path.read_text()) or {}
    except FileNotFoundError:
        raw = {}
    except (OSError, yaml.YAMLError) as error:
        raise CloudError(f"the simulated faults {path} cannot be read: {error}") from error
    rows = {key: _rows(path, raw, key) for key in _KEYS}
    if unknown := sorted(set(raw) - set(_KEYS)):
        raise CloudError(f"{path}: unknown key {unknown[0]!r}; known are {', '.join(_KEYS)}")
    return Faults(
        healthy_hosts={row["name"]: row["healthy_hosts"] for row in rows["sub_blocks"]},
        rdma_devices={(row["pool"], row["place"]): row["rdma_devices"] for row in rows["nodes"]},
    )


def _rows(path: Path, raw: Any, key: str) -> list[dict[str, Any]]:
    found = raw.get(key, []) if isinstance(raw, dict) else None
    if not isinstance(found, list):
        raise CloudError(f"{path}: a map with the lists {' and '.join(_KEYS)} is expected")
    for row in found:
        types = {name: type(value) for name, value in row.items()} if isinstance(row, dict) else {}
        if types != _KEYS[key]:
            wanted = ", ".join(f"{name} ({kind.__name__})" for name, kind in _KEYS[key].items())
            raise CloudError(f"{path}: an entry of {key} has exactly {wanted}; not {row!r}")
    return found
