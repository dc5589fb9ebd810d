"""How we know that a feature works: per (preset, feature), fail-closed.

Evidence speaks about one accelerator, model, engine version and router release. When an override or a fork changes any
of these, the line no longer speaks about this stack and the feature counts as unverified.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

from stacks.derived import Derived
from stacks.parallelism import data_parallel
from stacks.problems import Problem, touches
from stacks.spec import Evidence, PrefillDecode, Preset, Routing, SglangEngine, VllmEngine

__all__ = ["Feature", "Subject", "feature_names", "features", "unaccepted", "unused_acceptances"]

_CHOSEN_BY = {
    "engine": ("serving.engine.kind", "serving.engine.version"),
    "precision": ("model.checkpoint",),
    "weights": ("model.storage",),
    "parallelism": (
        "serving.shape.tensor_parallel",
        "serving.shape.data_parallel",
        "serving.shape.expert_parallel",
    ),
    "router": ("serving.router.kind", "serving.router.release"),
    "router-proxy": ("serving.router.proxy",),
    "gateway": ("serving.router.gateway",),
    "authentication": ("serving.router.gateway.authentication",),
    "security-policy": ("serving.router.gateway.security_policy",),
    "routing": ("serving.routing",),
    "replicas": ("serving.shape",),
    "scaling": ("serving.scaling",),
    "disaggregation": ("serving.shape.kind",),
    "transport": ("serving.transport",),
    "kv-cache": ("serving.kv_cache.dtype",),
    "kv-offload": ("serving.kv_cache.offload",),
    "kv-pool": (
        "serving.engine.swa_full_tokens_ratio",
        "serving.engine.window_checkpoint_tokens",
        "serving.engine.kv_free_share",
    ),
    "speculation": ("serving.speculation",),
    "host-maintenance": ("accelerator_pools.*.host_maintenance",),
    "local-ssd": ("accelerator_pools.*.local_ssd_mode",),
    "image-cache": ("accelerator_pools.*.image_disk",),
    "provisioning": ("accelerator_pools.*.provisioning",),
}
"""The keys that switch a feature on, by the first word of its name; * stands for any pool."""


@dataclass(frozen=True)
class Subject:
    """What evidence is about."""

    accelerator_type: str
    model: str
    engine: str
    release: str

    def __str__(self) -> str:
        """The text for messages."""
        return f"{self.model} on {self.accelerator_type} with {self.engine} and {self.release}"


@dataclass(frozen=True)
class Feature:
    """One feature of a stack and how it is known to work."""

    name: str
    status: str
    source: str
    as_of: str
    note: str


def _parallelism(preset: Preset, derived: Derived) -> str:
    shape, nodes = preset.serving.shape, derived.nodes_per_replica
    experts, ranks = "-ep" if shape.expert_parallel else "", data_parallel(preset.serving)
    return (
        f"tp{shape.tensor_parallel}{f'-dp{ranks}' if ranks > 1 else ''}{experts}{f'-nodes{nodes}' if nodes > 1 else ''}"
    )


def _routing(routing: Routing) -> list[str]:
    """What the router does beyond taking turns."""
    names = [f"prefix_{routing.cache_view}"] if routing.cache_view else []
    names += ["session_affinity"] if routing.session_affinity else []
    names += [_ORDERS.get(routing.flow_control.order, routing.flow_control.order)] if routing.flow_control else []
    return names


def _kv_pool(engine: VllmEngine | SglangEngine) -> list[str]:
    """How the KV pool is tuned. SGLang's ratio always is, so its value tells which ratio the evidence is about."""
    if isinstance(engine, SglangEngine):
        return [] if engine.swa_full_tokens_ratio == _SGLANG_RATIO else [f"swa_{engine.swa_full_tokens_ratio:g}"]
    names = ["window_checkpoints"] if engine.window_checkpoint_tokens is not None else []
    return names + (["free_share"] if engine.kv_free_share is not None else [])


_SGLANG_RATIO = 0.8
"""What SGLang takes where nothing is said (0.5.23, --swa-full-tokens-ratio)."""
_ORDERS = {"arrival": "flow_control"}
"""Other orders are features by their own names."""


