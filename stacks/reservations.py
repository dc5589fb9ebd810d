"""Which reservation a pool's nodes come from, and what of a reservation a setting names."""

from __future__ import annotations

from collections.abc import Mapping

from stacks.pools import Pool

__all__ = [
    "BLOCK",
    "SUB_BLOCK",
    "all_named",
    "lies_within",
    "reservation_of",
    "reservation_parts",
    "reservation_path",
]

BLOCK = "/reservationBlocks/"
SUB_BLOCK = "/reservationSubBlocks/"


def reservation_of(setting: str | Mapping[str, str] | None, pool: Pool) -> str | None:
    """Return what ``beamline:reservation`` says for a pool: one text is for all pools whose nodes are reserved."""
    if not pool.reserved or setting is None:
        return None
    return setting if isinstance(setting, str) else setting.get(pool.name)


def all_named(setting: str | Mapping[str, str] | None) -> dict[str, str]:
    """Return every reservation that the setting names, by where the stack file says it; used or not."""
    if isinstance(setting, Mapping):
        return {f"reservation.{name}": value for name, value in setting.items()}
    return {} if setting is None else {"reservation": setting}


def reservation_parts(text: str, project: str) -> tuple[str, str, str, str]:
    """Return project, reservation, block and sub-block as a stack names them; the last two may be empty."""
    full = text if text.startswith("projects/") else f"projects/{project}/reservations/{text}"
    owner, name, block, sub_block = [*full.split("/")[1::2], "", ""][:4]
    return owner, name, block, sub_block


def lies_within(text: str, whole: str, project: str) -> bool:
    """Tell whether what one setting names is what another names, or a part of it; however the two are written."""
    parts, wanted = (reservation_parts(name, project) for name in (text, whole))
    return all(part == wish for part, wish in zip(parts, wanted, strict=True) if wish)


def reservation_path(setting: str | Mapping[str, str] | None, pool: Pool) -> str:
    """Where the stack file says it."""
    return f"reservation.{pool.name}" if isinstance(setting, Mapping) else "reservation"
