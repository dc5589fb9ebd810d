"""What the stack's resources take, from the table ``resources.yaml``."""

from __future__ import annotations

from collections.abc import Iterator

from beamline.preflight.rows import Needs, resource_rows
from beamline.preflight.target import Target

__all__ = ["OTHER_KIND", "needed_apis", "needed_permissions", "unlisted_types"]

OTHER_KIND = "kubernetes: other"


def _needs(target: Target) -> Iterator[Needs]:
    table = resource_rows()
    yield table.always
    for kind in target.types:
        fallback = OTHER_KIND if kind.startswith("kubernetes:") else ""
        row = table.types.get(kind) or table.types.get(fallback)
        if row is not None:
            yield row


def needed_apis(target: Target) -> frozenset[str]:
    """Return the services behind the stack's resources."""
    return frozenset(api for needs in _needs(target) for api in needs.apis)


def needed_permissions(target: Target, on: str = "project") -> frozenset[str]:
    """Return the permissions whoever runs Pulumi needs on the project, or on its buckets, secrets or repository."""
    return frozenset(name for needs in _needs(target) if needs.on == on for name in needs.permissions)


def unlisted_types(target: Target) -> list[str]:
    """Return the types of Google's resources that the table does not know."""
    table = resource_rows().types
    return [kind for kind in target.types if kind.startswith("gcp:") and kind not in table]
