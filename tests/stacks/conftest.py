"""A sound stack, resolved once per test that asks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from stacks import StackSpec, resolve
from stacks.preset_files import compose
from stacks.settings import pulumi_config

SOUND = {"preset": "g4-llmd", "project": "acme-inference", "region": "us-central1", "zone": "us-central1-b"}

RESERVATION = "projects/acme-inference/reservations/beam/reservationBlocks/one/reservationSubBlocks/two"

Stack = Callable[..., StackSpec]


def sound(settings: Mapping[str, Any]) -> dict[str, Any]:
    """A sound stack file with some settings changed; it names a reservation where the preset asks for one."""
    chosen: dict[str, Any] = {**SOUND, **settings}
    pool = compose(chosen["preset"], key="preset", where="")[0]["accelerator_pools"]["main"]
    if pool["provisioning"]["kind"] == "reservation":
        chosen.setdefault("reservation", RESERVATION)
    return chosen


@pytest.fixture
def stack() -> Stack:
    """Return a function that resolves a sound stack file with some settings changed."""

    def resolved(*, applying: bool = False, **settings: Any) -> StackSpec:
        config = pulumi_config(sound(settings))
        return resolve("g4", config, where="stacks/Pulumi.g4.yaml", applying=applying)

    return resolved
