"""Taints in Kubernetes' notation become GKE's."""

from __future__ import annotations

import pytest

from components.node_config import taints

_WRITTEN = ["nvidia.com/gpu=present:NoSchedule", "a=b:PreferNoSchedule", "c=d:NoExecute"]


def test_taints_become_gkes_but_for_those_that_it_sets_itself() -> None:
    assert taints([*_WRITTEN, "kubernetes.io/arch=arm64:NoSchedule"]) == [
        {"key": "nvidia.com/gpu", "value": "present", "effect": "NO_SCHEDULE"},
        {"key": "a", "value": "b", "effect": "PREFER_NO_SCHEDULE"},
        {"key": "c", "value": "d", "effect": "NO_EXECUTE"},
    ]


@pytest.mark.parametrize("written", ["nvidia.com/gpu", "nvidia.com/gpu=present", "gpu:NoSchedule", "a=b:NO_SCHEDULE"])
def test_anything_else_is_refused(written: str) -> None:
    with pytest.raises(ValueError, match="is no taint"):
        taints([written])
