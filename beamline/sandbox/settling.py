"""What "up is done" means here: every workload and Service is ready, also where the engine was content with less.

The engine waits for what it knows how to wait for, and not always to the end: a Service whose selector matches nothing
passes, and the Kubernetes provider 4.25 sometimes takes a Deployment for done that is only about to replace its pods.
Objects that the stack itself tells the engine not to wait for (``pulumi.com/skipAwait``) are accepted as they are.
"""

from __future__ import annotations

import time
from dataclasses import replace

from beamline.sandbox.diagnosis import SELECTS_NOTHING, WITHOUT_ENDPOINTS, diagnose
from beamline.sandbox.kubernetes_api import KubernetesApi
from beamline.sandbox.progress import Progress, Report
from beamline.sandbox.references import missing_references
from beamline.sandbox.standstill import Standstill
from stacks.problems import Problem, ProblemsFound

__all__ = ["settled"]

_LOOK_EVERY_S = 0.5
_API_VERSIONS = {
    "Deployment": "apps/v1",
    "DaemonSet": "apps/v1",
    "StatefulSet": "apps/v1",
    "Job": "batch/v1",
    "Service": "v1",
}


def settled(api: KubernetesApi, time_scale: float, report: Report) -> list[Problem]:
    """Wait until everything is ready and return the warnings; raises ProblemsFound when it will not be."""
    standstill = Standstill(api, time_scale)
    while True:
        found = diagnose(api)
        missed = _missed(api, found)
        hopeless = any(problem.rule == SELECTS_NOTHING for problem in missed)
        if missed and (hopeless or not standstill.keep_waiting()):
            raise ProblemsFound(found)
        if not missed:
            return [*(replace(problem, severity="warning") for problem in found), *missing_references(api)]
        report(Progress("settle", f"waiting for {missed[0].path}"))
        time.sleep(_LOOK_EVERY_S)


def _missed(api: KubernetesApi, found: list[Problem]) -> list[Problem]:
    """Return the problems that nobody has accepted; a Service whose pods may be late may be late itself."""
    accepted = [problem for problem in found if _is_accepted(api, problem)]
    late = [problem for problem in found if accepted and problem.rule == WITHOUT_ENDPOINTS]
    return [problem for problem in found if problem not in accepted and problem not in late]


def _is_accepted(api: KubernetesApi, problem: Problem) -> bool:
    """Tell whether the stack said not to wait for the object that the problem is about."""
    kind, _, name = problem.path.partition(" ")
    namespace, _, name = name.partition("/")
    found = api.find(_API_VERSIONS[kind], kind, namespace, name) if kind in _API_VERSIONS else None
    annotations = found["metadata"].get("annotations", {}) if found else {}
    return bool(annotations.get("pulumi.com/skipAwait") == "true")
