"""A taint is read as Kubernetes writes it, and nothing else is taken for one."""

from __future__ import annotations

import pytest

from stacks.taints import Taint, parse

READ = {
    "nvidia.com/gpu=present:NoSchedule": Taint("nvidia.com/gpu", "present", "NoSchedule"),
    "kubernetes.io/arch=arm64:PreferNoSchedule": Taint("kubernetes.io/arch", "arm64", "PreferNoSchedule"),
    "a=:NoExecute": Taint("a", "", "NoExecute"),
}


@pytest.mark.parametrize("text", READ)
def test_a_taint_is_read_and_written_back(text: str) -> None:
    assert parse(text) == READ[text]
    assert str(parse(text)) == text


@pytest.mark.parametrize("text", ["", "a", "a=b", "a:NoSchedule", "=b:NoSchedule", "a=b:NO_SCHEDULE", "a=b:Never"])
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is no taint"):
        parse(text)
