"""What every row is made of: strict models, sourced groups of figures, images and charts."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from typing import Annotated, ClassVar, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field

from stacks.forms import CudaVersion, DriverVersion, HelmValue, Text, Version

__all__ = [
    "Arch",
    "ChartImage",
    "ChartRow",
    "ContainerUser",
    "EngineImage",
    "ImageRow",
    "NotNegative",
    "Positive",
    "Rate",
    "RefusedKind",
    "Sourced",
    "Strict",
]

Positive = Annotated[int, Field(gt=0)]
NotNegative = Annotated[int, Field(ge=0)]
Rate = Annotated[float, Field(ge=0.001, le=100_000)]
Arch = Literal["amd64", "arm64"]


class RefusedKind(NamedTuple):
    """A word for ``kind`` that exists elsewhere and cannot work here: why, and who says so."""

    why: str
    source: str


class Strict(BaseModel):
    """Base of everything a user writes: no unknown keys, no silent conversions, no changes after reading."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)
    schema_file: ClassVar[str] = ""
    """Of a model that describes a whole file: which of stacks/schemas an editor checks it with."""
    refused_kinds: ClassVar[Mapping[str, RefusedKind]] = {}
    """Of a model chosen by its kind: words people may write in place of it, and why not."""

    @classmethod
    def schema_source(cls) -> str:
        """Return the file that says what is allowed, for messages."""
        return f"stacks/schemas/{cls.schema_file}.schema.json"


class Sourced(Strict):
    """A group of figures with one origin."""

    source: Text = Field(description="Where the figures were read: a page title with its address, or a derivation.")
    as_of: date = Field(description="Day the source was read or last changed.")


class ImageRow(Sourced):
    """One container image: where it is pulled from. Its digest is in images.lock.yaml."""

    registry: Text
    repository: Text
    tag: Text
    archs: Annotated[list[Arch], Field(min_length=1)]


class EngineImage(ImageRow):
    """An image that runs kernels on GPUs."""

    cuda: CudaVersion = Field(description="CUDA the image is built with; its kernels run on GPUs this CUDA knows.")
    min_driver: DriverVersion = Field(description="Oldest NVIDIA driver this CUDA runs on; GKE's node has it or not.")


class ContainerUser(Sourced):
    """The unprivileged user an image is made for."""

    uid: Positive
    name: Text


class ChartImage(Strict):
    """An image a chart runs, and the chart's values that name it."""

    image: ImageRow
    repository_value: HelmValue = Field(description="Takes registry and repository.")
    tag_value: HelmValue = Field(description="Takes the tag, with the digest where it is known.")


class ChartRow(Sourced):
    """One Helm chart of a third party, pinned, with the images it runs."""

    registry: Text = Field(description="Host of the OCI registry or of the chart repository.")
    repository: Text = Field(description="Path there, the chart's name last for OCI, without it for https.")
    protocol: Literal["oci", "https"]
    name: Text
    version: Version
    namespace: Text = Field(description="Where it is installed.")
    images: list[ChartImage]
    webhook_port: Positive | None = Field(
        default=None, description="Port of its pods that the control plane calls for admission; null: it has none."
    )
    unlisted_images: list[Text] = Field(
        default_factory=list, description="What it runs besides, in words: neither mirrored nor pinned by digest."
    )
