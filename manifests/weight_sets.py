"""The sets of weights a stack needs on every accelerator node: the model's, and the drafter's where one speculates.

A set lives in a folder named for what it is, with a hash of its source and revision. A new revision, or another
checkpoint, is therefore a new folder: it fills up beside the one that running engines were started from, and takes over
when an engine starts with its name. Folders that no set of the stack uses any more are removed then.
A bucket's prefix counts as a revision of its own: new weights go under a new prefix, never over the old ones.
"""

from __future__ import annotations

from dataclasses import dataclass

from manifests.naming import content_name
from stacks.resolve import StackSpec
from stacks.spec import Bucket, HuggingFace

__all__ = [
    "MOUNT_PATH",
    "WeightSet",
    "buckets",
    "drafter_weights",
    "model_weights",
    "token_secrets",
    "weight_sets",
]

MOUNT_PATH = "/weights"
"""Where pods see the node's weights folder."""


@dataclass(frozen=True)
class WeightSet:
    """One checkpoint on a node: where it comes from, and how to tell that it is whole."""

    role: str
    """The model's or the drafter's; names the container that seeds it."""
    name: str
    image: str
    source: Bucket | HuggingFace
    size_bytes: int

    @property
    def marker(self) -> str:
        """Text of the file that says the set is whole: source and revision."""
        match self.source:
            case Bucket(bucket=bucket, prefix=prefix):
                return f"gs://{bucket}/{prefix.strip('/')}"
            case HuggingFace(repository=repository, revision=revision):
                return f"https://huggingface.co/{repository}@{revision}"

    @property
    def key(self) -> str:
        """Name of the set's folder."""
        return content_name(self.name, self.marker)

    @property
    def path(self) -> str:
        """Where pods see the set."""
        return f"{MOUNT_PATH}/{self.key}"


def model_weights(spec: StackSpec) -> WeightSet:
    """The model's own weights."""
    model = spec.preset.model
    return WeightSet(
        role="model",
        name=f"{model.name}-{model.checkpoint}",
        image=str(spec.images["weights"]),
        source=model.weights,
        size_bytes=spec.rows.checkpoint.weights_bytes,
    )


def drafter_weights(spec: StackSpec) -> WeightSet | None:
    """The drafter's weights; None without speculative decoding."""
    speculation, drafter = spec.preset.serving.speculation, spec.rows.drafter
    if speculation is None or drafter is None:
        return None
    return WeightSet(
        role="drafter",
        name=f"{spec.preset.model.name}-{speculation.drafter}",
        image=str(spec.images["drafter"]),
        source=speculation.weights,
        size_bytes=drafter.weights_bytes,
    )


def weight_sets(spec: StackSpec) -> tuple[WeightSet, ...]:
    """Every set of the stack, the model's first."""
    drafter = drafter_weights(spec)
    return (model_weights(spec), *([drafter] if drafter else []))


def buckets(spec: StackSpec) -> list[str]:
    """Names of the Cloud Storage buckets that hold weights, each once."""
    return sorted({s.source.bucket for s in weight_sets(spec) if isinstance(s.source, Bucket)})


def token_secrets(spec: StackSpec) -> list[str]:
    """Names of the Secret Manager secrets that hold hub tokens, each once."""
    found = {s.source.token_secret for s in weight_sets(spec) if isinstance(s.source, HuggingFace)}
    return sorted(name for name in found if name)
