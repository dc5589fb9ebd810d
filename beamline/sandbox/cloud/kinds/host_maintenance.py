"""What GKE says about the maintenance of the machines under a pool's nodes.

The rules are those of the API's reference (v1beta1, HostMaintenancePolicy); the words are the simulation's. Which
families have machines with PERIODIC maintenance is in the table of machines; no maintenance is simulated.
"""

import re
from collections.abc import Iterator

from beamline.sandbox.cloud.kinds.base import Inputs
from beamline.sandbox.cloud.machines import Machine
from beamline.sandbox.cloud.schema import Failure

__all__ = ["host_maintenance_problems"]

_INTERVALS = ("MAINTENANCE_INTERVAL_UNSPECIFIED", "AS_NEEDED", "PERIODIC")
_WINDOWS = ("nodeIdleTimeWindow", "maintenanceAvailabilityWindow")
_ANNOUNCED_S = 28 * 24 * 3600
_STRATEGY = "opportunisticMaintenanceStrategy"


def host_maintenance_problems(config: Inputs, made: Machine | None) -> Iterator[Failure]:
    """Yield what is wrong with the ``hostMaintenancePolicy`` of a ``nodeConfig``."""
    policy = config.get("hostMaintenancePolicy")
    if not policy:
        return
    interval, strategy = policy.get("maintenanceInterval"), policy.get(_STRATEGY)
    at = "hostMaintenancePolicy.maintenanceInterval"
    if interval not in _INTERVALS:
        yield Failure(at, f"expected one of {list(_INTERVALS)}, got {interval}")
    elif interval == "PERIODIC" and made and not made.family.periodic_maintenance:
        yield Failure(at, f"{made.family.name} has no machines whose maintenance is PERIODIC")
    if not strategy:
        return
    at = f"hostMaintenancePolicy.{_STRATEGY}"
    if interval != "PERIODIC":
        yield Failure(at, f"a maintenance strategy requires the maintenance_interval to be PERIODIC, not {interval}")
    for key in _WINDOWS:
        yield from _window(strategy.get(key), f"{at}.{key}")
    if strategy.get("minNodesPerPool", 0) < 0:
        yield Failure(f"{at}.minNodesPerPool", f"expected at least 0 nodes, got {strategy['minNodesPerPool']}")


def _window(written: str | None, at: str) -> Iterator[Failure]:
    if written is None or not re.fullmatch(r"\d+(\.\d{1,9})?s", written):
        yield Failure(at, f"expected seconds such as 600s, got {written}")
    elif float(written[:-1]) > _ANNOUNCED_S:
        yield Failure(at, f"maintenance is announced {_ANNOUNCED_S}s ahead: {written} reaches further back")
