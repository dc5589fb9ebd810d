"""Bands of a preset as Dynamo's router serves them: queues that take turns, each with a share.

A Dynamo queue has no rank; deficit round robin gives each the credit to start ``quantum`` uncached prompt tokens a
round. So priorities become shares, and nobody starves.
Quanta have to be small against requests: replicas come free one at a time, and then a queue whose next request its
quantum pays for gets its turn like any other; only those that have to save up wait for longer. Shares of 4, 2 and 1
came out as 1, 1 and 1 with quanta above the requests' size, and as meant with quanta below it (tests/live).
Source: ai-dynamo/dynamo, docs, deficit round robin queue scheduling; lib/kv-router/src/scheduling/policy_queue.rs
"""

from __future__ import annotations

from collections.abc import Mapping

from stacks.spec import Band, Routing

__all__ = ["has_priorities", "quantum_tokens", "queue_limit"]

_SHARE = 2
"""Of a band, as a multiple of the next lower one's."""
_SHED_FIRST = 4
"""A band below priority 0 has room for this part of the requests that others may queue."""


def quantum_tokens(bands: Mapping[str, Band], name: str, *, block_tokens: int) -> int:
    """Credit of a band for each round, in uncached prompt tokens.

    The lowest priority gets a block, the least that is cached or not; each higher one twice the one below it. Bands of
    one priority get the same.
    """
    ranks = sorted({band.priority for band in bands.values()})
    return int(block_tokens * _SHARE ** ranks.index(bands[name].priority))


def queue_limit(band: Band, waiting_requests: int | None) -> int | None:
    """Requests of a band that may queue, a replica; None: as many as come.

    The router refuses what comes to a full queue. Below priority 0 a band's queue is a quarter as long, so that it is
    full first.
    """
    if waiting_requests is None or band.priority >= 0:
        return waiting_requests
    return max(1, waiting_requests // _SHED_FIRST)


def has_priorities(routing: Routing) -> bool:
    """Whether engines order requests, too: by the number that clients send with the band (``stacks.clients``).

    The router passes it on. Engines hear nothing of bands.
    """
    return routing.flow_control is not None and routing.flow_control.ranks
