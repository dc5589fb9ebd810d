"""Settings of routing that contradict each other or do nothing, whatever the router stack."""

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


CHECKS = (taking_turns, scorers_of_llmd)
