"""Elastic scaling: what an autoscaler can act on, what it would never do, and what it does not save."""

from __future__ import annotations

from collections.abc import Iterator

from stacks.checks.candidate import Candidate, about
from stacks.problems import Problem
from stacks.spec import Aggregated, DynamoRouter, ExistingCluster, NewCluster, PrefillDecode, Scaling
from stacks.versions import older
from stacks.wording import some

__all__ = ["CHECKS"]

_PATH = "serving.scaling"
_TOLERANCE = 0.1
"""A HorizontalPodAutoscaler leaves deviations of its target alone that are no larger."""
_HPA_DOCS = "Kubernetes docs, horizontal pod autoscaling: algorithm details (a tolerance of 0.1)"


def _scaling(c: Candidate) -> Scaling | None:
    return c.preset.serving.scaling


@about("serving.router.kind", "serving.shape.kind")
def target(c: Candidate) -> Iterator[Problem]:
    """An autoscaler acts on a Deployment of pods that are one replica each; on others it exists and does nothing."""
    if _scaling(c) is None:
        return
    shape, why, source = c.preset.serving.shape, "", "kserve/kserve#5211"
    if isinstance(c.preset.serving.router, DynamoRouter):
        why = (
            "Dynamo's operator sets the replicas of its workers from the graph, and would take back what another "
            "controller sets"
        )
        source = "Dynamo docs, autoscaling: by its own planner or scaling adapters"
    elif isinstance(shape, PrefillDecode):
        why = "prefill and decode are two workloads: two autoscalers that know nothing of each other"
    elif c.derived.nodes_per_replica > 1:
        why = (
            f"a replica takes {c.derived.nodes_per_replica} nodes at once, as a group of LeaderWorkerSet, for which "
            "the kit renders no autoscaler"
        )
    if why:
        yield Problem(
            rule="scaling-target",
            path=_PATH,
            why=why,
            allowed="null here; with llm-d: replicas of one pod that do prefill and decode",
            remedy="set serving.scaling to null",
            source=source,
        )


@about("serving.shape.kind")
def limits(c: Candidate) -> Iterator[Problem]:
    """At least one replica, and fewer than the most."""
    scaling, shape = _scaling(c), c.preset.serving.shape
    if scaling is None or not isinstance(shape, Aggregated):
        return
    if scaling.least_replicas == 0:
        yield Problem(
            rule="scaling-to-zero",
            path=f"{_PATH}.least_replicas",
            value=0,
            why=f"a first replica is given {c.derived.workload_budget_s} s to start; nothing holds requests that long, "
            "and with no replica there is no gauge that says somebody waits",
            allowed=f"1 to {max(1, shape.replicas - 1)}",
            remedy="set it to 1, or take the stack down while nobody needs it",
            source="derived: see workload_budget_s in plan; Kubernetes docs, HPAScaleToZero: external metrics only",
        )
    elif scaling.least_replicas >= shape.replicas:
        yield Problem(
            rule="scaling-range",
            path=f"{_PATH}.least_replicas",
            value=scaling.least_replicas,
            why=f"there are {some(shape.replicas, 'replica')} at most, as that is what there are nodes for: nothing "
            "would ever come or go",
            allowed=f"1 to {shape.replicas - 1}" if shape.replicas > 1 else "null for serving.scaling",
            remedy="lower it, or raise serving.shape.replicas together with the nodes of the pool, or set "
            "serving.scaling to null",
            source="Kubernetes API, HorizontalPodAutoscaler: minReplicas, maxReplicas",
        )


@about("serving.engine", "serving.router.kind")
def gauges(c: Candidate) -> Iterator[Problem]:
    """The gauge is one the engine exports, once a pod, and it can get past its target."""
    scaling, engine, shape = _scaling(c), c.preset.serving.engine, c.preset.serving.shape
    if scaling is None or isinstance(c.preset.serving.router, DynamoRouter):
        return
    if c.rows.engine.gauges is None:
        yield Problem(
            rule="scaling-gauge",
            path=_PATH,
            why=f"the row of {engine.kind} {engine.version} names no gauges of running and waiting requests: an "
            "autoscaler would look at a metric that nobody exports",
            allowed="null, or an engine whose row has gauges",
            remedy="set it to null, or fill in gauges in the engine's row, with their source",
            source=c.rows.engine.source,
        )
    elif isinstance(shape, Aggregated) and shape.data_parallel > 1:
        yield Problem(
            rule="scaling-ranks",
            path="serving.shape.data_parallel",
            value=shape.data_parallel,
            why="a replica exports its gauges once for each data parallel rank, and what GKE makes of several series "
            "of one pod is not documented",
            allowed="1, with serving.scaling",
            remedy="set it to 1, or set serving.scaling to null",
            source=c.rows.engine.gauges.source,
        )
    running = c.derived.scaling_running_requests
    if running is not None and running * (1 + _TOLERANCE) >= engine.max_sequences:
        yield Problem(
            rule="scaling-never",
            path=f"{_PATH}.running_share",
            value=scaling.running_share,
            why=f"replicas are added above {running} running requests and {_TOLERANCE:.0%} more, and a replica runs "
            f"{engine.max_sequences} at most: none would ever be added",
            allowed=f"below {1 / (1 + _TOLERANCE):.2f}, and max_sequences above 1",
            remedy="lower it",
            source=_HPA_DOCS,
        )


