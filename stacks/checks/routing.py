"""Ways of choosing a replica that contradict each other, or do nothing."""

from __future__ import annotations

from collections.abc import Iterator

from stacks.checks.candidate import Candidate, about
from stacks.problems import Problem
from stacks.spec import PrefixAndLoad

__all__ = ["CHECKS"]


def taking_turns(c: Candidate) -> Iterator[Problem]:
    """A session cannot stay with a replica and move on with every request."""
    routing = c.preset.serving.routing
    if routing.policy.kind == "round_robin" and routing.session_affinity:
        yield Problem(
            rule="turns-and-sessions",
            path="serving.routing.session_affinity",
            value=routing.session_affinity.model_dump(),
            why="the policy takes replicas in turn, whoever asks; one of the two would do nothing",
            allowed="session_affinity together with policy.kind prefix_and_load",
            remedy="leave session_affinity out, or choose prefix_and_load",
            source="stacks/spec/routing.py",
        )


@about("serving.router.kind")
def scorers_of_llmd(c: Candidate) -> Iterator[Problem]:
    """Scorers are plugins of llm-d's picker."""
    policy = c.preset.serving.routing.policy
    if isinstance(policy, PrefixAndLoad) and policy.scorers and c.preset.serving.router.kind != "llm-d":
        yield Problem(
            rule="scorers-of-llm-d",
            path="serving.routing.policy.scorers",
            value=policy.scorers.model_dump(),
            why="only llm-d weighs scorers; with this router they would do nothing",
            allowed="null",
            remedy="leave it out",
            source="Dynamo docs, KV router: cost in blocks",
        )


def scorers(c: Candidate) -> Iterator[Problem]:
    """A router without scorers sends requests anywhere."""
    policy = c.preset.serving.routing.policy
    weights = policy.scorers if isinstance(policy, PrefixAndLoad) else None
    if weights and not any((weights.prefix_cache, weights.queue, weights.kv_cache_utilization)):
        yield Problem(
            rule="no-scorer",
            path="serving.routing.policy.scorers",
            value=0,
            why="every scorer has weight 0, so the router would choose replicas at random",
            allowed="at least one weight above 0",
            remedy="leave scorers out, or give one a weight; llm-d's guides use 3, 2 and 2",
            source="llm-d-router v0.10.0, scheduling profiles",
        )


def forgotten(c: Candidate) -> Iterator[Problem]:
    """A session is known by its last request, which may still run."""
    affinity, longest = c.preset.serving.routing.session_affinity, c.preset.serving.longest_request_s
    if affinity is not None and affinity.forget_after_s < longest:
        yield Problem(
            rule="session-forgotten",
            path="serving.routing.session_affinity.forget_after_s",
            value=affinity.forget_after_s,
            why=f"a request may take {longest} s, and its session would be forgotten while it runs: the next one goes "
            "to any replica",
            allowed=f"{longest} or more",
            remedy="raise it by what a user thinks between two turns, or lower serving.longest_request_s",
            source="stacks/spec/routing.py: counted from a session's last request",
            severity="warning",
        )


def events_unused(c: Candidate) -> Iterator[Problem]:
    """Events are heard for the sake of prefixes."""
    policy = c.preset.serving.routing.policy
    weights = policy.scorers if isinstance(policy, PrefixAndLoad) and policy.cache_view == "events" else None
    if weights is not None and weights.prefix_cache == 0:
        yield Problem(
            rule="events-unused",
            path="serving.routing.policy.scorers.prefix_cache",
            value=0,
            why="replicas would tell what they have cached, and nothing looks at it: the picker refuses a listener "
            "that no scorer needs",
            allowed="above 0 with cache_view events",
            remedy="give it a weight, or set serving.routing.policy.cache_view to approximate",
            source="llm-d-router v0.10.0, pkg/epp/config/loader: an extractor has to be among the plugins",
        )


CHECKS = (taking_turns, scorers_of_llmd, scorers, events_unused, forgotten)
