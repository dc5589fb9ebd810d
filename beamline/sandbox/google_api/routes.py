"""What a method of an API is made of: where it is, what the caller needs for it, what it answers."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from beamline.sandbox.cloud.access import grants, roles_of
from beamline.sandbox.cloud.inventory import Inventory, read_inventory
from beamline.sandbox.cloud.reservations import reservation_path
from beamline.sandbox.cloud.simulation import Simulation

__all__ = ["Call", "RefusalError", "Route", "not_found"]

DEPLOYER = "deployer"
"""Whoever asks: the simulated project's principal that runs Pulumi."""


class RefusalError(Exception):
    """An answer that is an error, as Google writes one."""

    def __init__(self, status: HTTPStatus, message: str, reason: str = "") -> None:
        super().__init__(message)
        self.status = status
        self.body: dict[str, Any] = {"error": {"code": int(status), "message": message, "status": status.name}}
        if reason:
            self.body["error"]["details"] = [{"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": reason}]


def not_found(what: str) -> RefusalError:
    """Return the answer to asking for something that is not there."""
    return RefusalError(HTTPStatus.NOT_FOUND, f"The resource '{what}' was not found")


@dataclass(frozen=True)
class Call:
    """One request: parts of its path by name, its query, its body.

    ``assumed`` has the machine types of reservations that the inventory only assumes, as stacks name these.
    """

    simulation: Simulation
    assumed: Mapping[str, str]
    parts: Mapping[str, str]
    query: Mapping[str, Sequence[str]]
    body: Mapping[str, Any]

    @property
    def inventory(self) -> Inventory:
        """The simulated project, read now."""
        return read_inventory(self.simulation)

    def assumed_machine_type(self, path: str) -> str:
        """Return what a reservation, ``projects/P/reservations/R``, holds that nobody described; empty: unknown."""
        full = {reservation_path(name, self.simulation.project): kind for name, kind in self.assumed.items()}
        return next((kind for name, kind in full.items() if f"{name}/".startswith(f"{path}/")), "")

    def filtered(self, pattern: str) -> str:
        """Return what a list's filter asks for, by a pattern with one group; empty when it does not."""
        found = re.search(pattern, "".join(self.query.get("filter", [])))
        return found[1] if found else ""

    def may(self, permission: str) -> bool:
        """Tell whether the caller has a permission in the project."""
        return any(grants(role, permission) for role in roles_of(DEPLOYER, self.simulation))

    def held(self, wanted: Sequence[str]) -> dict[str, Any]:
        """Answer a test of permissions."""
        return {"permissions": [permission for permission in wanted if self.may(permission)]}


@dataclass(frozen=True)
class Route:
    """One method. ``path`` names its parts in braces; ``permission`` is empty where anybody may call it."""

    method: str
    host: str
    path: str
    permission: str
    answer: Callable[[Call], Mapping[str, Any]]

    def match(self, method: str, path: str) -> dict[str, str] | None:
        """Return the parts of a request's path, None when the request is for another method."""
        pattern = re.sub(r"\\{(\w+)\\}", r"(?P<\1>[^/]+)", re.escape(f"/{self.host}/{self.path}"))
        found = re.fullmatch(pattern, path)
        return found.groupdict() if found and method == self.method else None

    def answered(self, call: Call) -> Mapping[str, Any]:
        """Return the answer; raises ``RefusalError`` where the API is off, a right is missing, the project another."""
        if self.host not in call.inventory.apis:
            raise RefusalError(
                HTTPStatus.FORBIDDEN,
                f"{self.host} has not been used in project {call.inventory.number} before or it is disabled.",
                "SERVICE_DISABLED",
            )
        if self.permission and not call.may(self.permission):
            raise RefusalError(
                HTTPStatus.FORBIDDEN, f"Required '{self.permission}' permission for '{call.simulation.project}'"
            )
        if call.parts.get("project", call.simulation.project) != call.simulation.project:
            raise not_found(f"projects/{call.parts['project']}")
        return self.answer(call)
