"""Model and engine: what the engine refuses at start, said before the nodes are paid for."""

from __future__ import annotations

import math
from collections.abc import Iterator

from stacks.checks.candidate import Candidate, about
from stacks.memory import GB, GIB
from stacks.parallelism import data_parallel
from stacks.problems import Problem
from stacks.rows import DynamoRelease
from stacks.spec import Bucket, SglangEngine, VllmEngine
from stacks.versions import older
from stacks.wording import some

__all__ = ["CHECKS"]


def weights_named(c: Candidate) -> Iterator[Problem]:
    """Another checkpoint lies elsewhere; with the preset's place the engine would serve the old one, silently."""
    wanted = c.overrides.get("model", {})
    if not {"name", "checkpoint"} & wanted.keys() or {"prefix", "repository"} & wanted.get("weights", {}).keys():
        return
    if any(path.startswith("model.weights") for path in c.set_aside):
        return  # named, but wrongly, which has been said
    key = "checkpoint" if "checkpoint" in wanted else "name"
    weights = c.preset.model.weights
    place = f"{weights.bucket}/{weights.prefix}" if isinstance(weights, Bucket) else weights.repository
    yield Problem(
        rule="weights-not-named",
        path=f"model.{key}",
        value=wanted[key],
        why=f"the weights are still the preset's, from {place}; the engine would serve those, whatever they are",
        allowed="another checkpoint together with the place of its weights",
        remedy="set model.weights in the overrides as well: prefix for a bucket, repository and revision for the hub",
        source=f"{c.rows.engine.kind} {c.rows.engine.version} takes the precision from the weights it finds",
    )


def precision_on_gpu(c: Candidate) -> Iterator[Problem]:
    """A quantized checkpoint needs tensor cores that can read it."""
    gpu = c.rows.hardware.gpu
    for need in c.rows.checkpoint.needs:
        if not getattr(gpu, need):
            yield Problem(
                rule="precision-on-gpu",
                path="model.checkpoint",
                value=c.preset.model.checkpoint,
                why=f"{c.rows.checkpoint.precision} needs {need.replace('_', ' ')}, which {gpu.model} does not have",
                allowed=", ".join(
                    k for k, v in c.rows.model.checkpoints.items() if all(getattr(gpu, n) for n in v.needs)
                ),
                remedy="choose an allowed checkpoint or other hardware",
                source=gpu.source,
            )


def cuda_on_gpu(c: Candidate) -> Iterator[Problem]:
    """An image has no kernels for GPUs that are younger than its CUDA. The node's driver is known to preflight only."""
    gpu, image, release = c.rows.hardware.gpu, c.rows.engine_image, c.rows.release
    if older(image.cuda, gpu.min_cuda):
        brought = isinstance(release, DynamoRelease)
        yield Problem(
            rule="cuda-on-gpu",
            path="serving.router.release" if brought else "serving.engine.version",
            value=release.version if brought else c.rows.engine.version,
            why=f"its image {image.repository}:{image.tag} is built with CUDA {image.cuda}, which has no kernels for "
            f"{gpu.model}",
            allowed=f"images of CUDA {gpu.min_cuda} or later",
            remedy="choose a newer one, or correct the row of its image",
            source=gpu.source,
        )


@about("serving.engine.kind")
def nvfp4_experts(c: Candidate) -> Iterator[Problem]:
    """NVFP4 experts spread by expert parallelism have failed where they run spread by tensor parallelism."""
    capability = c.rows.hardware.gpu.compute_capability
    if (
        c.rows.checkpoint.precision == "nvfp4"
        and c.preset.serving.shape.expert_parallel
        and capability in c.rows.engine.nvfp4_expert_parallel_failed_on
    ):
        yield Problem(
            rule="nvfp4-expert-parallel",
            path="serving.shape.expert_parallel",
            value=True,
            why=f"NVFP4 experts with expert parallelism have crashed on compute capability {capability}",
            allowed="false, until a newer engine is known to run it",
            remedy="set it to false: tensor parallelism splits the experts too",
            source=c.rows.engine.source,
            severity="warning",
        )


