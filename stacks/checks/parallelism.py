"""How a replica spreads over GPUs and nodes: sizes the model divides into, roles, and what starts them together."""

from __future__ import annotations

from collections.abc import Iterator

from stacks.checks.candidate import Candidate, about
from stacks.parallelism import data_parallel
from stacks.problems import Problem
from stacks.rows import DynamoRelease, ReleaseRow
from stacks.rows.models import EngineKind
from stacks.spec import PrefillDecode
from stacks.wording import some

__all__ = ["CHECKS"]


def tensor_parallel(c: Candidate) -> Iterator[Problem]:
    """The model divides over some GPU counts only, and so does its drafter."""
    tp, support = c.preset.serving.shape.tensor_parallel, c.rows.model.engines[c.preset.serving.engine.kind]
    model, drafter = c.rows.model.architecture, c.rows.drafter
    if tp not in support.tensor_parallel:
        yield Problem(
            rule="tensor-parallel",
            path="serving.shape.tensor_parallel",
            value=tp,
            why=f"{c.rows.model.title} has {model.attention_heads} attention and {model.kv_heads} KV heads; "
            "the engine refuses a size that does not divide them",
            allowed=", ".join(map(str, support.tensor_parallel)),
            remedy="choose an allowed size",
            source=support.source,
        )
    elif drafter and drafter.attention_heads % tp:
        yield Problem(
            rule="drafter-tensor-parallel",
            path="serving.shape.tensor_parallel",
            value=tp,
            why=f"the drafter's {drafter.attention_heads} attention heads do not divide over {some(tp, 'GPU')}",
            allowed=", ".join(str(size) for size in support.tensor_parallel if drafter.attention_heads % size == 0),
            remedy="choose an allowed size, or leave speculation out",
            source=drafter.source,
        )


def _spans(c: Candidate) -> bool:
    """Tell whether a replica takes more than one node, in a size that the model divides into."""
    tp, support = c.preset.serving.shape.tensor_parallel, c.rows.model.engines[c.preset.serving.engine.kind]
    return tp > c.rows.hardware.gpu.count and tp in support.tensor_parallel


def spans_nodes(c: Candidate) -> Iterator[Problem]:
    """A replica larger than a node takes whole nodes, and a transport between them."""
    tp, row, transport = c.preset.serving.shape.tensor_parallel, c.rows.hardware, c.rows.transport
    gpus = row.gpu.count
    if not _spans(c):
        return
    if tp % gpus or row.fabric.nvlink_domain_nodes == 1:
        why = "does not fill whole nodes" if tp % gpus else "nothing fast enough joins these nodes"
        yield Problem(
            rule="replica-spans-nodes",
            path="serving.shape.tensor_parallel",
            value=tp,
            why=f"a replica of {some(tp, 'GPU')} does not fit one {row.machine_type} ({gpus}), and {why}",
            allowed=f"up to {gpus}"
            + ("" if row.fabric.nvlink_domain_nodes == 1 else f", or a multiple of {gpus} over several nodes"),
            remedy="lower it, or choose hardware with more GPUs or with NVLink between nodes",
            source=row.fabric.source,
        )
    elif transport is None or not transport.collectives:
        yield Problem(
            rule="replica-without-transport",
            path="serving.transport.name" if transport else "serving.transport",
            value=transport.name if transport else None,
            why=f"a replica of {some(tp, 'GPU')} runs on {tp // gpus} {row.machine_type}, and "
            + (f"{transport.name} is too slow between them" if transport else "nothing joins them"),
            allowed=", ".join(row.fabric.transports),
            remedy=f"name a transport of this hardware, or lower serving.shape.tensor_parallel to {gpus}",
            source=row.fabric.source,
        )


@about("serving.router.kind", "serving.engine.kind")
def engine_spans_nodes(c: Candidate) -> Iterator[Problem]:
    """A replica larger than a node needs a router stack that starts all its parts."""
    kind, release = c.preset.serving.engine.kind, c.rows.release
    if _spans(c) and isinstance(release, DynamoRelease) and not release.runtimes[kind].spans_nodes:
        yield Problem(
            rule="engine-spans-nodes",
            path="serving.shape.tensor_parallel",
            value=c.preset.serving.shape.tensor_parallel,
            why=f"replicas of {kind} over several nodes are not rendered with {release.kind} {release.version}",
            allowed=f"up to {c.rows.hardware.gpu.count}",
            remedy="lower it, or choose another serving.engine.kind or serving.router.kind",
            source=release.runtimes[kind].source,
        )


@about("serving.engine.kind")
def expert_parallel(c: Candidate) -> Iterator[Problem]:
    """Expert parallelism needs experts, more than one GPU, and an engine that spreads this model's."""
    shape, kind = c.preset.serving.shape, c.preset.serving.engine.kind
    if not shape.expert_parallel:
        return
    support = c.rows.model.engines[kind]
    if c.rows.model.architecture.experts == 0:
        why, source = "a dense model has no experts to spread", c.rows.model.architecture.source
    elif shape.tensor_parallel == 1 and data_parallel(c.preset.serving) == 1:
        why, source = "one GPU has nobody to share experts with", c.rows.model.architecture.source
    elif not support.expert_parallel:
        why = f"the kit does not spread the experts of this model with {kind}"
        why += f": {refusal.why}" if (refusal := support.refuses.get("moe-a2a-backend")) else ""
        source = support.source
    else:
        return
    yield Problem(
        rule="expert-parallel",
        path="serving.shape.expert_parallel",
        value=True,
        why=why,
        allowed="false",
        remedy="set it to false: tensor parallelism splits experts too",
        source=source,
    )


