"""Arguments that a preset hands on to an engine: what that refuses for a model, and what the kit has a key for."""

from __future__ import annotations

from collections.abc import Iterator

from stacks.checks.candidate import Candidate, about
from stacks.problems import Problem

__all__ = ["CHECKS"]


def _names(c: Candidate) -> Iterator[tuple[str, str, object]]:
    """Path, name and value of every extra argument that is passed; false passes nothing."""
    for name, value in c.preset.serving.engine.extra_arguments.items():
        if value is not False:
            yield f"serving.engine.extra_arguments.{name}", name, value


@about("serving.engine.kind", "model.name")
def refused_for_the_model(c: Candidate) -> Iterator[Problem]:
    """What an engine refuses only when it loads the model, after its arguments were taken."""
    support = c.rows.model.engines[c.preset.serving.engine.kind]
    for path, name, value in _names(c):
        if name in support.refuses and value != "none":
            yield Problem(
                rule="argument-refused",
                path=path,
                value=value,
                why=f"{c.rows.engine.kind} {c.rows.engine.version} takes the argument and then stops while it loads "
                f"the model: {support.refuses[name]}",
                allowed="no such argument",
                remedy="leave it out",
                source=support.source,
            )


@about("serving.engine.kind")
def tier_needs_prefixes(c: Candidate) -> Iterator[Problem]:
    """A tier holds prefixes; an engine that keeps none refuses to start with one."""
    for path, name, value in _names(c):
        if name == c.rows.engine.no_prefix_cache_argument and c.preset.serving.kv_cache.offload.kind != "none":
            yield Problem(
                rule="tier-without-prefixes",
                path=path,
                value=value,
                why=f"serving.kv_cache.offload is {c.preset.serving.kv_cache.offload.kind}, and the engine refuses a "
                "tier without its prefix cache",
                allowed="a tier, or this argument",
                remedy="leave one of them out",
                source="sgl-project/sglang#9452; SGLang 0.5.23 refuses it: mutually exclusive",
            )


CHECKS = (refused_for_the_model, tier_needs_prefixes)
