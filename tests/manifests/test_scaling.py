"""Elastic scaling: what is read is exported, what is set has one owner, and all of it has nodes."""

from __future__ import annotations

from typing import Any

import pytest

from manifests import render
from tests.manifests.cases import resolved, spec_of

_ON = {"least_replicas": 1, "running_share": 0.7}
_ACCEPTED = {"local_ssd": ["scaling:hpa"], "gcs_fuse": ["scaling:hpa", "weights:gcs_fuse"]}


def _scaled(preset: str = "g4-llmd-multi", **says: Any) -> dict[str, Any]:
    """Bodies of a scaled stack's serving objects, by kind and name."""
    cluster = {"release_channel": "RAPID"}
    spec = resolved(preset, {"cluster": cluster, "serving": {"scaling": {**_ON, **says}}}, ["scaling:hpa"])
    return {f"{each.body['kind']}/{each.body['metadata']['name']}": each.body for each in render(spec)}


def test_the_autoscaler_goes_from_the_least_to_what_there_are_nodes_for() -> None:
    spec, found = spec_of("scaled"), _scaled(waiting_requests=4)
    autoscaler = found["HorizontalPodAutoscaler/engine"]["spec"]
    assert autoscaler["scaleTargetRef"] == {"apiVersion": "apps/v1", "kind": "Deployment", "name": "engine"}
    assert (autoscaler["minReplicas"], autoscaler["maxReplicas"]) == (1, spec.derived.replicas)
    assert spec.derived.nodes_needed <= spec.preset.nodes_of("serving")


def test_what_is_read_is_what_the_engine_exports_and_where() -> None:
    """Each name that the autoscaler looks at is a gauge of the engine's row, read from the engine's own port."""
    spec, found = spec_of("scaled"), _scaled(waiting_requests=4)
    (pod,) = [metric["pod"] for metric in found["AutoscalingMetric/engine"]["spec"]["metrics"]]
    (container,) = pod["containers"]
    gauges = {each["gauge"]["name"]: each["gauge"]["prometheusMetricName"] for each in container["metrics"]}
    assert gauges == {
        "running-requests": "vllm:num_requests_running",
        "waiting-requests": "vllm:num_requests_waiting",
    }
    metrics = found["HorizontalPodAutoscaler/engine"]["spec"]["metrics"]
    targets = {each["pods"]["metric"]["name"]: each["pods"]["target"]["averageValue"] for each in metrics}
    sequences = spec.preset.serving.engine.max_sequences
    assert targets == {
        "autoscaling.gke.io|engine|running-requests": str(int(0.7 * sequences)),
        "autoscaling.gke.io|engine|waiting-requests": "4",
    }
    template = found["Deployment/engine"]["spec"]["template"]
    (engine,) = [each for each in template["spec"]["containers"] if each["name"] == "engine"]
    assert container["endpoint"] == {"port": engine["ports"][0]["containerPort"], "path": "/metrics"}
    assert pod["selector"]["matchLabels"].items() <= template["metadata"]["labels"].items()
    assert all(key.replace("-", "").replace("_", "").isalnum() for key in pod["selector"]["matchLabels"])


def test_the_replicas_have_one_owner() -> None:
    """Written once: by the Deployment, or by the autoscaler; and the pods' selector is the same either way."""
    scaled = _scaled()["Deployment/engine"]["spec"]
    plain = {each.body["kind"]: each.body for each in render(spec_of("g4-llmd-multi")) if each.name == "engine"}
    assert "replicas" not in scaled
    assert plain["Deployment"]["spec"]["replicas"] == 2
    assert plain["Deployment"]["spec"]["selector"] == scaled["selector"]
    assert "HorizontalPodAutoscaler" not in {each.body["kind"] for each in render(spec_of("g4-llmd-multi"))}


@pytest.mark.parametrize("storage", ["local_ssd", "gcs_fuse"])
def test_a_replica_goes_after_as_long_as_it_takes_to_come_back(storage: str) -> None:
    """One at a time; what the API allows at most bounds both times."""
    overrides = {
        "cluster": {"release_channel": "RAPID"},
        "model": {"storage": {"kind": storage}},
        "serving": {"scaling": _ON},
    }
    derived = resolved("g4-llmd-multi", overrides, _ACCEPTED[storage]).derived
    takes_s, window_s = {"local_ssd": (2055, 2055), "gcs_fuse": (3836, 3600)}[storage]
    assert derived.workload_budget_s == takes_s
    assert (derived.scale_down_window_s, derived.scale_down_period_s) == (window_s, 1800)


def test_only_gke_s_agent_is_let_in_where_nothing_is_monitored() -> None:
    """Scaling works without managed Prometheus: its reader has a way to the engine's port, and no collector has."""
    policies = {
        each.name: each.body["spec"]
        for each in render(spec_of("scaled-unmonitored"))
        if each.body["kind"] == "NetworkPolicy"
    }
    peers = [str(rule.get("from")) for rule in policies["engine-network-policy"]["ingress"]]
    assert len([peer for peer in peers if "gke-metrics-agent" in peer and "kube-system" in peer]) == 1
    assert not [peer for peer in peers if "gmp-system" in peer]
