"""What only matters once resources are about to be created: names, placeholders, where images come from."""

from __future__ import annotations

import re
from collections.abc import Iterator

from stacks.checks.candidate import Candidate
from stacks.cloud import PLACEHOLDER_BUCKET, PLACEHOLDER_PROJECT, PLACEHOLDER_RESERVATION, SANDBOX_PROJECT
from stacks.problems import Problem, Severity
from stacks.reservations import all_named
from stacks.spec import Bucket, HyperdiskMl
from stacks.wording import of

__all__ = ["CHECKS", "STACK_NAME"]

_LONGEST_NAME = 30 - len("beamline-") - len("-weights")
"""Google's limit for a service account id, less what the stack puts around its own name."""
_ARTIFACT_REGISTRY = "-docker.pkg.dev"
_CONTAINER_REGISTRY = {"gcr.io": "us", "us.gcr.io": "us", "eu.gcr.io": "europe", "asia.gcr.io": "asia"}
"""Container Registry's hosts, and where Artifact Registry keeps the repository of the same name."""
_PROJECT_AND_REPOSITORY = 2
STACK_NAME = re.compile(rf"[a-z]([a-z0-9-]{{0,{_LONGEST_NAME - 2}}}[a-z0-9])?")


def stack_name(c: Candidate) -> Iterator[Problem]:
    """The stack's name is part of every resource name, and service account ids end at 30 characters."""
    if not STACK_NAME.fullmatch(c.stack):
        yield Problem(
            rule="stack-name",
            path="stack",
            value=c.stack,
            why="every resource is named after it: Google takes lower-case letters, digits and hyphens, and "
            "beamline-<stack>-weights, a service account, may have 30 characters",
            allowed=f"1 to {_LONGEST_NAME} lower-case letters, digits and hyphens; a letter first, no hyphen last",
            remedy="choose another stack name",
            source="IAM docs, service account ids",
        )


def _severity(c: Candidate) -> Severity:
    """Notes while planning; errors when a run is about to reach Google. The sandbox has its own project."""
    return "error" if c.applying and c.settings.get("project") != SANDBOX_PROJECT else "note"


def project(c: Candidate) -> Iterator[Problem]:
    """The placeholder cannot be somebody's project."""
    if c.settings.get("project") == PLACEHOLDER_PROJECT:
        yield Problem(
            rule="placeholder-project",
            path="project",
            value=PLACEHOLDER_PROJECT,
            why="this is the placeholder of the shipped stack file, not a project of yours",
            allowed="your Google Cloud project id",
            remedy="pulumi config set beamline:project <your project>; plan and the sandbox do not need it",
            source="stacks/cloud.py",
            severity=_severity(c),
        )


def bucket(c: Candidate) -> Iterator[Problem]:
    """The placeholder cannot be somebody's bucket; a stack that reads a disk asks no bucket."""
    if isinstance(c.preset.model.storage, HyperdiskMl):
        return
    sources = [("model.weights", c.preset.model.weights)]
    if c.preset.serving.speculation:
        sources.append(("serving.speculation.weights", c.preset.serving.speculation.weights))
    for path, weights in sources:
        if isinstance(weights, Bucket) and weights.bucket == PLACEHOLDER_BUCKET:
            yield Problem(
                rule="placeholder-bucket",
                path=f"{path}.bucket",
                value=PLACEHOLDER_BUCKET,
                why="this is the placeholder of the shipped presets; the weights are in a bucket of yours",
                allowed="an existing bucket that holds the checkpoint under the given prefix",
                remedy=f"set it in the stack file: overrides.{path}.bucket",
                source="stacks/cloud.py",
                severity=_severity(c),
            )


def reservation(c: Candidate) -> Iterator[Problem]:
    """The placeholder cannot be somebody's reservation."""
    for path, name in all_named(c.settings.get("reservation")).items():
        if PLACEHOLDER_RESERVATION in name.split("/"):
            yield Problem(
                rule="placeholder-reservation",
                path=path,
                value=name,
                why="this is the placeholder of the shipped stack file, not a reservation of yours",
                allowed="the reservation, or its sub-block, that Google gave your project",
                remedy=f"pulumi config set {'--path ' if '.' in path else ''}beamline:{path} <yours>; plan and the "
                "sandbox do not need it",
                source="stacks/cloud.py",
                severity=_severity(c),
            )


def digests(c: Candidate) -> Iterator[Problem]:
    """A tag can move; a production stack runs what was tested."""
    images = {**c.images}
    for role, chart in c.charts.items():
        images |= {f"{role} chart, {value}": image for value, image in chart.images.items()}
    unresolved = {role: image.name for role, image in images.items() if not image.resolved}
    if unresolved:
        tags = of(len(set(unresolved.values())), "tag")
        yield Problem(
            rule="unresolved-image",
            path="images",
            value=unresolved,
            why=f"only the {tags} {'is' if tags == 'tag' else 'are'} known; what a tag points to may change under a "
            "running stack",
            allowed="images with a digest in stacks/images.lock.yaml",
            remedy="run `beamline lock` where the registries can be reached",
            where="stacks/images.lock.yaml",
            source="stacks/images.lock.yaml",
            severity=_severity(c) if c.preset.production else "note",
        )


def unlisted_images(c: Candidate) -> Iterator[Problem]:
    """A chart may run images of its own that no row names: a mirror does not hold them, a tag decides what they are."""
    for role, chart in c.charts.items():
        for words in chart.unlisted_images:
            yield Problem(
                rule="unlisted-image",
                path="serving.router.release",
                value=f"{chart.name} {chart.version}",
                why=f"the {role} chart also runs {words}; it is pulled from the chart's own registry, by tag",
                allowed="charts whose images are all in the catalog",
                remedy="read the chart where you can, and add the image to its catalog row",
                source="stacks/catalog",
                severity="warning" if c.settings.get("mirror") else "note",
            )


def mirror(c: Candidate) -> Iterator[Problem]:
    """Nodes are given rights to one repository of Artifact Registry, so a mirror there has to name it."""
    host, *path = (c.settings.get("mirror") or "").split("/")
    if host.endswith(_ARTIFACT_REGISTRY) and len(path) < _PROJECT_AND_REPOSITORY:
        yield Problem(
            rule="mirror-repository",
            path="mirror",
            value=c.settings["mirror"],
            why="images of Artifact Registry are in a repository, and this names none",
            allowed=f"LOCATION{_ARTIFACT_REGISTRY}/PROJECT/REPOSITORY",
            remedy="name project and repository",
            source="Artifact Registry docs, repository and image names",
        )
    if host in _CONTAINER_REGISTRY:
        address = "/".join((f"{_CONTAINER_REGISTRY[host]}{_ARTIFACT_REGISTRY}", path[0] if path else "PROJECT", host))
        yield Problem(
            rule="mirror-gcr",
            path="mirror",
            value=c.settings["mirror"],
            why=f"{host} is an older name of a repository in Artifact Registry; under this name the stack's nodes "
            "would get no right to pull",
            allowed=f"LOCATION{_ARTIFACT_REGISTRY}/PROJECT/REPOSITORY",
            remedy=f"write {'/'.join((address, *path[1:]))}",
            source="Artifact Registry docs, transition from Container Registry",
        )


CHECKS = (stack_name, project, bucket, reservation, mirror, digests, unlisted_images)
