"""Whether the registries have every image of the stack, for the processors of the nodes it runs on."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from beamline.engine.graph import Resource
from beamline.engine.values import value_to_json
from beamline.preflight.findings import Check, Finding
from beamline.preflight.google import NotFoundError, UnansweredError
from beamline.preflight.target import Target
from beamline.preflight.world import World
from beamline.registry import RefusedError, RegistryClient, UnreachableError, architectures
from stacks.cloud import SANDBOX_PROJECT

__all__ = ["IMAGES", "Image", "judge_images", "needed_archs"]

_ARTIFACT_REGISTRY = "-docker.pkg.dev"
_RELEASE = "kubernetes:helm.sh/v3:Release"


@dataclass(frozen=True)
class Image:
    """What a registry said of an image: its architectures, that it has no such image, or nothing."""

    archs: frozenset[str] = frozenset()
    missing: str = ""
    reason: str = ""


def needed_archs(target: Target) -> dict[str, frozenset[str]]:
    """Return every image that pods run, as they name it, with the architectures of the pools they run on."""
    found: dict[str, set[str]] = {}
    for resource in target.resources():
        for name, archs in _of_resource(target, resource):
            found.setdefault(name, set()).update(archs)
    return {name: frozenset(found[name]) for name in sorted(found)}


def _of_resource(target: Target, resource: Resource) -> Iterator[tuple[str, set[str]]]:
    if resource.type == _RELEASE:
        chart = value_to_json(resource.inputs.get("chart"))
        text = json.dumps(value_to_json(resource.inputs.get("values")))
        for reference in target.spec.charts.values():
            if reference.chart == chart:
                yield from ((str(image), _archs(target, text)) for image in reference.images.values())
    elif resource.type.startswith("kubernetes:"):
        for value in resource.inputs.values():
            yield from _of_pods(target, value_to_json(value))


def _of_pods(target: Target, value: Any) -> Iterator[tuple[str, set[str]]]:
    """Yield the images of every pod specification inside a value."""
    if isinstance(value, list):
        for item in value:
            yield from _of_pods(target, item)
    if not isinstance(value, Mapping):
        return
    containers = [*_listed(value.get("initContainers")), *_listed(value.get("containers"))]
    placed = [value.get("nodeSelector"), (value.get("affinity") or {}).get("nodeAffinity")] if containers else []
    archs = _archs(target, json.dumps(placed))
    for container in containers:
        if isinstance(container, Mapping) and isinstance(container.get("image"), str):
            yield container["image"], archs
    for item in value.values():
        yield from _of_pods(target, item)


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _archs(target: Target, text: str) -> set[str]:
    """Architectures of the pools that a text names; pods that name none run on the system pool, which has no taint."""
    spec, rows = target.spec, target.spec.rows
    pools = {spec.pool_name(pool): pool.row.machine.arch for pool in spec.pools}
    pools[spec.system_pool_name] = rows.system.machine.arch
    return {arch for pool, arch in pools.items() if json.dumps(pool) in text} or {rows.system.machine.arch}


def _look(target: Target, world: World) -> dict[str, Image]:
    client = world.registry()
    return {name: _looked_at(world, client, name) for name in needed_archs(target)}


def _looked_at(world: World, client: RegistryClient, name: str) -> Image:
    registry, _, path = name.partition("/")
    tagged, _, digest = path.partition("@")
    repository, _, tag = tagged.rpartition(":")
    try:
        if registry.endswith(_ARTIFACT_REGISTRY):
            return Image(
                _in_artifact_registry(world, registry.removesuffix(_ARTIFACT_REGISTRY), repository, tag, digest)
            )
        return Image(frozenset(architectures(client, registry, repository, digest or tag)))
    except NotFoundError as error:
        return Image(missing=str(error))
    except (UnreachableError, UnansweredError) as error:
        return Image(reason=str(error))
    except RefusedError as error:
        return Image(missing=error.why) if error.rule == "image-not-found" else Image(reason=error.why)


def _in_artifact_registry(world: World, location: str, path: str, tag: str, digest: str) -> frozenset[str]:
    """Ask by Google's API: a repository that nobody may pull from anonymously tells it to whoever may read it."""
    project, repository, package = path.split("/", 2)
    parent = f"projects/{project}/locations/{location}/repositories/{repository}"
    image, methods = quote(package, safe=""), "projects.locations.repositories"
    if not digest:
        found = world.google.call(
            "artifactregistry", f"{methods}.packages.tags.get", name=f"{parent}/packages/{image}/tags/{tag}"
        )
        digest = found["version"].rpartition("/")[2]
    answer = world.google.call(
        "artifactregistry", f"{methods}.dockerImages.get", name=f"{parent}/dockerImages/{image}@{digest}"
    )
    archs = {row.get("architecture", "") for row in answer.get("imageManifests", []) if row.get("os") == "linux"}
    if not archs:
        raise UnansweredError("Artifact Registry does not tell for which processors it is")
    return frozenset(archs)


def judge_images(target: Target, images: Mapping[str, Image]) -> list[Finding]:
    """Tell for each image whether it is there and for which processors."""
    needed = needed_archs(target)
    findings = [_judged(name, needed[name], image) for name, image in images.items()]
    pinned = target.spec.preset.production and target.project != SANDBOX_PROJECT
    loose = [name for name in images if "@" not in name] if pinned else []
    return [*findings, *(_unresolved(name) for name in loose)]


def _judged(name: str, needed: frozenset[str], image: Image) -> Finding:
    archs = ", ".join(sorted(needed))
    asked = f"{name} is there for {archs}"
    if image.reason:
        return Finding.unknown(asked, image.reason, "ask the registry with your own login", "images")
    if image.missing:
        return Finding.problem(
            "image-missing",
            "images",
            asked,
            found=image.missing,
            needed="an image that can be pulled",
            remedy="correct the tag in its catalog row, or copy the image to the mirror",
        )
    has = ", ".join(sorted(image.archs)) or "none"
    if needed <= image.archs:
        return Finding(asked, f"it is for {has}", path="images")
    return Finding.problem(
        "image-wrong-arch",
        "images",
        asked,
        found=f"it is for {has}: its pods would end with exec format error",
        needed=archs,
        remedy="choose a tag that has it, or copy the image to the mirror with all its platforms",
    )


def _unresolved(name: str) -> Finding:
    return Finding.problem(
        "image-not-pinned",
        "images",
        f"{name} is pinned by digest",
        found="only the tag is known",
        needed="a digest in stacks/images.lock.yaml, as the preset is for production",
        remedy="run `beamline lock`",
    )


IMAGES: Check[dict[str, Image]] = Check(
    id="images",
    asks="the registries have the images for the nodes' processors",
    source="OCI distribution specification; Artifact Registry API, dockerImages.get; stacks/catalog",
    rules=("image-missing", "image-wrong-arch", "image-not-pinned"),
    look=_look,
    judge=judge_images,
    deadline_s=120.0,
)
