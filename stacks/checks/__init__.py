"""Cross-field checks: what each value allows the others to be.

A check is a pure function from a candidate stack to problems. It names the key, the reason, what is allowed, the remedy
and who says so; it never stops at the first finding.
"""

from __future__ import annotations

from stacks.checks import (
    capacity,
    cluster_options,
    disaggregation,
    dynamo_routing,
    engine_arguments,
    extra_settings,
    fabric,
    flow_control,
    gateway,
    handed_on,
    hardware,
    host_maintenance,
    kv_pool,
    launch,
    llmd,
    network,
    parallelism,
    places,
    pools,
    reservations,
    routing,
    scaling,
    serving,
    speculation,
    system_nodes,
    weights,
)
from stacks.checks.candidate import Candidate, Check
from stacks.problems import Problem

__all__ = ["CHECKS", "Candidate", "check_all"]

CHECKS: tuple[Check, ...] = (
    *pools.CHECKS,
    *hardware.CHECKS,
    *reservations.CHECKS,
    *host_maintenance.CHECKS,
    *parallelism.CHECKS,
    *disaggregation.CHECKS,
    *fabric.CHECKS,
    *serving.CHECKS,
    *extra_settings.CHECKS,
    *handed_on.CHECKS,
    *gateway.CHECKS,
    *llmd.CHECKS,
    *dynamo_routing.CHECKS,
    *engine_arguments.CHECKS,
    *routing.CHECKS,
    *flow_control.CHECKS,
    *scaling.CHECKS,
    *kv_pool.CHECKS,
    *speculation.CHECKS,
    *weights.CHECKS,
    *capacity.CHECKS,
    *system_nodes.CHECKS,
    *places.CHECKS,
    *network.CHECKS,
    *cluster_options.CHECKS,
    *launch.CHECKS,
)


def check_all(candidate: Candidate) -> list[Problem]:
    """Run every check and return everything found."""
    return [problem for check in CHECKS for problem in check(candidate)]
