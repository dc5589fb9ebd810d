"""The simulated operators of third parties, and the simulated kubelets' part in what they do.

Each acts only while the chart that brings it is installed and its operator is ready.
"""

from collections.abc import Callable

from beamline.sandbox.cloud.api_server import ApiServer
from beamline.sandbox.operators.claims import Claims
from beamline.sandbox.operators.compute_domains import ComputeDomains
from beamline.sandbox.operators.dynamo import Dynamo
from beamline.sandbox.operators.imex_nodes import DRIVER
from beamline.sandbox.operators.leader_worker_sets import LeaderWorkerSets
from beamline.sandbox.operators.world import World
from beamline.sandbox.operators.writing import Writer

__all__ = ["third_parties"]

_MANAGER = "simulated-operators"
"""Who writes, as the objects' managedFields show it."""


def third_parties(world: World, api: ApiServer) -> list[Callable[[], float | None]]:
    """Return one pass for each operator, in the order in which they build on one another."""
    api.manager = _MANAGER
    writer = Writer(world, api)
    domains = ComputeDomains(world, writer)
    return [
        Dynamo(world, writer).run_once,
        LeaderWorkerSets(world, writer).run_once,
        domains.run_once,
        Claims(world, writer, {DRIVER: domains.prepare}).run_once,
    ]
