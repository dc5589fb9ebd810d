"""What a change of inputs means for a resource, as data; what lives in others; what is not asked for any more."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from guard import UNKNOWN, Recorded, Verdict, Wanted, judge_all, refusals
from guard.table import table

DATA = yaml.safe_load(Path(__file__).with_name("cases.yaml").read_text())
CASES = {case["id"]: case for case in DATA["cases"]}
POOL, CLUSTER = "gcp:container/nodePool:NodePool", "gcp:container/cluster:Cluster"
NETWORK, BUCKET = "gcp:compute/network:Network", "gcp:storage/bucket:Bucket"


def laid_over(base: Any, change: Any) -> Any:
    if not isinstance(base, Mapping) or not isinstance(change, Mapping):
        return UNKNOWN if change == "UNKNOWN" else copy.deepcopy(change)
    merged = {**base, **{key: laid_over(base.get(key, {}), value) for key, value in change.items()}}
    return {key: value for key, value in merged.items() if value is not None}


def urn(type_token: str, name: str, parents: str = "beamline:stack:InferenceStack$") -> str:
    return f"urn:pulumi:g4::beamline::{parents}{type_token}::{name}"


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_case(case: dict[str, Any]) -> None:
    """Exactly these properties change, each with this effect; the heaviest one decides."""
    sound, name = DATA["sound"][case["type"]], urn(case["type"], "x")
    written = case.get("written")
    recorded = Recorded(name, laid_over(sound, case.get("old", {})), laid_over(sound, written) if written else None)
    wanted = Wanted(name, laid_over(sound, case.get("new", {})), case.get("ignored", ()))
    (verdict,) = judge_all([recorded], [wanted])
    assert {change.path: change.effect for change in verdict.changes} == case.get("changes", {})
    assert verdict.operation == case["operation"]


def test_every_type_and_condition_has_a_case() -> None:
    guarded = {name for name, row in table().types.items() if row.guarded}
    assert guarded == {case["type"] for case in CASES.values()}
    changed = {(case["type"], path) for case in CASES.values() for path in case.get("changes", {})}
    conditions = {condition for row in table().types.values() for condition in row.when.values()}
    tried = {table().types[kind].when.get(path) for kind, path in changed}
    assert conditions <= tried


def _pair(kind: str, name: str, old: dict[str, Any], new: dict[str, Any]) -> tuple[Recorded, Wanted]:
    return Recorded(urn(kind, name), old), Wanted(urn(kind, name), new)


VPC = {"name": "vpc", "project": "acme"}
GKE = {"name": "gke", "network": "projects/acme/global/networks/vpc"}
GPU = {"name": "gpu", "cluster": "gke"}


def _operations(verdicts: list[Verdict]) -> dict[str, tuple[str, str]]:
    return {verdict.name: (verdict.operation, verdict.cause.rpartition("::")[2]) for verdict in verdicts}


@pytest.mark.parametrize("complete", [True, False])
def test_what_lives_in_a_replaced_resource_goes_with_it(complete: bool) -> None:
    """A new network takes the cluster along, and the cluster its pools; another cluster's pool stays."""
    pairs = [
        _pair(NETWORK, "vpc", VPC, {**VPC, "name": "other"}),
        _pair(CLUSTER, "gke", GKE, GKE),
        _pair(POOL, "gpu", GPU, GPU),
        _pair(POOL, "theirs", {**GPU, "cluster": "theirs"}, {**GPU, "cluster": "theirs"}),
    ]
    recorded = [old for old, _ in pairs]
    wanted = [new for _, new in pairs]
    expected = {"vpc": ("replace", ""), "gke": ("replace", "vpc"), "gpu": ("replace", "gke"), "theirs": ("same", "")}
    assert _operations(judge_all(recorded, wanted if complete else wanted[:1], complete=complete)) == expected


def test_what_lives_in_something_that_may_be_replaced_is_named_too() -> None:
    """Allowing the cluster alone would let its pools go unsaid; what is certain is not made less so."""
    pairs = [
        _pair(CLUSTER, "gke", GKE, {**GKE, "somethingNew": "x"}),
        _pair(POOL, "gpu", GPU, GPU),
        _pair(POOL, "renamed", {**GPU, "name": "old"}, {**GPU, "name": "new"}),
    ]
    verdicts = judge_all([old for old, _ in pairs], [new for _, new in pairs])
    expected = {"gke": ("may-replace", ""), "gpu": ("may-replace", "gke"), "renamed": ("replace", "")}
    assert _operations(verdicts) == expected
    assert [(p.rule, p.path) for p in refusals(verdicts, ["gke", "renamed"], "x")] == [("may-replace", "gpu")]


@pytest.mark.parametrize(
    ("old", "new", "operation"),
    [
        ("vpc", "projects/acme/global/networks/vpc", "same"),
        ("https://www.googleapis.com/compute/v1/projects/acme/global/networks/vpc", GKE["network"], "same"),
        ("https://www.googleapis.com/compute/beta/projects/acme/global/networks/vpc", GKE["network"], "same"),
        ("global/networks/vpc", GKE["network"], "same"),
        ("projects/other/global/networks/vpc", GKE["network"], "replace"),
        ("https://www.googleapis.com/compute/v1/projects/other/global/networks/vpc", GKE["network"], "replace"),
    ],
)
def test_a_bare_name_fits_any_place_and_a_path_only_its_own(old: str, new: str, operation: str) -> None:
    recorded, wanted = _pair(CLUSTER, "gke", {**GKE, "network": old}, {**GKE, "network": new})
    assert [verdict.operation for verdict in judge_all([recorded], [wanted])] == [operation]


def test_what_is_not_asked_for_is_deleted_once_all_is_asked_for() -> None:
    recorded = [Recorded(urn(POOL, "gpu"), GPU), Recorded(urn("kubernetes:core/v1:Secret", "s"), {})]
    assert _operations(judge_all(recorded, [])) == {"gpu": ("delete", "")}
    assert _operations(judge_all(recorded, [], complete=False)) == {"gpu": ("same", "")}


def test_a_new_resource_is_created_and_an_alias_is_the_old_one() -> None:
    """A resource under another parent is another one to Pulumi, unless it says so."""
    old, moved = urn(POOL, "gpu"), urn(POOL, "gpu", "")
    recorded = [Recorded(old, GPU)]
    said = Wanted(moved, GPU, aliases=(old,))
    assert [(v.urn, v.operation) for v in judge_all(recorded, [said])] == [(moved, "same")]
    unsaid = [(v.urn, v.operation) for v in judge_all(recorded, [Wanted(moved, GPU)])]
    assert unsaid == [(old, "delete"), (moved, "create")]