@about("serving.engine", "serving.router.kind", "serving.routing")
def waiting(c: Candidate) -> Iterator[Problem]:
    """As many requests as the target says have to be able to wait in a replica."""
    scaling, bound, places = _scaling(c), c.preset.serving.engine.max_waiting_requests, c.derived.places_per_replica
    if scaling is None or scaling.waiting_requests is None:
        return
    beside = None if places is None else places - c.preset.serving.engine.max_sequences
    most = min((each for each in (bound, beside) if each is not None), default=None)
    if most is not None and scaling.waiting_requests * (1 + _TOLERANCE) >= most:
        yield Problem(
            rule="scaling-never",
            path=f"{_PATH}.waiting_requests",
            value=scaling.waiting_requests,
            why=f"replicas are added when more than {scaling.waiting_requests} and {_TOLERANCE:.0%} wait in each, and "
            + (
                f"with flow control at most {most} do: the rest waits at the router"
                if most == beside
                else f"a replica refuses all beyond {most}"
            )
            + ": none would ever be added for that",
            allowed="null" if most == beside else f"below {most / (1 + _TOLERANCE):.0f}",
            remedy="leave it out: running_share adds replicas as well"
            if most == beside
            else "lower it, or raise serving.engine.max_waiting_requests",
            source=_HPA_DOCS,
        )


def gke(c: Candidate) -> Iterator[Problem]:
    """GKE reads gauges of pods from a version on, in some release channels."""
    row, cluster = c.rows.autoscaling.pod_metrics, c.preset.cluster
    if _scaling(c) is None:
        return
    if older(cluster.version, row.first_version):
        yield Problem(
            rule="scaling-version",
            path="cluster.version",
            value=cluster.version,
            why="GKE reads gauges of pods only from a later version on: the kind AutoscalingMetric is missing",
            allowed=f"{row.first_version} or later",
            remedy="raise it, or set serving.scaling to null",
            source=row.source,
        )
    if isinstance(cluster, NewCluster) and cluster.release_channel not in row.channels:
        yield Problem(
            rule="scaling-channel",
            path="cluster.release_channel",
            value=cluster.release_channel,
            why="that GKE reads gauges of pods is documented for other release channels only",
            allowed=", ".join(row.channels),
            remedy=f"set it to {row.channels[0]}, or set serving.scaling to null; where the docs have moved on, "
            "correct stacks/catalog/autoscaling.yaml",
            source=row.source,
        )
    if isinstance(cluster, ExistingCluster):
        yield Problem(
            rule="scaling-existing-cluster",
            path=_PATH,
            why=f"only cluster {cluster.name} knows its release channel ({', '.join(row.channels)} is needed), whether "
            f"it has the performance profile of horizontal pod autoscaling, and how many of its {row.most_per_cluster} "
            "gauges others use",
            allowed="a cluster that has them",
            remedy="preview looks at the profile; its owner sets it: gcloud container clusters update "
            f"{cluster.name} --hpa-profile=performance",
            source=row.source,
            severity="warning",
        )


@about("serving.engine", "accelerator_pools")
def told(c: Candidate) -> Iterator[Problem]:
    """What scaling does not do: give nodes back, and see a KV cache that is full."""
    scaling = _scaling(c)
    if scaling is None:
        return
    stay = [pool for pool in c.serving_pools if pool.plan.provisioning.kind != "flex_start"]
    for pool in stay:
        yield Problem(
            rule="scaling-nodes-stay",
            path=f"{pool.path}.provisioning.kind",
            value=pool.plan.provisioning.kind,
            why=f"the pool keeps its {some(pool.plan.nodes, 'node')}, and they are paid for, however few replicas run",
            allowed="any value; nodes of flex_start go when no pod needs them",
            remedy="leave it, where the nodes are yours anyway: their GPUs are free for others of your making",
            source="stacks/spec/infrastructure.py: pools are of fixed size, but for flex_start",
            severity="note",
        )
    most, running = (
        c.derived.kv_tokens_per_replica // c.preset.serving.context_tokens,
        c.derived.scaling_running_requests,
    )
    if scaling.waiting_requests is None and running is not None and most < running:
        yield Problem(
            rule="scaling-kv-first",
            path=f"{_PATH}.waiting_requests",
            why=f"the KV cache holds {some(most, 'request')} of full length, and replicas are added above {running}: "
            "with long requests it is full, and others wait, before that",
            allowed="a number of waiting requests; null where requests are shorter",
            remedy="name one",
            source="derived: kv_tokens_per_replica / context_tokens; see plan",
            severity="note",
        )


CHECKS = (target, limits, gauges, waiting, gke, told)
