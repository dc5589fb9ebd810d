"""What checks look at: a composed stack with its rows and derived numbers, before anyone calls it valid."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, wraps
from typing import Any, Literal

from stacks.charts import ChartReference
from stacks.derived import Derived
from stacks.images import ImageReference
from stacks.pools import Pool, accelerator_pools
from stacks.problems import Problem, touches
from stacks.row_lookup import Rows
from stacks.spec import Preset

__all__ = ["Candidate", "Check", "about"]


@dataclass(frozen=True)
class Candidate:
    """A stack under examination; ``settings`` holds the valid ones only, ``overrides`` the valid ones.

    ``set_aside`` lists the paths of settings and overrides that were wrong: nothing, or the preset's own values, stand
    there, and what is found about those is not said.
    """

    stack: str
    settings: Mapping[str, Any]
    overrides: Mapping[str, Any]
    set_aside: frozenset[str]
    preset: Preset
    rows: Rows
    derived: Derived
    images: Mapping[str, ImageReference]
    charts: Mapping[str, ChartReference]
    applying: bool

    @cached_property
    def pools(self) -> tuple[Pool, ...]:
        """The accelerator pools."""
        return accelerator_pools(self.preset, self.rows)

    @property
    def serving_pools(self) -> tuple[Pool, ...]:
        """Those that engine pods may be placed on; there is at least one."""
        return tuple(pool for pool in self.pools if pool.serves)

    @property
    def spare_replicas(self) -> int:
        """How many replicas more the serving pools have room for; below zero they are too small."""
        nodes = self.preset.nodes_of("serving")
        return nodes * self.derived.replicas_per_node // self.derived.nodes_per_replica - self.derived.replicas

    def tier_path(self, tier: Literal["host_dram", "local_ssd"]) -> str:
        """Return the key that sizes a tier below GPU memory."""
        key = f"{tier}_gib_per_replica" if self.preset.serving.kv_cache.offload.kind == "tiered" else "gib_per_replica"
        return f"serving.kv_cache.offload.{key}"


Check = Callable[[Candidate], Iterator[Problem]]


def about(*paths: str) -> Callable[[Check], Check]:
    """Mark a check that says nothing once a value at one of ``paths`` is known to be wrong.

    The preset's own value stands there then: an engine of another kind, of which the user never spoke.
    """

    def marked(check: Check) -> Check:
        @wraps(check)
        def checked(c: Candidate) -> Iterator[Problem]:
            if not any(touches(path, c.set_aside) for path in paths):
                yield from check(c)

        return checked

    return marked
