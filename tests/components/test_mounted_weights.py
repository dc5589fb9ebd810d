"""Who may read a bucket that pods mount: one Kubernetes service account, as Workload Identity names it."""

from __future__ import annotations

import pytest

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


def test_the_engines_account_alone_reads_the_bucket(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    look_up(monkeypatch, {"getProject": {"number": "123456789012", "projectId": "p"}})
    assert dict(named(run(PROGRAM), "weights-bucket-acme-weights").inputs) == {
        "bucket": "acme-weights",
        "role": "roles/storage.objectViewer",
        "member": "principal://iam.googleapis.com/projects/123456789012/locations/global/workloadIdentityPools/"
        "p.svc.id.goog/subject/ns/beam/sa/engine",
    }
