"""Who may read a bucket that pods mount: one Kubernetes service account, as Workload Identity names it."""

from __future__ import annotations

import pytest

from tests.components.conftest import Run
from tests.components.plans import STACK, named, plan
from tests.components.test_existing import look_up

PROGRAM = """
from components.mounted_weights import MountedWeights
MountedWeights("weights", {
    "project": "p", "workload_pool": "p.svc.id.goog", "namespace": "beam", "kubernetes_service_account": "engine",
    "buckets": ["acme-weights"], "objects": [],
})
"""
_ACCEPTED: dict[str, list[str]] = {"local_ssd": [], "gcs_fuse": ["weights:gcs_fuse"]}


def test_the_engines_account_alone_reads_the_bucket(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    look_up(monkeypatch, {"getProject": {"number": "123456789012", "projectId": "p"}})
    assert dict(named(run(PROGRAM), "weights-bucket-acme-weights").inputs) == {
        "bucket": "acme-weights",
        "role": "roles/storage.objectViewer",
        "member": "principal://iam.googleapis.com/projects/123456789012/locations/global/workloadIdentityPools/"
        "p.svc.id.goog/subject/ns/beam/sa/engine",
    }


@pytest.mark.parametrize("kind", ["local_ssd", "gcs_fuse"])
def test_a_stack_may_move_its_weights_either_way(kind: str) -> None:
    """Each component goes by the other's type, too: the engine's namespace, which both make, is not made anew."""
    graph = plan("g4-llmd", overrides={"model": {"storage": {"kind": kind}}}, accept_unverified=_ACCEPTED[kind])
    weights = named(graph, f"{STACK}-weights")
    types = {weights.type, *(alias.type for alias in weights.aliases)}
    assert types == {"beamline:weights:Weights", "beamline:weights:MountedWeights"}
    (engines,) = [each for each in graph.resources if each.name == f"{STACK}-weights-engine-namespace"]
    assert engines.parent == weights.urn