@about("serving.engine.kind")
def moe_backend(c: Candidate) -> Iterator[Problem]:
    """NVFP4 experts have several kernels, not all of which exist for a GPU; on these the choice is made by hand."""
    engine, capability = c.preset.serving.engine, c.rows.hardware.gpu.compute_capability
    known = c.rows.engine.moe_backends_by_compute_capability.get(capability)
    nvfp4 = c.rows.checkpoint.precision == "nvfp4"
    if nvfp4 and known == []:
        yield Problem(
            rule="nvfp4-kernel",
            path="model.checkpoint",
            value=c.preset.model.checkpoint,
            why=f"{c.rows.engine.kind} {c.rows.engine.version} has no NVFP4 expert kernel for compute capability "
            f"{capability}",
            allowed=", ".join(k for k, row in c.rows.model.checkpoints.items() if row.precision != "nvfp4"),
            remedy="choose another checkpoint, engine or hardware",
            source=c.rows.engine.source,
        )
        return
    if not isinstance(engine, VllmEngine):
        return
    backend = engine.moe_backend
    if nvfp4 and known and backend not in known:
        yield Problem(
            rule="moe-backend",
            path="serving.engine.moe_backend",
            value=backend,
            why=f"NVFP4 experts on compute capability {capability} run on a few kernels only; "
            "the engine's own choice has crashed or given garbage there",
            allowed=", ".join(known),
            remedy="name an allowed backend",
            source="vllm-project/vllm#32826, #33417, #31085; vLLM 0.33.0 --moe-backend",
        )
    if backend is not None and not nvfp4:
        yield Problem(
            rule="moe-backend",
            path="serving.engine.moe_backend",
            value=backend,
            why=f"the list of kernels is for NVFP4 experts; this checkpoint is {c.rows.checkpoint.precision}",
            allowed="null",
            remedy="leave it out",
            source="vLLM 0.33.0 --moe-backend",
        )


@about("serving.engine.kind")
def kv_cache_dtype(c: Candidate) -> Iterator[Problem]:
    """Not every attention kernel reads a quantized cache."""
    capability, dtype = c.rows.hardware.gpu.compute_capability, c.preset.serving.kv_cache.dtype
    if dtype == "fp8" and capability in c.rows.engine.fp8_kv_cache_refused_on:
        yield Problem(
            rule="kv-cache-dtype",
            path="serving.kv_cache.dtype",
            value=dtype,
            why=f"on compute capability {capability}, {c.rows.engine.kind} {c.rows.engine.version} has no attention "
            "kernel that reads an FP8 KV cache",
            allowed="auto",
            remedy="set it to auto; a token then takes twice the memory",
            source=c.rows.engine.source,
        )


@about("serving.engine.kind")
def window_pool(c: Candidate) -> Iterator[Problem]:
    """An engine that pools windows apart needs one for every running sequence, and the rest for the full layers."""
    engine, model, block = (
        c.preset.serving.engine,
        c.rows.model.architecture,
        c.preset.serving.kv_cache.block_size_tokens,
    )
    if not isinstance(engine, SglangEngine) or not model.sliding_attention_layers:
        return
    ratio, tokens = engine.swa_full_tokens_ratio, c.derived.kv_tokens_per_replica
    needed = engine.max_sequences * (model.sliding_window_tokens + block)
    lowest, highest = needed / max(tokens, 1), model.full_attention_layers / model.sliding_attention_layers
    if tokens and not lowest <= ratio <= highest:
        few, none = ratio < lowest, lowest > highest
        yield Problem(
            rule="window-pool",
            path="serving.engine.swa_full_tokens_ratio",
            value=ratio,
            why=f"{some(engine.max_sequences, 'running sequence')} need {needed} tokens of sliding-window cache, the "
            f"pool has {int(ratio * tokens)}; sequences wait, or the engine refuses to start"
            if few
            else "more than half of the KV memory goes to sliding windows, which keep "
            f"{model.sliding_window_tokens} tokens of a sequence however long it is",
            allowed=f"none with {some(engine.max_sequences, 'running sequence')}"
            if none
            else f"{math.ceil(lowest * 1000) / 1000:g} to {math.floor(highest * 1000) / 1000:g}",
            remedy="lower max_sequences" if none else "raise it, or lower max_sequences" if few else "lower it",
            source="SGLang 0.5.23, --swa-full-tokens-ratio: tokens of the window pool per token of the full pool",
            severity="error" if few else "warning",
        )


