"""Whatever a destroy leaves is found, and what a control plane makes by itself is not."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from beamline.sandbox.leftovers import in_cloud, in_kubernetes
from tests.sandbox.clusters import Cluster, item


def _by(*managers: str) -> list[dict[str, str]]:
    return [{"manager": manager} for manager in managers]


def test_objects_of_ours_are_left_and_the_systems_own_are_not() -> None:
    cluster = Cluster(
        item("ConfigMap", "kube-root-ca.crt", managedFields=_by("kube-controller-manager")),
        item("ConfigMap", "ours", managedFields=_by("pulumi-kubernetes-1a2b")),
        item("ClusterRole", "admin", namespace=None, managedFields=_by("clusterrole-aggregation-controller")),
        item("ClusterRole", "gke", namespace=None, managedFields=_by("gke", "kube-apiserver")),
        item("Node", "g4-0", namespace=None, managedFields=_by("kwok")),
        item("Pod", "orphan", managedFields=_by("kube-controller-manager")),
        item("Event", "orphan.1", managedFields=_by("kopf")),
    )
    assert [(problem.path, problem.value) for problem in in_kubernetes(cluster)] == [
        ("API server: ClusterRole", "gke"),
        ("API server: ConfigMap", "beam/ours"),
        ("API server: Node", "g4-0"),
        ("API server: Pod", "beam/orphan"),
    ]


def test_the_ledger_is_empty_when_absent_new_or_emptied(tmp_path: Path) -> None:
    ledger = tmp_path / "ledger.db"
    assert in_cloud(ledger) == []
    connection = sqlite3.connect(ledger)
    connection.execute("PRAGMA user_version = 1")
    assert in_cloud(ledger) == []
    connection.execute("CREATE TABLE resources (type TEXT, id TEXT)")
    connection.commit()
    assert in_cloud(ledger) == []
    connection.execute("INSERT INTO resources VALUES ('gcp:compute/network:Network', 'projects/p/global/networks/n')")
    connection.commit()
    connection.close()
    assert [(problem.path, problem.value) for problem in in_cloud(ledger)] == [
        ("simulated cloud: gcp:compute/network:Network", "projects/p/global/networks/n")
    ]
