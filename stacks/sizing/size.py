"""All figures of one stack, in the order in which they are read."""

from __future__ import annotations

from dataclasses import dataclass

from stacks.derived import Derived
from stacks.pools import accelerator_pools
from stacks.roles import roles
from stacks.row_lookup import Rows
from stacks.sizing.figures import Section
from stacks.sizing.gpu import gpu_memory
from stacks.sizing.kv import decode_bounds, kv_cache
from stacks.sizing.node import host_memory, local_ssd
from stacks.sizing.price import price
from stacks.sizing.session import Session
from stacks.sizing.tiers import Tier, tier_bandwidths, tiers
from stacks.sizing.verdicts import Verdict, verdicts
from stacks.spec import Preset

__all__ = ["Sizing", "size"]


@dataclass(frozen=True)
class Sizing:
    """What ``beamline size`` shows."""

    session: Session
    memory: tuple[Section, ...]
    tiers: tuple[Tier, ...]
    speed: tuple[Section, ...]
    price: Section
    verdicts: tuple[Verdict, ...]

    @property
    def sections(self) -> tuple[Section, ...]:
        """All figures that are not in the table of tiers."""
        return (*self.memory, *self.speed, self.price)


def size(preset: Preset, rows: Rows, derived: Derived, session: Session) -> Sizing:
    """Compute everything; pure, and total for every stack that passed its checks."""
    found = tiers(preset, rows, derived, session)
    kinds = roles(preset.serving)
    in_hbm = next(tier.sessions_per_replica for tier in found if tier.tier == "hbm")
    return Sizing(
        session=session,
        memory=(
            gpu_memory(preset, rows, derived),
            *(host_memory(role, rows, derived) for role in kinds),
            *(local_ssd(role, preset, rows, derived) for role in kinds),
            kv_cache(preset, rows, derived, session),
        ),
        tiers=found,
        speed=(
            decode_bounds(preset, rows, derived, session, in_hbm),
            tier_bandwidths(rows, derived, session),
        ),
        price=price(accelerator_pools(preset, rows), derived),
        verdicts=verdicts(preset, rows, derived, session, found),
    )
