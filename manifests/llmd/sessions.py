"""Sessions: which header names one, and how its requests keep to their replica.

The picker remembers for every session which replica took its last request. It writes nothing back to clients: coding
agents send a header of their own and echo none. A session whose replica is gone is placed anew and keeps to that one.
Source: llm-d-router v0.10.0, scheduling/util/sessionaffinity (session_id.go), requestheader/agentidentity
"""

from __future__ import annotations

from manifests.chosen import llmd_release
from manifests.llmd.plugins import Part, Plugin
from stacks.clients import SESSION_HEADER
from stacks.resolve import StackSpec
from stacks.roles import Role

__all__ = ["session_affinity", "session_identity"]

_IDENTITY = "agent-identity"


def session_identity() -> Plugin:
    """What finds a request's session in its headers; queues of flow control are told apart by it, too.

    It knows the headers of some agents by itself (the release's row); the one of all others is named here.
    """
    return Plugin(_IDENTITY, {"additionalSessionHeaders": [SESSION_HEADER]})


def session_affinity(spec: StackSpec, role: Role) -> Part:
    """Return what keeps a session to a replica of one role: a filter where it is strict, one scorer more if not."""
    affinity = spec.preset.serving.routing.session_affinity
    if affinity is None:
        return Part()
    parameters = {
        "strategy": "session_id",
        "sessionIdConfig": {"sources": [{"attribute": _IDENTITY}], "evictionTtlSeconds": affinity.forget_after_s},
        **({"profileName": role.name} if role.name == "prefill" else {}),
    }
    kind = "session-affinity-filter" if affinity.strict else "session-affinity-scorer"
    name = f"{role.name}-{kind}" if role.name == "prefill" else None
    weight = None if affinity.strict else llmd_release(spec).scorer_weights.session_affinity
    return Part(needs=(session_identity(),), chooses=(Plugin(kind, parameters, name=name, weight=weight),))
