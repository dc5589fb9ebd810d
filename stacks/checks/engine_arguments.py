"""Arguments that a preset hands on to an engine: what that refuses, alone, for a model or beside other settings."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from stacks.checks.candidate import Candidate, about
from stacks.flag_readings import Reading, Spellings, known_spellings, reading, readings
from stacks.parallelism import data_parallel
from stacks.problems import Problem
from stacks.rows import Refused
from stacks.rows.refusals import Circumstance
from stacks.spec import PrefixAndLoad, TieredOffload, VllmEngine

__all__ = ["CHECKS", "refused"]

_PATH = "serving.engine.extra_arguments"
_HOLDS: Mapping[Circumstance, Callable[[Candidate], bool]] = {
    "speculation": lambda c: c.preset.serving.speculation is not None,
    "attention_ranks": lambda c: data_parallel(c.preset.serving) > 1,
    "blocks_in_files": lambda c: (
        isinstance(c.preset.serving.engine, VllmEngine) and isinstance(c.preset.serving.kv_cache.offload, TieredOffload)
    ),
    "step_below_context": lambda c: c.preset.serving.engine.batched_tokens < c.preset.serving.context_tokens,
}


def _arguments(c: Candidate) -> Iterator[tuple[str, set[Reading], object]]:
    """Path, what the engine may take the name for, and value of every extra argument; false passes nothing."""
    known = _known(c)
    for name, value in c.preset.serving.engine.extra_arguments.items():
        if value is not False:
            yield f"{_PATH}.{name}", readings(name, known), value


def _known(c: Candidate) -> Spellings:
    """What the engine takes; not read where nothing is handed on."""
    return known_spellings(c.rows) if c.preset.serving.engine.extra_arguments else {}


def refused(c: Candidate, refusal: Refused, value: object) -> bool:
    """Tell whether a value is refused in this stack."""
    taken = {str(each) for each in _taken(c, refusal)}
    return (
        str(value) not in taken
        and (not refusal.values or value in refusal.values)
        and all(_HOLDS[circumstance](c) for circumstance in refusal.only_with)
        and refusal.unless_variable not in c.preset.serving.engine.extra_environment
    )


def _taken(c: Candidate, refusal: Refused) -> list[str | int | float | bool]:
    return [*refusal.taken, *refusal.taken_with.get(c.rows.checkpoint.precision, ())]


@about("serving.engine.kind", "model.name", "model.checkpoint")
def refused_arguments(c: Candidate) -> Iterator[Problem]:
    """What no stack of this kit can be told, and what an engine takes and then refuses to load a model with."""
    support, engine, known = c.rows.model.engines[c.preset.serving.engine.kind], c.rows.engine, _known(c)
    for path, names, value in _arguments(c):
        for refusals, source in ((support.refuses, support.source), (engine.refused_arguments, engine.source)):
            found = (refusal for name, refusal in refusals.items() if reading(name, known) in names)
            refusal = next(found, None)
            if refusal is None or not refused(c, refusal, value):
                continue
            taken = _taken(c, refusal)
            yield Problem(
                rule="argument-refused",
                path=path,
                value=value,
                why=f"{engine.kind} {engine.version}: {refusal.why}",
                allowed=", ".join(map(str, taken)) or ("another value" if refusal.values else "no such argument"),
                remedy="leave it out, or set an allowed value" if taken or refusal.values else "leave it out",
                source=source,
            )


@about("serving.engine.kind")
def rewritten_arguments(c: Candidate) -> Iterator[Problem]:
    """Two arguments of which the engine changes one, with no more than a line in its log."""
    engine, given = c.rows.engine, c.preset.serving.engine.extra_arguments
    for pair in engine.rewritten_pairs:
        if {**pair.defaults, **{name: given[name] for name in pair.values if name in given}} == pair.values:
            name = next(name for name in pair.values if name in given)
            yield Problem(
                rule="argument-rewritten",
                path=f"{_PATH}.{name}",
                value=given[name],
                why=f"with {', '.join(f'{key} {value}' for key, value in pair.values.items())}, {engine.kind} "
                f"{engine.version} sets {pair.becomes} by itself",
                allowed=pair.becomes,
                remedy=f"write {pair.becomes}, or leave both out",
                source=engine.source,
            )


@about("serving.engine.kind")
def without_prefixes(c: Candidate) -> Iterator[Problem]:
    """Tiers hold prefixes, and a router that looks for them has to find some."""
    offload, policy = c.preset.serving.kv_cache.offload, c.preset.serving.routing.policy
    known = _known(c)
    off = {reading(name, known) for name in c.rows.engine.no_prefix_cache_arguments}
    for path, names, value in _arguments(c):
        if not names & off:
            continue
        if offload.kind != "none":
            yield Problem(
                rule="tier-without-prefixes",
                path=path,
                value=value,
                why=f"serving.kv_cache.offload is {offload.kind}, and without its prefix cache an engine refuses a "
                "tier, or leaves it empty",
                allowed="a tier, or this argument",
                remedy="leave one of them out",
                source="sgl-project/sglang#9452; SGLang 0.5.23 refuses it: mutually exclusive; vLLM 0.33.0, "
                "simple_cpu_offload_connector.py: a warning, and no tier",
            )
        elif isinstance(policy, PrefixAndLoad):
            yield Problem(
                rule="routing-without-prefixes",
                path=path,
                value=value,
                why="the router sends prompts where it takes their prefix to be cached, and no engine keeps any",
                allowed="this argument with serving.routing.policy round_robin",
                remedy="leave it out, or set serving.routing.policy to {kind: round_robin}",
                source="stacks/spec/routing.py; vLLM 0.33.0, VllmConfig: no more than a line in the log",
                severity="error" if policy.cache_view == "events" else "warning",
            )


CHECKS = (refused_arguments, rewritten_arguments, without_prefixes)
