"""Who may do what in the simulated project: enabled APIs, and the roles of the deployer and of Google's own agents.

The rows are in ``access.yaml``; what is enabled and granted is the inventory's, and what stacks granted the ledger's.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from typing import Any

from beamline.sandbox.cloud.errors import CloudError
from beamline.sandbox.cloud.inventory import Inventory, read_inventory
from beamline.sandbox.cloud.simulation import Simulation
from beamline.sandbox.cloud.tables import table

__all__ = ["api_of", "check_access", "grants", "permission_of", "roles_of"]

_PROJECT_MEMBER = "gcp:projects/iAMMember:IAMMember"
_DEPLOYER = "deployer"


@dataclass(frozen=True)
class _Rules:
    apis: Mapping[str, str]
    types: Mapping[str, Mapping[str, str]]
    words: Mapping[str, str]
    roles: Mapping[str, tuple[str, ...]]


@cache
def _rules() -> _Rules:
    raw: dict[str, Any] = table("access.yaml")
    roles = {role: tuple(patterns) for role, patterns in raw["roles"].items()}
    return _Rules(raw["apis"], raw["types"], raw["permission_words"], roles)


def api_of(token: str) -> str:
    """Return the service that a resource type belongs to."""
    return _rules().types[token]["api"]


def permission_of(token: str, operation: str) -> str:
    """Return the permission that ``create``, ``read``, ``update`` or ``delete`` of a resource type needs."""
    row = _rules().types[token]
    usual = "get" if operation == "read" else operation
    return f"{row['permission']}.{row.get(operation, usual)}"


def grants(role: str, permission: str) -> bool:
    """Tell whether a role has a permission. A role that the simulation does not know has none."""
    return any(fnmatchcase(permission, pattern) for pattern in _rules().roles.get(role, ()))


def roles_of(member: str, simulation: Simulation) -> frozenset[str]:
    """Return a member's roles on the project: what it had before, and what stacks gave it."""
    given = {
        record.inputs["role"]
        for record in simulation.ledger.of_type(_PROJECT_MEMBER)
        if record.inputs["member"] == member and not record.inputs.get("condition")
    }
    return read_inventory(simulation).member_roles().get(member, frozenset()) | given


def check_access(operation: str, token: str, resource_id: str, simulation: Simulation) -> None:
    """Refuse an operation whose API is off, or that the deployer may not do. Raises CloudError."""
    inventory, api = read_inventory(simulation), api_of(token)
    if api not in inventory.apis:
        raise _disabled(api, inventory)
    permission = permission_of(token, operation)
    if not any(grants(role, permission) for role in roles_of(_DEPLOYER, simulation)):
        words = _rules().words.get(api, _rules().words["default"])
        raise CloudError(words.format(permission=permission, project=simulation.project, id=resource_id))


def _disabled(api: str, inventory: Inventory) -> CloudError:
    """Google's words: banzaicloud/cloudinfo#378 (2020), unchanged in terraform-google-modules' CI of 2022.

    The reason in the error's details is SERVICE_DISABLED, which the provider prints below the sentence.
    """
    return CloudError(
        f"googleapi: Error 403: {_rules().apis[api]} has not been used in project {inventory.number} before or it is "
        f"disabled. Enable it by visiting https://console.developers.google.com/apis/api/{api}/overview?project="
        f"{inventory.number} then retry. If you enabled this API recently, wait a few minutes for the action to "
        "propagate to our systems and retry. Details: reason SERVICE_DISABLED, accessNotConfigured"
    )
