"""Ranks that a command line starts, against the GPUs of the pods that start them.

Fewer ranks leave GPUs idle, and nothing says so: the engine is ready. More wait for ever for a place, or find a GPU
that another one has.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import prod

from beamline.checks.engines.command_line import CommandLine, read_command_line
from beamline.checks.engines.containers import EngineContainer
from beamline.checks.engines.schemas import Schema
from policies.objects import entries
from stacks.problems import Problem
from stacks.wording import some

__all__ = ["rank_problems"]

_GPU = "nvidia.com/gpu"
_SIZES: Mapping[str, tuple[str, ...]] = {
    "vllm": (
        "tensor-parallel-size",
        "pipeline-parallel-size",
        "prefill-context-parallel-size",
        "data-parallel-size",
    ),
    "sglang": ("tp-size", "pp-size", "dp-size"),
}
"""Engine -> flags whose values multiply to a replica's ranks. Attention ranks of SGLang share those of tp-size.

Source: vLLM 0.33.0, config/parallel.py, world_size_across_dp; SGLang 0.5.23, srt/arg_groups/parallel_hook.py
"""
_APART = ("data-parallel-size-local", "data-parallel-rank", "data-parallel-external-lb", "data-parallel-hybrid-lb")
"""With these, a replica's data parallel ranks are in workloads of their own."""
_SHARED = "enable-dp-attention"
"""SGLang's older word for attention ranks: with it, dp-size counts those."""


def rank_problems(container: EngineContainer, schema: Schema) -> Iterator[Problem]:
    """Yield a problem where a group of pods has other GPUs than its ranks take."""
    line = read_command_line(container.words, schema.flags, schema.names)
    pods, gpus = _pods(container), container.limits.get(_GPU)
    sizes = _sizes(container.program.rpartition(".")[2], line)
    if sizes is None or pods is None or gpus is None or not str(gpus).isdecimal():
        return
    ranks, there = prod(sizes.values()), int(str(gpus)) * pods
    if ranks != there:
        written = " x ".join(f"{name} {size}" for name, size in sizes.items() if size > 1) or "no parallel size"
        have = f"{some(pods, 'pod')} {'has' if pods == 1 else 'have'} {some(there, 'GPU')}"
        end = "the others are paid for and idle" if ranks < there else "the engine waits for GPUs that never come"
        yield Problem(
            rule="ranks-and-gpus",
            path=f"{container.path}.resources.limits.{_GPU}",
            value=gpus,
            why=f"the command line starts {some(ranks, 'rank')} ({written}), and its {have}: {end}",
            allowed=str(ranks // pods) if ranks % pods == 0 else "",
            remedy="make GPUs x pods of a group equal to the product of the parallel sizes",
            where=container.urn,
            source="kserve/kserve#6044, #5773, #4946; " + schema.source,
        )


def _sizes(kind: str, line: CommandLine) -> dict[str, int] | None:
    """Parallel sizes that multiply, 1 where nothing is said; None where they are not all known, or not all here."""
    given = {setting.name: setting for setting in line.settings}
    if kind not in _SIZES or given.keys() & _APART:
        return None
    sizes = dict.fromkeys(_SIZES[kind], 1)
    for name in sizes:
        if name in given and given[name].values:
            value = given[name].values[-1][1]
            if not value.isdecimal():
                return None
            sizes[name] = int(value)
    if _SHARED in given and kind == "sglang":
        sizes["dp-size"] = 1
    return sizes


def _pods(container: EngineContainer) -> int | None:
    """How many pods start a replica together; None where a plan does not know."""
    owner = container.template.owner
    count: object = 1
    if owner.kind == "LeaderWorkerSet":
        count = owner.at("spec", "leaderWorkerTemplate", "size") or 1
    elif owner.kind == "DynamoGraphDeployment":
        components = entries(owner.at("spec", "components"))
        place = f"{owner.path}.spec.components"
        for index, component in enumerate(components):
            if container.template.path.startswith(f"{place}[{index}]") and component.get("multinode") is not None:
                count = component["multinode"].get("nodeCount", 2)
    return count if isinstance(count, int) else None
