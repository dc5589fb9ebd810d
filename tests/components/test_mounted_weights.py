"""Who may read a bucket that pods mount: one Kubernetes service account, as Workload Identity names it."""

from __future__ import annotations

import pytest
from pulumi.runtime.proto import resource_pb2

from beamline.engine import runner
from beamline.engine.monitor import InMemoryMonitor
from tests.components.conftest import Run
from tests.components.plans import named
from tests.components.test_existing import look_up

PROGRAM = """
from components.mounted_weights import MountedWeights
MountedWeights("weights", {
    "project": "p", "workload_pool": "p.svc.id.goog", "namespace": "beam", "kubernetes_service_account": "engine",
    "buckets": ["acme-weights"], "objects": [],
})
"""
COPIED = """
from components.weights import Weights
Weights("weights", {
    "prefix": "beamline-dev", "project": "p", "workload_pool": "p.svc.id.goog", "namespace": "beam-weights",
    "kubernetes_service_account": "weights", "buckets": [], "secrets": [], "objects": [],
})
"""


def test_the_engines_account_alone_reads_the_bucket(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    look_up(monkeypatch, {"getProject": {"number": "123456789012", "projectId": "p"}})
    assert dict(named(run(PROGRAM), "weights-bucket-acme-weights").inputs) == {
        "bucket": "acme-weights",
        "role": "roles/storage.objectViewer",
        "member": "principal://iam.googleapis.com/projects/123456789012/locations/global/workloadIdentityPools/"
        "p.svc.id.goog/subject/ns/beam/sa/engine",
    }


@pytest.mark.parametrize(
    ("program", "former"), [(PROGRAM, "beamline:weights:Weights"), (COPIED, "beamline:weights:MountedWeights")]
)
def test_a_stack_may_move_its_weights_either_way(
    run: Run, monkeypatch: pytest.MonkeyPatch, program: str, former: str
) -> None:
    """Each component goes by the other's type, too: the engine's namespace, which both make, is not made anew."""
    aliases: dict[str, list[str]] = {}

    class RecordingMonitor(InMemoryMonitor):
        def RegisterResource(  # noqa: N802 - the protocol's name
            self, request: resource_pb2.RegisterResourceRequest
        ) -> resource_pb2.RegisterResourceResponse:
            aliases[request.name] = [alias.spec.type for alias in request.aliases]
            return super().RegisterResource(request)

    monkeypatch.setattr(runner, "InMemoryMonitor", RecordingMonitor)
    run(program)
    assert aliases["weights"] == [former]
