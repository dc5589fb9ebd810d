"""Free ports on the loopback interface, chosen at random.

Taken from below the range the system hands to outgoing connections, so that a port stays free while its server is down:
a sandbox keeps its ports for life, because the API server's address is part of the applied state.
"""

from __future__ import annotations

import random
import socket

from stacks.problems import EnvironmentProblem

__all__ = ["LOOPBACK", "free_ports", "is_free"]

LOOPBACK = "127.0.0.1"
_FIRST, _LAST = 20_000, 32_000
_TRIES = 2_000


def is_free(port: int) -> bool:
    """Tell whether a server could listen on the loopback port now."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((LOOPBACK, port))
        except OSError:
            return False
    return True


def free_ports(count: int) -> list[int]:
    """Return ``count`` different free loopback ports."""
    chosen: list[int] = []
    for _ in range(_TRIES):
        if len(chosen) == count:
            return chosen
        port = random.randint(_FIRST, _LAST)  # noqa: S311 - spreads sandboxes apart; guards nothing
        if port not in chosen and is_free(port):
            chosen.append(port)
    raise EnvironmentProblem(
        f"found only {len(chosen)} of {count} free ports between {_FIRST} and {_LAST} on {LOOPBACK}"
    )
