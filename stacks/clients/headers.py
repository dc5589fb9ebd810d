"""Headers that clients send and routers read: which names a session, and which a band of flow control."""

from __future__ import annotations

from stacks.resolve import StackSpec
from stacks.rows import LlmdRelease, ReleaseRow

__all__ = ["SESSION_HEADER", "band_headers", "default_headers", "session_headers", "tells_sessions_apart"]

SESSION_HEADER = "x-session-id"
"""For clients that have no session header of their own. llm-d's picker is told of it, Dynamo's frontend knows it."""


def session_headers(release: ReleaseRow) -> tuple[str, ...]:
    """Return what names a session for this router; the first that a request has counts."""
    own = (SESSION_HEADER,) if isinstance(release, LlmdRelease) else ()
    return (*own, *release.headers.session)


def tells_sessions_apart(spec: StackSpec) -> bool:
    """Whether the stack treats requests of one session alike: one replica, or one queue of llm-d's."""
    routing = spec.preset.serving.routing
    queues = routing.flow_control is not None and isinstance(spec.rows.release, LlmdRelease)
    return routing.session_affinity is not None or queues


def band_headers(spec: StackSpec) -> dict[str, dict[str, str]]:
    """Return for each band of flow control the headers of a request that is in it; empty where there are no bands.

    Where engines order requests too, and hear nothing of bands, that is a second header with the band's priority.
    """
    flow, headers = spec.preset.serving.routing.flow_control, spec.rows.release.headers
    if flow is None:
        return {}
    ordered = headers.priority if flow.ranks else None
    return {
        name: {headers.band: name, **({ordered: str(band.priority)} if ordered else {})}
        for name, band in flow.bands.items()
    }


def default_headers(spec: StackSpec) -> dict[str, str]:
    """Return the headers of the band that a request without them is in, to be changed; empty where there is none."""
    flow = spec.preset.serving.routing.flow_control
    return band_headers(spec)[flow.default_band] if flow else {}
