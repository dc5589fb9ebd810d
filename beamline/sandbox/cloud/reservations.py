"""The names of reservations, down to the sub-block whose hosts share an NVLink domain."""

import re

from beamline.sandbox.cloud.names import hashed

__all__ = ["RESERVATION_KEY", "reservation_parts", "reservation_path", "reservation_problem", "topology_labels"]

RESERVATION_KEY = "compute.googleapis.com/reservation-name"

_NAME = r"[a-z](?:[-a-z0-9]{0,61}[a-z0-9])?"
_PATH = re.compile(
    rf"(?:projects/[^/]+/reservations/)?{_NAME}"
    rf"(?:/reservationBlocks/{_NAME}(?:/reservationSubBlocks/{_NAME})?)?"
)


def reservation_problem(value: str) -> str:
    """Say why a value of a reservation affinity names no reservation; empty when it names one.

    The first sentence is GKE's (seen by GoogleCloudPlatform/cluster-toolkit's error list, 2026).
    """
    if _PATH.fullmatch(value):
        return ""
    return (
        f"Reservation name format path is invalid: {value!r}. Write NAME or projects/PROJECT/reservations/NAME, and "
        "/reservationBlocks/BLOCK/reservationSubBlocks/SUB_BLOCK after it to name one sub-block"
    )


def reservation_path(value: str, project: str) -> str:
    """Return the full path of a reservation, or of its sub-block, that may be named without its project."""
    return value if value.startswith("projects/") else f"projects/{project}/reservations/{value}"


def reservation_parts(path: str) -> tuple[str, str, str, str]:
    """Return project, reservation, block and sub-block of a full path; empty where the path stops before."""
    project, name, block, sub_block = [*path.split("/")[1::2], "", "", "", ""][:4]
    return project, name, block, sub_block


def topology_labels(path: str, node: str) -> dict[str, str]:
    """Return where a node of a reservation stands, as GKE labels it: opaque, and alike for what is the same place.

    A reservation that is named without a sub-block stands for one sub-block: nodes of a domain never lie in two.
    """
    block, _, _ = path.partition("/reservationSubBlocks/")
    return {
        "cloud.google.com/gce-topology-block": hashed(f"block {block}", 32),
        "cloud.google.com/gce-topology-subblock": hashed(f"sub-block {path}", 32),
        "cloud.google.com/gce-topology-host": hashed(f"host {path} {node}", 32),
    }
