"""What Dynamo has no way for, or has in another way than a preset's words promise."""

from __future__ import annotations

from collections.abc import Iterator

from stacks.checks.candidate import Candidate, about
from stacks.parallelism import data_parallel
from stacks.problems import Problem
from stacks.rows import DynamoRelease
from stacks.spec import DynamoRouter, FlowControl, PrefillDecode, PrefixAndLoad, SglangEngine
from stacks.wording import some

__all__ = ["CHECKS"]

_QUEUES = "Dynamo docs, router configuration: policy-class queues"
_API_VERSION = "nvidia.com/v1beta1"


def _flow(c: Candidate) -> FlowControl | None:
    return c.preset.serving.routing.flow_control


@about("serving.router.kind", "serving.routing.policy.kind")
def queues_of_the_cache_router(c: Candidate) -> Iterator[Problem]:
    """Only the router that looks at caches has queues; the others send on what comes."""
    if isinstance(c.rows.release, DynamoRelease) and _flow(c) and not _by_cache(c):
        yield Problem(
            rule="flow-control-round-robin",
            path="serving.routing.flow_control",
            why="Dynamo's frontend queues requests in router mode kv only; in turns, they would start at once",
            allowed="null with policy round_robin",
            remedy="set serving.routing.policy to {kind: prefix_and_load, ...}, or leave flow_control out",
            source=_QUEUES,
        )


def _by_cache(c: Candidate) -> bool:
    return isinstance(c.preset.serving.routing.policy, PrefixAndLoad)


@about("serving.router.kind")
def bounds_of_queues(c: Candidate) -> Iterator[Problem]:
    """Dynamo bounds a queue by its length, not by how long a request has waited."""
    flow, waiting = _flow(c), c.preset.serving.engine.max_waiting_requests
    if not isinstance(c.rows.release, DynamoRelease) or flow is None or not _by_cache(c):
        return
    longest = max(band.longest_wait_s for band in flow.bands.values())
    yield Problem(
        rule="band-wait",
        path="serving.routing.flow_control.bands",
        value=longest,
        why="Dynamo's queues are bounded by length, so longest_wait_s refuses nothing there: "
        + (f"a queue takes {some(waiting, 'request')} a replica" if waiting else "and no length is set either"),
        allowed="serving.engine.max_waiting_requests, and the clients' own deadline",
        remedy="set serving.engine.max_waiting_requests" if not waiting else "rely on the length, or on llm-d",
        source=_QUEUES,
        severity="note" if waiting else "warning",
    )


@about("serving.router.kind")
def affinity_of_several_frontends(c: Candidate) -> Iterator[Problem]:
    """Each frontend binds sessions by itself; the others hear of it a moment later, or not."""
    affinity, router = c.preset.serving.routing.session_affinity, c.preset.serving.router
    if affinity and affinity.strict and isinstance(router, DynamoRouter) and router.frontends > 1:
        yield Problem(
            rule="affinity-frontends",
            path="serving.router.frontends",
            value=router.frontends,
            why="every frontend has its own bindings and tells the others without waiting for them; two requests of a "
            "new session at two frontends can be bound to two replicas",
            allowed="1 for sessions that never move; more where a rare move is all right",
            remedy="set it to 1, or session_affinity.strict to false",
            source="Dynamo docs, session affinity: synchronization is advisory",
            severity="warning",
        )


