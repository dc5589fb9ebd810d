"""Resource policies that place instances: workload policies and group placement policies."""

import re
from collections.abc import Iterator

from typing_extensions import override

from beamline.sandbox.cloud.errors import in_use
from beamline.sandbox.cloud.kinds.base import Inputs
from beamline.sandbox.cloud.kinds.clusters import NODE_POOL
from beamline.sandbox.cloud.kinds.compute import RESOURCE_POLICY, ComputeKind
from beamline.sandbox.cloud.kinds.fabrics import placement_policy
from beamline.sandbox.cloud.ledger import Record
from beamline.sandbox.cloud.schema import Failure
from beamline.sandbox.cloud.simulation import Simulation

__all__ = ["ResourcePolicy"]

_PLACING = ("workloadPolicy", "groupPlacementPolicy")
_OTHERS = ("snapshotSchedulePolicy", "instanceSchedulePolicy", "diskConsistencyGroupPolicy")
_TYPES = ("HIGH_AVAILABILITY", "HIGH_THROUGHPUT")
_TOPOLOGY = re.compile(r"\d+(x\d+){1,2}")


class ResourcePolicy(ComputeKind):
    """A resource policy that a node pool can name as its placement policy."""

    token = RESOURCE_POLICY
    title = "ResourcePolicy"
    collection = "resourcePolicies"
    create_s, delete_s = 5, 5
    computed = ("project", "region", "selfLink")

    @override
    def problems(self, inputs: Inputs, simulation: Simulation) -> Iterator[Failure]:
        yield from super().problems(inputs, simulation)
        for key in _OTHERS:
            if inputs.get(key):
                yield Failure(key, f"the simulated cloud knows the resource policies {' and '.join(_PLACING)} only")
        if len([key for key in (*_PLACING, *_OTHERS) if inputs.get(key)]) != 1:
            yield Failure(_PLACING[0], f"a resource policy has exactly one of {', '.join(_PLACING)}")
        workload = inputs.get("workloadPolicy") or {}
        if workload.get("type", _TYPES[0]) not in _TYPES:
            yield Failure("workloadPolicy.type", f"expected type to be one of {list(_TYPES)}, got {workload['type']}")
        topology = workload.get("acceleratorTopology")
        if topology is not None and not _TOPOLOGY.fullmatch(topology):
            yield Failure("workloadPolicy.acceleratorTopology", f"{topology!r} is no topology such as 1x72")
        if topology is not None and workload.get("maxTopologyDistance"):
            yield Failure(
                "workloadPolicy.maxTopologyDistance", "acceleratorTopology and maxTopologyDistance exclude each other"
            )

    @override
    def before_delete(self, record: Record, simulation: Simulation) -> None:
        users = [
            pool.id
            for pool in simulation.ledger.of_type(NODE_POOL)
            if placement_policy(pool.inputs, pool.project, pool.location) == record.id
        ]
        if users:
            raise in_use("resourcePolicy", record.id, users)
