"""What llm-d's endpoint picker refuses at start, or does otherwise than it is told, without a word."""

from __future__ import annotations

from collections.abc import Iterator

from stacks.checks.candidate import Candidate, Check, about
from stacks.derived import PROXY_KEEP_ALIVE_S
from stacks.parallelism import data_parallel
from stacks.picker_state import kept_by_one_picker
from stacks.problems import Problem
from stacks.rows import LlmdRelease
from stacks.spec import FlowControl, LlmdRouter, PrefillDecode

__all__ = ["CHECKS"]

_SHALLOW_TURNS = 30
"""What the router's own default makes up for (0.5 turns a second, 60 seconds)."""
_ONE_ACTIVE = "llm-d-router v0.10.0, chart routerlib: one active replica; llm-d/llm-d-router#1290"


def _control(c: Candidate) -> tuple[LlmdRelease, FlowControl] | None:
    control = c.preset.serving.routing.flow_control
    return (c.rows.release, control) if control and isinstance(c.rows.release, LlmdRelease) else None


@about("serving.router.kind")
def newcomers(c: Candidate) -> Iterator[Problem]:
    """What a second of waiting is worth decides whom a newcomer can ever overtake."""
    if (found := _control(c)) is None:
        return
    _, control = found
    weight = control.turns_per_waited_s
    for name, band in control.bands.items():
        if weight is not None and weight * band.longest_wait_s < _SHALLOW_TURNS:
            yield Problem(
                rule="newcomers-starve",
                path="serving.routing.flow_control.turns_per_waited_s",
                value=weight,
                why=f"in band {name} a request waits {band.longest_wait_s} s at most, which makes up for "
                f"{weight * band.longest_wait_s:g} turns: behind deeper sessions a new one is refused, however long "
                "they go on",
                allowed=f"{_SHALLOW_TURNS / band.longest_wait_s:.2g} or more with this wait",
                remedy="raise it, or longest_wait_s",
                source="llm-d guides, turn-priority fairness: weight x time to live is the depth that can be overtaken",
                severity="warning",
            )


@about("serving.router.kind")
def waits(c: Candidate) -> Iterator[Problem]:
    """In some releases the longest wait is one number for all bands."""
    if (found := _control(c)) is None:
        return
    release, control = found
    differ = {band.longest_wait_s for band in control.bands.values()}
    if len(differ) > 1 and not release.plugins.wait_per_band:
        yield Problem(
            rule="waits-differ",
            path="serving.routing.flow_control.bands",
            value=sorted(differ),
            why=f"the picker of llm-d {release.version} has one longest wait for all bands",
            allowed="the same longest_wait_s in each",
            remedy="make them the same, or choose a release with a wait for each band",
            source=release.plugins.source,
        )


@about("serving.router.kind", "serving.engine")
def places(c: Candidate) -> Iterator[Problem]:
    """What the picker sends to a replica, the replica has to take."""
    sent, taken = c.derived.places_per_replica, c.derived.engine_requests
    if sent is not None and taken is not None and taken < sent:
        running = taken - (c.preset.serving.engine.max_waiting_requests or 0)
        yield Problem(
            rule="places-beyond-engine",
            path="serving.engine.max_waiting_requests",
            value=c.preset.serving.engine.max_waiting_requests,
            why=f"with flow control the picker has up to {sent} requests at a replica, a few beyond the {running} that "
            f"run, so that none stands idle; this one refuses all beyond {taken}",
            allowed=f"{sent - running} or more, or null: then the picker's places are the bound",
            remedy="raise it, or leave it out",
            source="derived: places_per_replica, engine_requests; see plan",
        )


@about("serving.router.kind")
def pickers(c: Candidate) -> Iterator[Problem]:
    """What a picker remembers is its own."""
    router, routing = c.preset.serving.router, c.preset.serving.routing
    kept = kept_by_one_picker(routing)
    if not isinstance(router, LlmdRouter) or router.replicas == 1 or not kept:
        return
    if routing.flow_control is not None and routing.flow_control.order == "turn_priority":
        yield Problem(
            rule="picker-with-turns",
            path="serving.router.replicas",
            value=router.replicas,
            why="two pickers at once would each see half of a session's turns, and one that stands by begins with "
            "none: to it every session is new",
            allowed="1",
            remedy="set it to 1: a picker that went is back within a minute; until then the load balancer chooses",
            source=_ONE_ACTIVE,
        )
        return
    yield Problem(
        rule="picker-standby",
        path="serving.router.replicas",
        value=router.replicas,
        why=f"a picker keeps to itself {', '.join(kept)}: one chooses, the others stand by, and the one that takes "
        "over begins without it",
        allowed="any number; a single one loses the same when it restarts",
        remedy="know that cached prefixes, or sessions, are found anew after a change",
        source=_ONE_ACTIVE,
        severity="note",
    )


