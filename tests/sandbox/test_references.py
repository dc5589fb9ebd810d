"""A pod that a real kubelet would not start is warned about, although the simulated one runs it."""

from __future__ import annotations

from beamline.sandbox.references import missing_references
from tests.sandbox.clusters import Cluster, item, pod

_SPEC = {
    "volumes": [
        {"name": "there", "configMap": {"name": "there"}},
        {"name": "config", "configMap": {"name": "config"}},
        {"name": "token", "secret": {"secretName": "token"}},
        {"name": "maybe", "secret": {"secretName": "maybe", "optional": True}},
        {"name": "api", "projected": {"sources": [{"serviceAccountToken": {}}, {"configMap": {"name": "ca"}}]}},
        {"name": "manager", "csi": {"driver": "d", "volumeAttributes": {"secretProviderClass": "weights"}}},
        {"name": "scratch", "emptyDir": {}},
    ],
    "initContainers": [{"name": "seed", "envFrom": [{"secretRef": {"name": "bucket"}}]}],
    "containers": [
        {
            "name": "vllm",
            "env": [
                {"name": "PLAIN", "value": "1"},
                {"name": "HF_TOKEN", "valueFrom": {"secretKeyRef": {"name": "hf", "key": "token"}}},
                {"name": "NODE", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}},
            ],
        }
    ],
}


def test_every_kind_of_reference_is_followed() -> None:
    """Pods of one owner are one finding; another namespace's object of that name does not count."""
    cluster = Cluster(
        item("ConfigMap", "there"),
        item("ConfigMap", "config", namespace="default"),
        pod("vllm-1", owner=("ReplicaSet", "vllm-5d"), spec=_SPEC),
        pod("vllm-2", owner=("ReplicaSet", "vllm-5d"), spec=_SPEC),
        pod("alone", spec={"containers": [{"name": "c", "envFrom": [{"configMapRef": {"name": "absent"}}]}]}),
    )
    assert [(problem.severity, problem.path, problem.value) for problem in missing_references(cluster)] == [
        ("warning", "Pod beam/alone: container c", "ConfigMap absent"),
        ("warning", "ReplicaSet beam/vllm-5d: container seed", "Secret bucket"),
        ("warning", "ReplicaSet beam/vllm-5d: container vllm", "Secret hf"),
        ("warning", "ReplicaSet beam/vllm-5d: volume api", "ConfigMap ca"),
        ("warning", "ReplicaSet beam/vllm-5d: volume config", "ConfigMap config"),
        ("warning", "ReplicaSet beam/vllm-5d: volume manager", "SecretProviderClass weights"),
        ("warning", "ReplicaSet beam/vllm-5d: volume token", "Secret token"),
    ]
