"""Notices that an apply waits for something that will not come.

In a cloud a stack gets its full startup budget, half an hour or more, before ``up`` gives up. In a sandbox time is
scaled but Pulumi's time-outs are not. So the wait ends when nothing has happened for longer, in simulated time, than
any startup takes, and Kubernetes itself says that something is wrong.
"""

from __future__ import annotations

import json
import time

from beamline.sandbox.diagnosis import diagnose
from beamline.sandbox.kubernetes_api import KubernetesApi, Object
from beamline.sandbox.pulumi_runs import Run
from stacks.problems import EnvironmentProblem, Problem, has_errors

__all__ = ["Standstill"]

_LONGEST_QUIET_S = 2 * 3600
"""Simulated seconds: nothing that starts in a cluster is silent for longer."""

_LEAST_PATIENCE_S = 30.0
"""Real seconds: controllers retry a refused pod after ever longer pauses, up to about this."""

_LOOK_EVERY_S = 2.0


class Standstill:
    """Decides between engine events whether to keep waiting; ``problems`` says why not."""

    def __init__(self, api: KubernetesApi, time_scale: float) -> None:
        self.problems: list[Problem] = []
        self._api = api
        self._patience_s = max(_LEAST_PATIENCE_S, _LONGEST_QUIET_S / time_scale)
        self._seen = ""
        self._since = self._looked = time.monotonic()

    def keep_waiting(self, run: Run | None = None) -> bool:
        """Return False once nothing has changed for the whole patience and the cluster has errors to show.

        ``run`` is the engine run that is waited for. Until it changes something, the errors are those of before.
        """
        now = time.monotonic()
        if run is not None and not run.steps:
            self._since = now
        if now - self._looked < _LOOK_EVERY_S:
            return True
        self._looked = now
        try:
            seen = self._picture(run)
            if seen != self._seen:
                self._seen, self._since = seen, now
            if now - self._since < self._patience_s:
                return True
            self.problems = diagnose(self._api)
        except EnvironmentProblem:
            return True  # the engine meets the same API server and will say so
        self._since = now
        return not has_errors(self.problems)

    def _picture(self, run: Run | None) -> str:
        """Return what would change if anything moved: engine events, nodes and pods."""
        nodes = [_moving(node) for node in self._api.items("/api/v1/nodes")]
        pods = [_moving(pod) for pod in self._api.items("/api/v1/pods")]
        return json.dumps([run.resource_events if run else 0, nodes, pods])


def _moving(item: Object) -> list[object]:
    status = item["status"]
    conditions = [[condition["type"], condition["status"]] for condition in status.get("conditions", [])]
    return [item["metadata"]["uid"], status.get("phase"), status.get("allocatable"), conditions]
