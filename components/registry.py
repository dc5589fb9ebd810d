"""Artifact Registry behind the ``mirror`` setting: nodes need rights to pull from it, public registries need none.

Repository names: https://cloud.google.com/artifact-registry/docs/docker/names
"""

from components.cluster import ArtifactRegistry
from stacks import Problem, ProblemsFound

__all__ = ["artifact_registry"]

_HOST_END = "-docker.pkg.dev"


def artifact_registry(mirror: str | None) -> ArtifactRegistry | None:
    """Return the repository a mirror is in, ``None`` for any other registry.

    Raises ``ProblemsFound`` if the mirror names Artifact Registry but no repository in it.
    """
    host, *path = (mirror or "").split("/")
    if not host.endswith(_HOST_END):
        return None
    match path:
        case [project, repository, *_]:
            return {"project": project, "location": host.removesuffix(_HOST_END), "repository": repository}
    raise ProblemsFound(
        [
            Problem(
                rule="mirror-repository",
                path="mirror",
                value=mirror,
                why="images of Artifact Registry are in a repository, and this names none",
                allowed=f"LOCATION{_HOST_END}/PROJECT/REPOSITORY",
                remedy="name the repository",
                source="Artifact Registry docs, repository and image names",
            )
        ]
    )
