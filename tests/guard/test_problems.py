"""What a reader gets: the whole text of a refusal; what is allowed by name; names that are allowed for nothing."""

from __future__ import annotations

from textwrap import dedent

import pytest

from guard import Recorded, Verdict, Wanted, judge_all, refusals, unused_names
from guard.table import table
from stacks import to_text
from tests.guard.test_verdicts import BUCKET, CLUSTER, GKE, GPU, POOL, urn

WHERE = "stacks/Pulumi.g4.yaml"


def _verdicts() -> list[Verdict]:
    """A cluster that moves to another dataplane with a pool in it, and a bucket that is left out."""
    recorded = [
        Recorded(urn(CLUSTER, "gke"), {**GKE, "datapathProvider": "LEGACY_DATAPATH"}),
        Recorded(urn(POOL, "gpu"), GPU),
        Recorded(urn(BUCKET, "weights"), {"name": "weights"}),
    ]
    wanted = [
        Wanted(urn(CLUSTER, "gke"), {**GKE, "datapathProvider": "ADVANCED_DATAPATH"}),
        Wanted(urn(POOL, "gpu"), GPU),
    ]
    return judge_all(recorded, wanted)


def test_a_refusal_says_what_why_instead_of_what_and_how_to_mean_it() -> None:
    (problem,) = [p for p in refusals(_verdicts(), [], WHERE) if p.value is not None]
    assert to_text([problem]) == dedent(
        """\
        error[would-replace] gke.datapathProvider = ADVANCED_DATAPATH
          why:     LEGACY_DATAPATH is recorded; Google cannot change it on a cluster that exists, so the recorded \
cluster is deleted, with every node pool, workload and address in it
          allowed: LEGACY_DATAPATH
          remedy:  leave it as recorded; or bring up a second stack with the new value, move the traffic to it, then \
take this one down with beamline down; to mean it: --allow-replace gke, or gke under beamline:allow_replace
          where:   stacks/Pulumi.g4.yaml
          source:  schema of the Terraform provider, 2026-08-21 (guard/properties.yaml)"""
    )


@pytest.mark.parametrize(
    ("allowed", "refused"),
    [
        ([], ["gke.datapathProvider", "gpu", "weights"]),
        (["gke"], ["gpu", "weights"]),
        (["gke", "gpu"], ["weights"]),
        (["gke", "gpu", "weights"], []),
        (["GKE"], ["gke.datapathProvider", "gpu", "weights"]),
    ],
)
def test_only_what_is_named_is_let_through(allowed: list[str], refused: list[str]) -> None:
    assert sorted(p.path for p in refusals(_verdicts(), allowed, WHERE)) == refused


def test_what_a_replacement_costs_is_known_for_every_guarded_type() -> None:
    """Each type can be deleted, so each has words for what is lost with it."""
    for type_token, row in table().types.items():
        if row.guarded:
            (problem,) = refusals([Verdict(urn(type_token, "x"), "delete")], [], WHERE)
            assert f"the recorded {row.what} is deleted, with " in problem.why


def test_a_name_is_an_error_when_nothing_has_it_and_a_warning_when_it_is_idle() -> None:
    verdicts = [Verdict(urn(POOL, "gpu"), "same"), Verdict(urn(POOL, "system"), "replace")]
    found = unused_names(verdicts, ["gpu", "system", "gpus"], WHERE)
    assert [(p.value, p.severity) for p in found] == [("gpu", "warning"), ("gpus", "error")]
    assert "did you mean 'gpu'?" in found[1].why