def feature_names(preset: Preset, precision: str, derived: Derived) -> list[str]:
    """Features this composition switches on, by name."""
    serving, pools = preset.serving, preset.accelerator_pools.values()
    kinds = [kind for kind in ("spot", "flex_start") if any(pool.provisioning.kind == kind for pool in pools)]
    maintained = sorted({pool.host_maintenance.kind for pool in pools if pool.host_maintenance})
    modes = sorted({pool.local_ssd_mode for pool in pools if pool.local_ssd_mode != "ephemeral"})
    cache = serving.kv_cache
    names = [
        f"engine:{serving.engine.kind}",
        f"precision:{precision}",
        f"parallelism:{_parallelism(preset, derived)}",
        f"router:{serving.router.kind}",
        *(f"routing:{name}" for name in _routing(serving.routing)),
        f"gateway:{serving.router.gateway.gateway_class}",
    ]
    names += ["router-proxy:envoy"] if derived.proxy_timeout_s is not None else []
    gateway = serving.router.gateway
    names += [f"authentication:{gateway.authentication.kind}"] if gateway.authentication.kind != "none" else []
    names += ["security-policy:cloud-armor"] if gateway.security_policy else []
    names += ["replicas:many"] if derived.replicas > 1 else []
    names += ["scaling:hpa"] if serving.scaling else []
    names += [f"disaggregation:{serving.shape.kind}"] if isinstance(serving.shape, PrefillDecode) else []
    names += [f"transport:{serving.transport.name}"] if serving.transport else []
    names += [f"kv-cache:{cache.dtype}"] if cache.dtype != "auto" else []
    names += [f"kv-offload:{cache.offload.kind}"] if cache.offload.kind != "none" else []
    names += [f"kv-pool:{name}" for name in _kv_pool(serving.engine)]
    names += [f"speculation:{serving.speculation.drafter}"] if serving.speculation else []
    names += [f"provisioning:{kind}" for kind in kinds]
    names += [f"host-maintenance:{kind}" for kind in maintained]
    storage = preset.model.storage.kind
    names += [f"weights:{storage}"] if storage != "local_ssd" else []
    names += [f"local-ssd:{mode}" for mode in modes]
    names += ["image-cache:secondary_boot_disk"] if any(pool.image_disk for pool in pools) else []
    return names


def features(
    preset: Preset, precision: str, derived: Derived, subject: Subject, subject_of: Callable[[str], Subject | None]
) -> list[Feature]:
    """Return every feature with its standing; ``subject_of`` tells what the evidence line of a feature was about."""
    return [
        _feature(name, preset.evidence, subject, subject_of(name) if name in preset.evidence else None)
        for name in feature_names(preset, precision, derived)
    ]


def _feature(name: str, evidence: Mapping[str, Evidence], subject: Subject, spoken_of: Subject | None) -> Feature:
    line = evidence.get(name)
    if line is None:
        return Feature(name, "unverified", "", "", "no evidence is recorded for this feature")
    if spoken_of != subject:
        about = spoken_of or "a preset that is not complete by itself"
        return Feature(
            name, "unverified", line.source, str(line.as_of), f"the recorded evidence is about {about}, not {subject}"
        )
    return Feature(name, line.status, line.source, str(line.as_of), line.note)


def unaccepted(
    found: Sequence[Feature], accepted: list[str], where: str, *, refused: Collection[str] = ()
) -> list[Problem]:
    """One problem for each reason why features the user has not accepted by name are unverified.

    ``refused`` are the paths of errors: what cannot be as it is, nobody is asked to accept.
    """
    by_reason: dict[str, list[Feature]] = {}
    for f in found:
        asked = f.status == "unverified" and f.name not in accepted
        if asked and not any(_refused(path, refused) for path in _CHOSEN_BY[f.name.partition(":")[0]]):
            by_reason.setdefault(f.note or f.source, []).append(f)
    return [_to_accept(reason, features, accepted, where) for reason, features in by_reason.items()]


def _refused(path: str, refused: Collection[str]) -> bool:
    """Tell whether one of ``refused`` is about ``path``, in whichever pool."""
    section, star, key = path.partition("*")
    if star and section.removesuffix(".") in refused:
        return True
    pools = {other.removeprefix(section).partition(".")[0] for other in refused if other.startswith(section)}
    return any(touches(section + pool + key, refused) for pool in pools) if star else touches(path, refused)


def _to_accept(reason: str, unverified: Sequence[Feature], accepted: list[str], where: str) -> Problem:
    names, sources = [f.name for f in unverified], {f"{f.source} ({f.as_of})" for f in unverified if f.source}
    return Problem(
        rule="unverified-feature",
        path="accept_unverified",
        value=accepted,
        why=f"nobody is known to have run {', '.join(names)} on this stack: {reason}",
        allowed="features with evidence, or unverified ones you name",
        remedy=f"add {', '.join(map(repr, names))} to accept_unverified in the stack file, or choose another preset",
        where=where,
        source=sources.pop() if len(sources) == 1 else "evidence of the preset",
    )


def unused_acceptances(found: list[Feature], accepted: list[str], where: str) -> list[Problem]:
    """One warning for each acceptance that matches nothing or is repeated: it would hide a later surprise."""
    unverified = {f.name for f in found if f.status == "unverified"}
    unused = {
        name: f"{name!r} is not an unverified feature of this stack" for name in accepted if name not in unverified
    }
    repeated = {name: f"{name!r} is written twice" for name in accepted if accepted.count(name) > 1}
    return [
        Problem(
            rule="unused-acceptance",
            path="accept_unverified",
            value=name,
            why=why,
            allowed=", ".join(sorted(unverified)) or "nothing: every feature has evidence",
            remedy="remove it",
            where=where,
            source="evidence of the preset",
            severity="warning",
        )
        for name, why in (repeated | unused).items()
    ]
