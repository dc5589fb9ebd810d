"""Artifact Registry behind the ``mirror`` setting: nodes need rights to pull from it, public registries need none.

Repository names: https://cloud.google.com/artifact-registry/docs/docker/names
"""

from components.node_identity import ArtifactRegistry

__all__ = ["artifact_registry"]

_HOST_END = "-docker.pkg.dev"


def artifact_registry(mirror: str | None) -> ArtifactRegistry | None:
    """Return the repository a mirror is in, ``None`` for any other registry.

    Raises ``ValueError`` for Artifact Registry without a repository, which a checked stack never has.
    """
    host, *path = (mirror or "").split("/")
    if not host.endswith(_HOST_END):
        return None
    match path:
        case [project, repository, *_]:
            return {"project": project, "location": host.removesuffix(_HOST_END), "repository": repository}
    raise ValueError(f"{mirror!r} names no repository of Artifact Registry")