@about("serving.router.kind")
def envoy(c: Candidate) -> Iterator[Problem]:
    """What is otherwise where an Envoy asks the picker, and not the load balancer."""
    router, release = c.preset.serving.router, c.rows.release
    if isinstance(router, LlmdRouter) and isinstance(release, LlmdRelease) and router.proxy == "envoy":
        yield Problem(
            rule="proxy-envoy",
            path="serving.router.proxy",
            value=router.proxy,
            why="without a picker requests are refused (500), where the load balancer would choose by itself; "
            f"a body of more than {c.derived.request_limit_mib} MiB is refused (413), and a request with an underscore "
            "in a header's name is cut off, as of Codex before 0.131 (session_id)",
            allowed="envoy; gateway, with which none of this is so",
            remedy="know that",
            source=release.proxy.source,
            severity="note",
        )


def _events(c: Candidate) -> LlmdRelease | None:
    release = c.rows.release
    return release if c.preset.serving.routing.listens and isinstance(release, LlmdRelease) else None


@about("serving.router.kind")
def events(c: Candidate) -> Iterator[Problem]:
    """Events are found by the port they come from, and only full attention can be told from them."""
    if (release := _events(c)) is None:
        return
    if data_parallel(c.preset.serving) > 1:
        yield Problem(
            rule="events-of-ranks",
            path="serving.routing.policy.cache_view",
            value="events",
            why="each data parallel rank publishes on a port of its own, and the picker listens to one for each port "
            "it routes to, of which a replica has one: it would miss what the other ranks hold",
            allowed="approximate, or serving.shape.data_parallel 1",
            remedy="set it to approximate",
            source="llm-d/llm-d-router#2233; vLLM 0.33.0, vllm/distributed/kv_events.py: one port more for each rank",
        )
    if c.rows.model.architecture.sliding_attention_layers and not release.kv_events.hybrid_models:
        yield Problem(
            rule="events-of-windows",
            path="serving.routing.policy.cache_view",
            value="events",
            why=f"the picker of llm-d {release.version} takes blocks of sliding windows for whole prefixes, and sends "
            "requests to replicas that hold only the end of them",
            allowed="approximate, or a newer release",
            remedy="set it to approximate",
            source="llm-d/llm-d-router#2362, #2363",
        )


@about("serving.router.kind", "serving.engine.kind")
def disaggregation(c: Candidate) -> Iterator[Problem]:
    """A threshold of nothing means never to the router, and it counts the places of both roles together."""
    shape = c.preset.serving.shape
    if not isinstance(shape, PrefillDecode) or not isinstance(c.rows.release, LlmdRelease):
        return
    least, context = shape.from_uncached_tokens, c.preset.serving.context_tokens
    if least is not None and not 0 < least < context:
        reason = "the router takes 0 for never" if least == 0 else f"no prompt is longer than the context of {context}"
        yield Problem(
            rule="never-disaggregated",
            path="serving.shape.from_uncached_tokens",
            value=least,
            why=f"{reason}: prefill replicas would wait for ever, without a word",
            allowed=f"null for every prompt, or a number of tokens above 0 and below {context}",
            remedy="leave it out, if every prompt is meant" if least == 0 else "lower it",
            source="llm-d/llm-d-router#867, #871, #2335",
        )
    waiting = c.preset.serving.engine.max_waiting_requests
    if c.preset.serving.routing.flow_control is not None:
        yield Problem(
            rule="places-of-both-roles",
            path="serving.routing.flow_control",
            value=c.preset.serving.routing.flow_control.order,
            why="the picker counts the free places of prefill and decode replicas together: with decode full and "
            "prefill free it still lets requests through, and they wait in the engine, in order of arrival",
            allowed="aggregated, or what waits in engines is not ordered",
            remedy="set serving.engine.max_waiting_requests, or serving.shape.kind to aggregated"
            if waiting is None
            else f"know that up to {waiting} requests a replica wait out of order; beyond that they are refused",
            source="llm-d/llm-d-router#2221: saturation by stage, after v0.10.0",
            severity="warning" if waiting is None else "note",
        )


@about("serving.router.kind", "serving.shape.kind")
def keep_alive(c: Candidate) -> Iterator[Problem]:
    """Who closes an idle connection first should be the one that sends requests over it."""
    shape, release = c.preset.serving.shape, c.rows.release
    if not isinstance(shape, PrefillDecode) or not isinstance(release, LlmdRelease):
        return
    if c.derived.proxy_timeout_s is not None:  # Envoy is before it then, and gives connections up in time
        return
    closes_s = release.routing_sidecar.idle_close_s
    if closes_s < PROXY_KEEP_ALIVE_S:
        yield Problem(
            rule="proxy-keep-alive",
            path="serving.shape.kind",
            value=shape.kind,
            why=f"the proxy before a decode engine closes a connection that was idle for {closes_s} s, which no flag "
            f"changes, and Google's proxies keep theirs for {PROXY_KEEP_ALIVE_S} s: after a pause, a request can "
            "meet a closing connection and get a 502",
            allowed="aggregated, whose engines keep connections for longer; or clients that try again",
            remedy="have clients repeat a request that got a 502 at once",
            source="llm-d-router v0.10.0, pkg/sidecar/proxy/proxy_helpers.go: IdleTimeout; Cloud Load Balancing docs, "
            "HTTP keepalive timeout of backends",
            severity="note",
        )


CHECKS: tuple[Check, ...] = (newcomers, waits, places, pickers, envoy, events, disaggregation, keep_alive)