@about("serving.router.kind")
def strictness(c: Candidate) -> Iterator[Problem]:
    """Strict or not, a session keeps its replica; only when that is gone, it matters."""
    affinity, release = c.preset.serving.routing.session_affinity, c.rows.release
    if affinity is None or not isinstance(release, DynamoRelease):
        return
    path = "serving.routing.session_affinity.strict"
    if affinity.strict:
        yield Problem(
            rule="strict-affinity",
            path=path,
            value=True,
            why="when a replica dies, its sessions' next requests get HTTP 500 until the router hears that it is gone: "
            "strictly bound, they are sent nowhere else",
            allowed="false: sessions stay as well, and another replica takes over at once",
            remedy="set it to false",
            source="seen with Dynamo 1.6.1 and simulated workers: make live; Dynamo docs, session affinity",
            severity="warning",
        )
        return
    yield Problem(
        rule="soft-affinity",
        path=path,
        value=False,
        why=f"{release.routing_cost.function} keeps a session where it is as long as that replica can take requests at "
        "all; it does not leave it for a better one",
        allowed="false, meaning so much and no more",
        remedy="leave session_affinity out to weigh every request anew",
        source="Dynamo docs, maintain session affinity: soft mode with the default selector",
        severity="note",
    )


@about("serving.router.kind", "serving.router.release")
def api_version(c: Candidate) -> Iterator[Problem]:
    """A graph's components are a list in v1beta1 and a map in v1alpha1; the operator complains of another field."""
    release = c.rows.release
    if isinstance(release, DynamoRelease) and release.api_version != _API_VERSION:
        yield Problem(
            rule="graph-api-version",
            path="serving.router.release",
            value=release.version,
            why=f"its row says that graphs are {release.api_version}, and the kit writes the components of "
            f"{_API_VERSION}; an operator that reads the other refuses them with a message about another field",
            allowed=f"releases whose operator reads {_API_VERSION}: 1.4 and later",
            remedy="correct the row, or choose another release",
            source="ai-dynamo/dynamo#10419, #10934",
        )


@about("serving.engine.kind", "serving.shape.kind")
def waiting_by_role(c: Candidate) -> Iterator[Problem]:
    """SGLang passes its own bound over where prefill is apart from decode."""
    serving = c.preset.serving
    bound = serving.engine.max_waiting_requests
    if isinstance(serving.engine, SglangEngine) and isinstance(serving.shape, PrefillDecode) and bound and not _flow(c):
        yield Problem(
            rule="waiting-requests",
            path="serving.engine.max_waiting_requests",
            value=bound,
            why="SGLang passes this bound over in prefill and decode workers of their own, and no queue of the router "
            "takes it either",
            allowed="null, or a number together with serving.routing.flow_control",
            remedy="add flow_control, whose queues have this length, or leave it out",
            source="SGLang 0.5.23, --max-queued-requests: ignored with disaggregation-mode",
        )


@about("serving.engine.kind", "serving.shape.kind")
def attention_ranks(c: Candidate) -> Iterator[Problem]:
    """Attention ranks of SGLang share the tensor parallel group, and each has sequences of its own."""
    serving = c.preset.serving
    ranks, tp = data_parallel(serving), serving.shape.tensor_parallel
    if not isinstance(serving.engine, SglangEngine) or ranks == 1:
        return
    if tp % ranks:
        yield Problem(
            rule="attention-ranks",
            path="serving.shape.data_parallel",
            value=ranks,
            why=f"the {some(tp, 'GPU')} of a replica do not divide into {ranks} attention ranks; SGLang stops with a "
            "bare assertion",
            allowed=", ".join(str(size) for size in range(1, tp + 1) if tp % size == 0),
            remedy="choose an allowed number",
            source="SGLang 0.5.23, srt/arg_groups/parallel_hook.py: tp_size % attn_dp_size",
        )
    elif serving.engine.max_sequences < ranks:
        yield Problem(
            rule="attention-rank-sequences",
            path="serving.engine.max_sequences",
            value=serving.engine.max_sequences,
            why=f"{some(ranks, 'attention rank')} share these sequences, and some would have none: the engine stops at "
            "start",
            allowed=f"{ranks} or more",
            remedy="raise it, or lower serving.shape.data_parallel",
            source="SGLang 0.5.23, srt/model_executor/pool_configurator.py: max_running_requests // attn_dp_size",
        )


CHECKS = (
    queues_of_the_cache_router,
    bounds_of_queues,
    affinity_of_several_frontends,
    strictness,
    api_version,
    waiting_by_role,
    attention_ranks,
)
