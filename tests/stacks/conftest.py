"""A sound stack, resolved once per test that asks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from stacks import StackSpec, resolve
from stacks.settings import pulumi_config

SOUND = {"preset": "g4-llmd", "project": "acme-inference", "region": "us-central1", "zone": "us-central1-b"}

Stack = Callable[..., StackSpec]


@pytest.fixture
def stack() -> Stack:
    """Return a function that resolves a sound stack file with some settings changed."""

    def resolved(*, applying: bool = False, **settings: Any) -> StackSpec:
        config = pulumi_config(SOUND | settings)
        return resolve("g4", config, where="stacks/Pulumi.g4.yaml", applying=applying)

    return resolved
