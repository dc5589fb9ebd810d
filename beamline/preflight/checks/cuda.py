"""Whether the engine's image, as it is in the registry, is built with a CUDA that knows the machine's GPUs.

A plan compares the catalog's rows; here the image itself is asked. Which driver the nodes will have nobody tells before
there are nodes: GKE chooses it with the node image.
"""

from __future__ import annotations

from dataclasses import dataclass

from beamline.preflight.findings import Check, Finding
from beamline.preflight.google import UnansweredError
from beamline.preflight.target import Target
from beamline.preflight.world import World
from beamline.registry import RefusedError, UnreachableError, environment
from stacks.versions import older

__all__ = ["CUDA", "Built", "judge_cuda"]


@dataclass(frozen=True)
class Built:
    """The image, and the CUDA_VERSION its makers left in it; empty where they left none."""

    image: str
    cuda: str


def _look(target: Target, world: World) -> Built:
    """Ask at the origin, also where a mirror is pulled from: a mirror holds the same bytes."""
    row, arch = target.spec.rows.engine_image, target.spec.rows.hardware.machine.arch
    try:
        found = environment(world.registry(), row.registry, row.repository, row.tag, arch)
    except (RefusedError, UnreachableError) as error:
        raise UnansweredError(str(error)) from error
    return Built(f"{row.registry}/{row.repository}:{row.tag}", found.get("CUDA_VERSION", ""))


def judge_cuda(target: Target, built: Built) -> list[Finding]:
    """Compare the image's CUDA with the oldest that has kernels for the GPUs."""
    gpu = target.spec.rows.hardware.gpu
    asked = f"{built.image} runs on {gpu.model}"
    if not built.cuda:
        return [Finding.unknown(asked, "the image does not tell its CUDA", "look at the image's own page", "images")]
    if older(built.cuda, gpu.min_cuda):
        return [
            Finding.problem(
                "image-cuda-too-old",
                "serving.engine.version",
                asked,
                found=f"it is built with CUDA {built.cuda}, which has no kernels for these GPUs",
                needed=f"CUDA {gpu.min_cuda} or later",
                remedy="choose an engine version or a tag that is built with it",
            )
        ]
    return [Finding(asked, f"CUDA {built.cuda}", f"CUDA {gpu.min_cuda} or later", path="images")]


CUDA: Check[Built] = Check(
    id="cuda",
    asks="the engine's image is built for the GPUs",
    source="the image's own environment (CUDA_VERSION); stacks/catalog/hardware",
    rules=("image-cuda-too-old",),
    look=_look,
    judge=judge_cuda,
)
