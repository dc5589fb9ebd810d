"""What GKE says about nodes of the Dynamic Workload Scheduler: flex-start, and flex-start with queued provisioning.

The rules are the preconditions of Google's Cluster Toolkit v1.95.0 (modules/compute/gke-node-pool) and GKE's page about
flex-start; neither has the words of the refusals, so the words here are the simulation's. No autoscaler is simulated:
such a pool stays without nodes.
"""

import re
from collections.abc import Iterator

from beamline.sandbox.cloud.kinds.base import Inputs
from beamline.sandbox.cloud.machines import machine
from beamline.sandbox.cloud.schema import Failure

__all__ = ["dynamic_workload_problems"]

_LONGEST_RUN_S = 7 * 24 * 3600


def dynamic_workload_problems(inputs: Inputs) -> Iterator[Failure]:
    """Yield what is wrong with a pool whose nodes the Dynamic Workload Scheduler brings."""
    config = inputs.get("nodeConfig") or {}
    yield from _run_duration(config)
    queued = bool((inputs.get("queuedProvisioning") or {}).get("enabled"))
    if not (config.get("flexStart") or queued):
        return
    what = "queued provisioning" if queued else "flex-start"
    scaling = inputs.get("autoscaling") or {}
    if "nodeCount" in inputs or not scaling:
        yield Failure("autoscaling", f"{what} needs an autoscaled pool without a fixed nodeCount")
    for key in ("minNodeCount", "totalMinNodeCount"):
        if scaling.get(key):
            yield Failure(f"autoscaling.{key}", f"{what} starts from no node: the minimum is 0, not {scaling[key]}")
    affinity = (config.get("reservationAffinity") or {}).get("consumeReservationType")
    if affinity != "NO_RESERVATION":
        yield Failure(
            "nodeConfig.reservationAffinity", f"{what} takes no reservation: consumeReservationType is NO_RESERVATION"
        )
    if config.get("flexStart") and (inputs.get("management") or {}).get("autoRepair", True):
        yield Failure("management.autoRepair", "flex-start needs autoRepair false")
    if queued:
        yield from _queued(inputs, config)


def _queued(inputs: Inputs, config: Inputs) -> Iterator[Failure]:
    if (inputs.get("placementPolicy") or {}).get("type") == "COMPACT":
        yield Failure("placementPolicy", "queued provisioning and COMPACT placement exclude each other")
    if config.get("spot") or config.get("preemptible"):
        yield Failure("queuedProvisioning", "queued provisioning does not bring Spot or preemptible VMs")
    made = machine(config.get("machineType", ""))
    if made and not made.family.flex_start:
        yield Failure("queuedProvisioning", f"{made.family.name} is not offered through flex-start")


def _run_duration(config: Inputs) -> Iterator[Failure]:
    written = config.get("maxRunDuration")
    if written is None:
        return
    found = re.fullmatch(r"(\d+)s", written)
    if not found:
        yield Failure("nodeConfig.maxRunDuration", f"expected seconds such as 3600s, got {written}")
    elif config.get("flexStart") and int(found.group(1)) > _LONGEST_RUN_S:
        yield Failure("nodeConfig.maxRunDuration", f"flex-start nodes run {_LONGEST_RUN_S} s at most, not {written}")
