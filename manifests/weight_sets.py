"""The sets of weights a stack serves, and where pods see each: the model's, and the drafter's where one speculates.

Whatever names a set's folder, an engine's argument or a mount, takes it from ``WeightSet.path``. The folder is named
for what the set is, with a hash of its source and revision. On local SSD a new revision, or another checkpoint, is
therefore a new folder: it fills up beside the one that running engines were started from, and takes over when an engine
starts with its name. Folders that no set of the stack uses any more are removed then. A bucket that is mounted is seen
under the same name. A Hyperdisk ML volume was filled by somebody else: there a set is where it is at its source.
A bucket's prefix counts as a revision of its own: new weights go under a new prefix, never over the old ones.
"""

from __future__ import annotations

from dataclasses import dataclass

from manifests.naming import content_name
from stacks.resolve import StackSpec
from stacks.spec import Bucket, HuggingFace, HyperdiskMl, LocalSsd, Storage, WeightSource

__all__ = [
    "MOUNT_PATH",
    "WeightSet",
    "buckets",
    "drafter_weights",
    "is_seeded",
    "model_weights",
    "token_secrets",
    "weight_sets",
]

MOUNT_PATH = "/weights"
"""Below it pods see the sets."""


@dataclass(frozen=True)
class WeightSet:
    """One checkpoint: where it comes from, where pods see it, and how to tell that it is whole."""

    role: str
    """The model's or the drafter's; names the container that seeds it, or the volume that it is."""
    name: str
    source: WeightSource
    storage: Storage
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
        """Name of the set's own folder, other for each revision."""
        return content_name(self.name, self.marker)

    @property
    def path(self) -> str:
        """Where pods see the set."""
        folder = self.place if isinstance(self.storage, HyperdiskMl) else self.key
        return f"{MOUNT_PATH}/{folder}"

    @property
    def place(self) -> str:
        """The set's folder at its source."""
        match self.source:
            case Bucket(prefix=prefix):
                return prefix
            case HuggingFace(repository=repository):
                return repository


def model_weights(spec: StackSpec) -> WeightSet:
    """The model's own weights."""
    model = spec.preset.model
    return WeightSet(
        role="model",
        name=f"{model.name}-{model.checkpoint}",
        source=model.weights,
        storage=model.storage,
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
        source=speculation.weights,
        storage=spec.preset.model.storage,
        size_bytes=drafter.weights_bytes,
    )


def weight_sets(spec: StackSpec) -> tuple[WeightSet, ...]:
    """Every set of the stack, the model's first."""
    drafter = drafter_weights(spec)
    return (model_weights(spec), *([drafter] if drafter else []))


def is_seeded(spec: StackSpec) -> bool:
    """Whether a DaemonSet copies the sets to nodes."""
    return isinstance(spec.preset.model.storage, LocalSsd)


def buckets(spec: StackSpec) -> list[str]:
    """Names of the Cloud Storage buckets that pods of the stack read, each once."""
    if isinstance(spec.preset.model.storage, HyperdiskMl):
        return []
    return sorted({s.source.bucket for s in weight_sets(spec) if isinstance(s.source, Bucket)})


def token_secrets(spec: StackSpec) -> list[str]:
    """Names of the Secret Manager secrets that hold hub tokens, each once; only who copies weights needs one."""
    if not is_seeded(spec):
        return []
    found = {s.source.token_secret for s in weight_sets(spec) if isinstance(s.source, HuggingFace)}
    return sorted(name for name in found if name)
