"""What every input starts from: shipped presets, and the settings of a stack file that is right."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from typing import Any
from unittest import mock

from stacks.preset_files import compose, preset_names
from stacks.yaml_files import read_value

__all__ = ["COMPOSED", "SETTINGS", "at_path", "remembered_texts", "settings_for"]

SETTINGS: Mapping[str, Any] = {
    "beamline:preset": "g4-llmd",
    "beamline:project": "acme-inference",
    "beamline:region": "us-central1",
    "beamline:zone": "us-central1-b",
}
COMPOSED: Mapping[str, dict[str, Any]] = {name: compose(name, key="preset", where="")[0] for name in preset_names()}
"""Every shipped preset with what it extends."""
_RESERVATION = "projects/acme-inference/reservations/r/reservationBlocks/b/reservationSubBlocks/s"


@contextmanager
def remembered_texts() -> Iterator[None]:
    """Read a text only once: most of the time of a thousand plans would go into the same presets again."""
    remembered: Callable[[str], Any] = lru_cache(maxsize=64)(read_value)
    with mock.patch("stacks.yaml_files.read_value", lambda text: copy.deepcopy(remembered(text))):
        yield


def at_path(data: Any, path: tuple[str, ...]) -> Any:
    """Return what stands at ``path``, None where nothing does."""
    for key in path:
        data = data.get(key) if isinstance(data, Mapping) else None
    return data


def settings_for(*layers: Any) -> dict[str, Any]:
    """Return sound settings for a preset and what is laid over it: with a reservation where one is needed."""
    pools = [at_path(layer, ("accelerator_pools",)) for layer in layers]
    named = [item for some in pools if isinstance(some, Mapping) for item in some.items()]
    said = [(name, at_path(pool, ("provisioning", "kind"))) for name, pool in named]
    kinds = {name: kind for name, kind in said if kind is not None}
    return {**SETTINGS, **({"beamline:reservation": _RESERVATION} if "reservation" in kinds.values() else {})}
