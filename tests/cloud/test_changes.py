"""Which changes of inputs matter, and which of them make a new resource."""

from __future__ import annotations

from typing import Any

import pytest

from beamline.sandbox.cloud.changes import changes
from beamline.sandbox.cloud.values import UNKNOWN

from .samples import SAMPLES, inputs, token


@pytest.mark.parametrize("name", SAMPLES)
def test_the_same_inputs_are_no_change(name: str) -> None:
    assert not changes(token(name), inputs(name), inputs(name))


@pytest.mark.parametrize(
    ("of", "change"),
    [
        ("network", {"deleteDefaultRoutesOnCreate": False}),
        ("nodes", {"purpose": "PRIVATE"}),
        ("firewall", {"sourceRanges": ["35.191.0.0/16", "130.211.0.0/22"]}),
        ("cluster", {"enableShieldedNodes": True}),
        ("cluster", {"monitoringConfig__enableComponents": ["DCGM", "SYSTEM_COMPONENTS"]}),
        ("gpus", {"nodeConfig__spot": False}),
        ("gpus", {"nodeConfig__gvnic": {}}),
        ("system", {"management": {"autoRepair": True, "autoUpgrade": True}}),
    ],
)
def test_defaults_order_and_empty_blocks_are_no_change(of: str, change: dict[str, Any]) -> None:
    assert not changes(token(of), inputs(of), inputs(of, **change))
    assert not changes(token(of), inputs(of, **change), inputs(of))


@pytest.mark.parametrize(
    ("of", "change", "replaces"),
    [
        ("network", {"mtu": 1460}, []),
        ("network", {"name": "other"}, ["name"]),
        ("nodes", {"ipCidrRange": "10.0.0.0/21"}, []),
        ("nodes", {"network": "other"}, ["network"]),
        ("nodes", {"secondaryIpRanges__0__ipCidrRange": "10.4.0.0/16"}, []),
        ("role", {"role": "roles/viewer"}, ["role"]),
        ("cluster", {"minMasterVersion": "1.35.9-gke.1"}, []),
        ("cluster", {"deletionProtection": True}, []),
        ("cluster", {"datapathProvider": "LEGACY_DATAPATH"}, ["datapathProvider"]),
        ("cluster", {"ipAllocationPolicy__clusterSecondaryRangeName": "p"}, ["ipAllocationPolicy.clusterSecondaryRangeName"]),  # noqa: E501
        ("policy", {"workloadPolicy__acceleratorTopology": "1x64"}, ["workloadPolicy.acceleratorTopology"]),
        ("cluster", {"enableShieldedNodes": False}, []),
        ("metal", {"nodeCount": 9}, []),
        ("metal", {"nodeConfig__linuxNodeConfig": None}, []),
        ("metal", {"nodeConfig__taintConfig": {"architectureTaintBehavior": "NONE"}}, []),
        ("metal", {"placementPolicy__policyName": "other"}, ["placementPolicy.policyName"]),
        ("metal", {"networkConfig__acceleratorNetworkProfile": None}, ["networkConfig.acceleratorNetworkProfile"]),
        ("metal", {"nodeConfig__reservationAffinity__values": ["other"]}, ["nodeConfig.reservationAffinity.values[0]"]),
        ("gpus", {"nodeConfig__hostMaintenancePolicy": {"maintenanceInterval": "AS_NEEDED"}}, ["nodeConfig.hostMaintenancePolicy.maintenanceInterval"]),  # noqa: E501
        ("metal", {"nodeConfig__flexStart": True}, ["nodeConfig.flexStart"]),
        ("gpus", {"nodeCount": 2}, []),
        ("gpus", {"version": "1.35.9-gke.1"}, []),
        ("gpus", {"nodeConfig__machineType": "g4-standard-192"}, []),
        ("gpus", {"nodeConfig__labels": {"a": "b"}}, []),
        ("gpus", {"nodeConfig__spot": True}, ["nodeConfig.spot"]),
        ("gpus", {"maxPodsPerNode": 64}, ["maxPodsPerNode"]),
        ("gpus", {"nodeConfig__guestAccelerators__0__count": 4}, ["nodeConfig.guestAccelerators[0].count"]),
        (
            "gpus",
            {"nodeConfig__ephemeralStorageLocalSsdConfig": None},
            ["nodeConfig.ephemeralStorageLocalSsdConfig.localSsdCount"],
        ),
        (
            "gpus",
            {"nodeConfig__reservationAffinity": {"consumeReservationType": "NO_RESERVATION"}},
            ["nodeConfig.reservationAffinity.consumeReservationType"],
        ),
    ],
)  # fmt: skip
def test_changes_and_what_they_replace(of: str, change: dict[str, Any], replaces: list[str]) -> None:
    found = changes(token(of), inputs(of), inputs(of, **change))
    assert found
    assert found.replaces == replaces


def test_what_is_not_known_yet_counts_as_a_change() -> None:
    found = changes(token("nodes"), inputs("nodes"), inputs("nodes", network=UNKNOWN))
    assert (found.changed, found.replaces) == (["network"], ["network"])


def test_added_removed_and_changed_are_told_apart() -> None:
    new = inputs("network", mtu=1460, description="a", routingMode=None)
    found = changes(token("network"), inputs("network"), new)
    assert (found.added, found.removed, found.changed) == (["description"], ["routingMode"], ["mtu"])