@about("serving.engine.kind")
def data_parallel_ranks(c: Candidate) -> Iterator[Problem]:
    """Data parallel ranks of vLLM share experts and nothing else, inside one node."""
    serving = c.preset.serving
    ranks, shape = data_parallel(serving), serving.shape
    if ranks == 1 or serving.engine.kind != "vllm":
        return
    support, gpus = c.rows.model.engines["vllm"], c.rows.hardware.gpu.count
    if shape.expert_parallel and shape.tensor_parallel > 1 and not support.expert_parallel_over_tensor_and_data:
        yield Problem(
            rule="expert-tensor-data-parallel",
            path="serving.shape.data_parallel",
            value=ranks,
            why=f"with expert parallelism, tensor parallel {shape.tensor_parallel} and data parallel {ranks}, vLLM "
            f"splits the experts' input over the sequence, which {c.rows.model.title} does not implement: "
            "NotImplementedError when the model is built",
            allowed="tensor_parallel 1 with data_parallel, or data_parallel 1 with tensor_parallel",
            remedy="set one of the two to 1",
            source=support.source,
        )
    elif c.derived.gpus_per_replica > gpus:
        yield Problem(
            rule="data-parallel-nodes",
            path="serving.shape.data_parallel",
            value=ranks,
            why=f"data parallel ranks over several nodes are not rendered, and a {c.rows.hardware.machine_type} has "
            f"{some(gpus, 'GPU')}",
            allowed=f"tensor_parallel x data_parallel up to {gpus}",
            remedy="lower it",
            source="stacks/parallelism.py",
        )


@about("serving.router.kind", "serving.engine.kind")
def prefill_decode(c: Candidate) -> Iterator[Problem]:
    """Prefill apart from decode takes a router stack and an engine that do it, and a way for the KV cache to go."""
    if not isinstance(c.preset.serving.shape, PrefillDecode):
        return
    kind, release, transport = c.preset.serving.engine.kind, c.rows.release, c.rows.transport
    if not _apart(release, kind):
        yield Problem(
            rule="prefill-decode",
            path="serving.shape.kind",
            value="prefill_decode",
            why=f"prefill and decode workers of {kind} are not rendered with {release.kind} {release.version}",
            allowed="aggregated",
            remedy="set it to aggregated, or choose another serving.router.kind or serving.engine.kind",
            source=release.source,
        )
    elif transport is None or kind not in transport.kv_transfer:
        yield Problem(
            rule="kv-transfer",
            path="serving.transport.name" if transport else "serving.transport",
            value=transport.name if transport else None,
            why="decode workers take over the KV cache that prefill workers made, "
            + (f"and {kind} has no backend for it over {transport.name}" if transport else "and no transport is named"),
            allowed=", ".join(c.rows.hardware.fabric.transports),
            remedy="name a transport of this hardware",
            source=c.rows.hardware.fabric.source,
        )


@about("serving.engine.kind", "model.checkpoint")
def expert_parallel_needs(c: Candidate) -> Iterator[Problem]:
    """Where experts are spread by one exchange only, that has needs of its own."""
    serving, support = c.preset.serving, c.rows.model.engines[c.preset.serving.engine.kind]
    needs = support.expert_parallel_needs
    if not (serving.shape.expert_parallel and support.expert_parallel and needs):
        return
    ranks, tp, capability = (
        data_parallel(serving),
        serving.shape.tensor_parallel,
        c.rows.hardware.gpu.compute_capability,
    )
    missing = [
        *(
            [f"weights in {' or '.join(needs.precisions)}"]
            if c.rows.checkpoint.precision not in needs.precisions
            else []
        ),
        *([f"data_parallel {tp}, as tensor_parallel"] if needs.one_attention_rank_per_gpu and ranks != tp else []),
        *(
            [f"compute capability {' or '.join(needs.compute_capabilities)}"]
            if capability not in needs.compute_capabilities
            else []
        ),
    ]
    if missing:
        how = ", ".join(f"{name} {value}" for name, value in needs.arguments.items())
        yield Problem(
            rule="expert-parallel-needs",
            path="serving.shape.expert_parallel",
            value=True,
            why=f"{serving.engine.kind} spreads the experts of {c.rows.model.title} by {how} only, which needs "
            + ", ".join(missing),
            allowed="false here",
            remedy="set it to false: tensor parallelism splits experts too; or give it what it needs",
            source=needs.source,
        )


def _apart(release: ReleaseRow, kind: EngineKind) -> bool:
    """Whether the kit renders prefill and decode of this engine apart; llm-d's sidecar speaks vLLM's protocol here."""
    return release.runtimes[kind].prefill_decode if isinstance(release, DynamoRelease) else kind == "vllm"


CHECKS = (
    tensor_parallel,
    spans_nodes,
    engine_spans_nodes,
    expert_parallel,
    expert_parallel_needs,
    data_parallel_ranks,
    prefill_decode,
)
