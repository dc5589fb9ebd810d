"""What every input starts from: shipped presets, and the settings of a stack file that is right."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from stacks.preset_files import compose, preset_names

__all__ = ["COMPOSED", "SETTINGS", "at_path", "settings_for"]

SETTINGS: Mapping[str, Any] = {
    "beamline:preset": "g4-llmd",
    "beamline:project": "acme-inference",
    "beamline:region": "us-central1",
    "beamline:zone": "us-central1-b",
}
COMPOSED: Mapping[str, dict[str, Any]] = {name: compose(name, key="preset", where="")[0] for name in preset_names()}
"""Every shipped preset with what it extends."""
_RESERVATION = "projects/acme-inference/reservations/r/reservationBlocks/b/reservationSubBlocks/s"


def at_path(data: Any, path: tuple[str, ...]) -> Any:
    """Return what stands at ``path``, None where nothing does."""
    for key in path:
        data = data.get(key) if isinstance(data, Mapping) else None
    return data


def settings_for(*layers: Any) -> dict[str, Any]:
    """Return sound settings for a preset and what is laid over it: with a reservation where one is needed."""
    kinds = [at_path(layer, ("accelerator_pool", "provisioning", "kind")) for layer in layers]
    named = [kind for kind in kinds if kind is not None]
    return {**SETTINGS, **({"beamline:reservation": _RESERVATION} if named[-1:] == ["reservation"] else {})}
