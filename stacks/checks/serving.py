"""Model, engine and router: what the engine refuses at start, said before the nodes are paid for."""

from __future__ import annotations

from collections.abc import Iterator

from stacks.checks.candidate import Candidate
from stacks.problems import Problem
from stacks.spec import Bucket
from stacks.wording import some

__all__ = ["CHECKS"]

_RESERVED = ("default", "kube-system", "kube-public", "kube-node-lease", "gmp-system", "gmp-public")


def tensor_parallel(c: Candidate) -> Iterator[Problem]:
    """The model divides over some GPU counts only, and one replica stays inside one node here."""
    tp = c.preset.serving.shape.tensor_parallel
    support = c.rows.model.engines[c.preset.serving.engine.kind]
    gpus = c.rows.hardware.gpu.count
    if tp not in support.tensor_parallel:
        heads = c.rows.model.architecture.attention_heads
        yield Problem(
            rule="tensor-parallel",
            path="serving.shape.tensor_parallel",
            value=tp,
            why=f"{c.rows.model.title} has {heads} attention and {c.rows.model.architecture.kv_heads} KV heads; "
            "the engine refuses a size that does not divide them",
            allowed=", ".join(map(str, support.tensor_parallel)),
            remedy="choose an allowed size",
            source=support.source,
        )
    if tp > gpus:
        yield Problem(
            rule="replica-spans-nodes",
            path="serving.shape.tensor_parallel",
            value=tp,
            why=f"a replica of {some(tp, 'GPU')} does not fit one {c.rows.hardware.machine_type} ({gpus}); replicas "
            "over several nodes need a LeaderWorkerSet, which this release does not render",
            allowed=f"up to {gpus}",
            remedy="lower tensor_parallel or choose a machine type with more GPUs",
            source=c.rows.hardware.gpu.source,
        )


def expert_parallel(c: Candidate) -> Iterator[Problem]:
    """Expert parallelism needs experts and more than one GPU."""
    shape = c.preset.serving.shape
    if not shape.expert_parallel:
        return
    experts = c.rows.model.architecture.experts
    if experts == 0 or shape.tensor_parallel == 1:
        why = "a dense model has no experts to spread" if experts == 0 else "one GPU has nobody to share experts with"
        yield Problem(
            rule="expert-parallel",
            path="serving.shape.expert_parallel",
            value=True,
            why=f"{why}: the setting would do nothing",
            allowed="false",
            remedy="set it to false",
            source=c.rows.model.architecture.source,
        )


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
        source="vLLM 0.33.0 takes the precision from the weights it finds",
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


def moe_backend(c: Candidate) -> Iterator[Problem]:
    """NVFP4 experts have several kernels, not all of which exist for a GPU; on these the choice is made by hand."""
    backend = c.preset.serving.engine.moe_backend
    capability = c.rows.hardware.gpu.compute_capability
    known = c.rows.engine.moe_backends_by_compute_capability.get(capability, [])
    nvfp4 = c.rows.checkpoint.precision == "nvfp4"
    if nvfp4 and backend not in known:
        yield Problem(
            rule="moe-backend",
            path="serving.engine.moe_backend",
            value=backend,
            why=f"NVFP4 experts on compute capability {capability} run on a few kernels only; "
            "the engine's own choice has crashed or given garbage there",
            allowed=", ".join(known) or "none known",
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


def batch(c: Candidate) -> Iterator[Problem]:
    """Each running sequence takes at least one token of a step."""
    engine = c.preset.serving.engine
    if engine.batched_tokens < engine.max_sequences:
        yield Problem(
            rule="batched-tokens",
            path="serving.engine.batched_tokens",
            value=engine.batched_tokens,
            why=f"{some(engine.max_sequences, 'running sequence')} can decode one token each per step; "
            "the engine refuses a smaller budget",
            allowed=f">= {engine.max_sequences}",
            remedy="raise batched_tokens or lower max_sequences",
            source="vLLM 0.33.0 SchedulerConfig",
        )


def gateway(c: Candidate) -> Iterator[Problem]:
    """Outside the VPC nobody speaks plain HTTP to a model."""
    gateway = c.preset.serving.router.gateway
    if gateway.gateway_class == "gke-l7-regional-external-managed" and gateway.certificate is None:
        yield Problem(
            rule="gateway-certificate",
            path="serving.router.gateway.certificate",
            why="this class is reachable from the internet, and without a certificate prompts travel in clear text",
            allowed="name of a regional SSL certificate in the project",
            remedy="set the certificate, or use gateway_class gke-l7-rilb",
            source="GKE docs, Gateway TLS",
        )


def scorers(c: Candidate) -> Iterator[Problem]:
    """A router without scorers sends requests anywhere."""
    weights = c.preset.serving.router.scorers
    if not any((weights.prefix_cache, weights.queue, weights.kv_cache_utilization)):
        yield Problem(
            rule="no-scorer",
            path="serving.router.scorers",
            value=0,
            why="every scorer has weight 0, so the router would choose replicas at random",
            allowed="at least one weight above 0",
            remedy="give a scorer a weight; llm-d's guides use prefix_cache 3, queue 2, kv_cache_utilization 2",
            source="llm-d-router v0.10.0, scheduling profiles",
        )


def namespace(c: Candidate) -> Iterator[Problem]:
    """The stack creates its namespace; system ones are not its own."""
    name = c.preset.serving.namespace
    if name in _RESERVED or name.startswith(("kube-", "gke-")):
        yield Problem(
            rule="reserved-namespace",
            path="serving.namespace",
            value=name,
            why="the namespace belongs to Kubernetes or GKE and cannot be created or secured by the stack",
            allowed="any other DNS label",
            remedy="choose a name of your own",
            source="Kubernetes docs, namespaces",
        )


def image_arch(c: Candidate) -> Iterator[Problem]:
    """An image of another architecture is pulled and then fails with an exec format error."""
    for role, row, machine in (
        ("engine", c.rows.engine.image, c.rows.hardware.machine),
        ("router", c.rows.release.router_image, c.rows.system.machine),
    ):
        if machine.arch not in row.archs:
            yield Problem(
                rule="image-arch",
                path=f"serving.{role}.{'version' if role == 'engine' else 'release'}",
                value=f"{row.repository}:{row.tag}",
                why=f"the image is built for {', '.join(row.archs)}, the nodes are {machine.arch}",
                allowed=machine.arch,
                remedy="choose a version with an image for these nodes",
                source=row.source,
            )


CHECKS = (
    tensor_parallel,
    expert_parallel,
    weights_named,
    precision_on_gpu,
    nvfp4_experts,
    moe_backend,
    batch,
    gateway,
    scorers,
    namespace,
    image_arch,
)
