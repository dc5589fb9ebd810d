"""One pass over everything the controllers watch: compute the statuses, write those that say something new.

A pass is cheap (a sandbox has tens of objects), so there is no bookkeeping of who depends on whom: any event leads to a
pass, a pass that finds nothing to write is the end of it.
"""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from beamline.sandbox.cloud.api_server import ApiServer, Kind
from beamline.sandbox.cloud.errors import CloudError
from beamline.sandbox.operators.conditions import changed
from beamline.sandbox.operators.gateways import (
    Verdict,
    class_status,
    gateway_status,
    is_managed,
    judge,
    wanted_load_balancer,
)
from beamline.sandbox.operators.load_balancers import CloudView
from beamline.sandbox.operators.policies import TARGETS, monitoring_status, policy_status
from beamline.sandbox.operators.routes import attached_routes, pool_status, route_status
from beamline.sandbox.operators.world import WATCHED, Manifest, World

__all__ = ["FINALIZER", "Controller"]

FINALIZER = "gateway.finalizer.networking.gke.io"
_LOAD_BALANCER_S = 75.0
"""Real seconds until a new Gateway answers: 60 to 100 on GKE (public logs, 2025)."""
_RECHECK_S = 2.0
"""How often the cloud is asked again while a Gateway waits for something in it."""


@dataclass
class Controller:
    """The simulated controllers of one cluster."""

    world: World
    cloud: CloudView
    api: ApiServer
    time_scale: float
    clock: Callable[[], float] = time.monotonic
    _started: dict[str, float] = field(default_factory=dict)
    """Gateway uid to when its load balancer was begun."""

    def run_once(self) -> float | None:
        """Do one pass. Return in how many seconds the next is due by itself; None: at the next event."""
        now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        due: list[float] = []
        for gateway in self.world.of_kind("Gateway"):
            due += self._gateway(gateway, now)
        for manifest, status in list(self._statuses(now)):
            self._write(manifest, status)
        return min(due, default=None)

    def _statuses(self, now: str) -> Iterator[tuple[Manifest, dict[str, Any]]]:
        for found in self.world.of_kind("GatewayClass"):
            if found["spec"]["controllerName"] == "networking.gke.io/gateway":
                yield found, class_status(found, now)
        for route in self.world.of_kind("HTTPRoute"):
            if (status := route_status(route, self.world, now)) is not None:
                yield route, status
        for pool in self.world.of_kind("InferencePool"):
            if (status := pool_status(pool, self.world, now)) is not None:
                yield pool, status
        for policy in self.world.of_kind(*TARGETS):
            yield policy, policy_status(policy, self.world, now)
        for monitoring in self.world.of_kind("PodMonitoring", "ClusterPodMonitoring"):
            yield monitoring, monitoring_status(monitoring, now)

    def _gateway(self, gateway: Manifest, now: str) -> list[float]:
        """Bring one Gateway up to date; return when to look again."""
        metadata = gateway["metadata"]
        if "deletionTimestamp" in metadata:
            self._release(gateway)
            return []
        if not is_managed(gateway, self.world):
            return []
        if FINALIZER not in metadata.get("finalizers", []):
            finalizers = [*metadata.get("finalizers", []), FINALIZER]
            annotations = {"networking.gke.io/last-reconcile-time": now}
            self._patch(gateway, {"metadata": {"finalizers": finalizers, "annotations": annotations}})
        verdict, waits = judge(gateway, self.world), []
        if verdict.fine and (refusal := self.cloud.refusal(wanted_load_balancer(gateway))):
            verdict, waits = Verdict("Invalid", refusal), [_RECHECK_S]
        address = ""
        if verdict.fine:
            remaining = self._remaining_s(gateway)
            if remaining > 0:
                waits = [remaining]
            else:
                address = self.cloud.ensure(wanted_load_balancer(gateway))
        routes = attached_routes(gateway, self.world)
        self._write(gateway, gateway_status(gateway, verdict, address=address, routes=routes, now=now))
        return waits

    def _remaining_s(self, gateway: Manifest) -> float:
        """Return how long the load balancer still takes; one that has an address is there already."""
        if (gateway.get("status") or {}).get("addresses"):
            return 0
        begun = self._started.setdefault(gateway["metadata"]["uid"], self.clock())
        return begun + _LOAD_BALANCER_S / self.time_scale - self.clock()

    def _release(self, gateway: Manifest) -> None:
        """Take the load balancer away, then let the Gateway go."""
        metadata = gateway["metadata"]
        if FINALIZER in metadata.get("finalizers", []):
            self.cloud.release(metadata["uid"])
            self._started.pop(metadata["uid"], None)
            kept = [name for name in metadata["finalizers"] if name != FINALIZER]
            self._patch(gateway, {"metadata": {"finalizers": kept}})

    def _write(self, manifest: Manifest, status: dict[str, Any]) -> None:
        if changed(status, manifest.get("status") or {}):
            self._patch(manifest, {"status": status}, "/status")

    def _patch(self, manifest: Manifest, change: dict[str, Any], part: str = "") -> None:
        group, version, plural = WATCHED[manifest["kind"]]
        kind = Kind(f"{group}/{version}" if group else version, manifest["kind"], plural, namespaced=True)
        metadata = manifest["metadata"]
        try:
            self.api.merge(kind.path(metadata.get("namespace", ""), metadata["name"]) + part, change)
        except CloudError:
            return  # refused because it has changed or gone meanwhile: its event brings the next pass