@about("serving.engine.kind")
def batch(c: Candidate) -> Iterator[Problem]:
    """Each running sequence takes at least one token of a step; SGLang's budget is for prompts alone."""
    engine = c.preset.serving.engine
    if isinstance(engine, VllmEngine) and engine.batched_tokens < engine.max_sequences:
        yield Problem(
            rule="batched-tokens",
            path="serving.engine.batched_tokens",
            value=engine.batched_tokens,
            why=f"{some(engine.max_sequences, 'running sequence')} can decode one token each per step; "
            "the engine refuses a smaller budget",
            allowed=f">= {engine.max_sequences}",
            remedy="raise batched_tokens or lower max_sequences",
            source=f"{c.rows.engine.kind} {c.rows.engine.version}, scheduler settings",
        )


@about("serving.engine.kind")
def whole_pages(c: Candidate) -> Iterator[Problem]:
    """SGLang computes prompts in steps of whole pages, on every attention rank."""
    serving = c.preset.serving
    engine, page, ranks = serving.engine, serving.kv_cache.block_size_tokens, data_parallel(serving)
    step, divides = engine.batched_tokens // ranks, serving.shape.tensor_parallel % ranks == 0
    if isinstance(engine, SglangEngine) and divides and (step < page or step % page):
        yield Problem(
            rule="batched-tokens-pages",
            path="serving.engine.batched_tokens",
            value=engine.batched_tokens,
            why=f"prompts are computed in steps of whole pages of {page} tokens"
            + (f" on each of {ranks} attention ranks" if ranks > 1 else "")
            + "; SGLang stops at start: chunked_prefill_size must be divisible by page_size",
            allowed=f"a multiple of {page * ranks}",
            remedy=f"set it to {max(1, round(engine.batched_tokens / (page * ranks))) * page * ranks}",
            source="SGLang 0.5.23, srt/arg_groups/validation_hook.py, parallel_hook.py",
        )


@about("serving.engine.kind")
def offload_tier(c: Candidate) -> Iterator[Problem]:
    """An engine has the tiers it has."""
    kind, tiers = c.preset.serving.kv_cache.offload.kind, c.rows.engine.offload.tiers
    if kind != "none" and kind not in tiers:
        yield Problem(
            rule="offload-tier",
            path="serving.kv_cache.offload.kind",
            value=kind,
            why=f"{c.rows.engine.kind} {c.rows.engine.version} has no such tier",
            allowed=", ".join(["none", *tiers]),
            remedy="choose an allowed tier",
            source=c.rows.engine.offload.source,
        )
    step, size = c.rows.engine.offload.host_tier_step_gb_per_rank, c.derived.host_tier_bytes_per_rank
    if step is not None and 0 < size < step * GB:
        yield Problem(
            rule="host-tier-step",
            path=c.tier_path("host_dram"),
            value=c.preset.serving.kv_cache.offload.host_dram_gib,
            why=f"{c.rows.engine.kind} takes the tier in whole GB a rank, and {size / GB:.2g} of them is 0, which "
            "it takes for no size at all: it would choose one by itself, larger than the pod",
            allowed=f"{math.ceil(step * GB * c.derived.gpus_per_replica / GIB)} or more",
            remedy="raise it, or set kv_cache.offload.kind to none",
            source=c.rows.engine.offload.source,
        )


CHECKS = (
    weights_named,
    precision_on_gpu,
    cuda_on_gpu,
    nvfp4_experts,
    moe_backend,
    kv_cache_dtype,
    window_pool,
    batch,
    whole_pages,
    offload_tier,
)
