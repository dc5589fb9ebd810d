"""Read the CustomResourceDefinition files and find the schema of a kind."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml

__all__ = [
    "Definition",
    "all_definitions",
    "find",
    "installed_by_chart",
    "installed_by_charts",
    "installed_by_gke",
    "installed_by_kit",
]

_HERE = Path(__file__).parent
_CHARTS = _HERE / "charts"
_FRAGMENT = "$fragment"
_KIT = _HERE.parents[1] / "manifests" / "crds"


@dataclass(frozen=True)
class Definition:
    """One CustomResourceDefinition: the object to install, and what it defines."""

    name: str
    group: str
    kind: str
    plural: str
    namespaced: bool
    manifest: dict[str, Any]

    def schema(self, version: str) -> dict[str, Any] | None:
        """Return the openAPIV3Schema of a served version, None when the version is not served."""
        for candidate in self.manifest["spec"]["versions"]:
            if candidate["name"] == version and candidate["served"]:
                found: dict[str, Any] = candidate["schema"]["openAPIV3Schema"]
                return found
        return None


def _read(folder: Path) -> Iterator[Definition]:
    for path in sorted(folder.glob("*.yaml")):
        manifest = _with_fragments(yaml.load(path.read_text(), Loader=yaml.CSafeLoader))
        spec = manifest["spec"]
        yield Definition(
            name=manifest["metadata"]["name"],
            group=spec["group"],
            kind=spec["names"]["kind"],
            plural=spec["names"]["plural"],
            namespaced=spec["scope"] == "Namespaced",
            manifest=manifest,
        )


def _with_fragments(value: Any) -> Any:
    """Put in the schemas that several kinds share: ``$fragment: name`` stands for ``fragments/name.yaml``.

    Keys beside it are added to the fragment's. A CustomResourceDefinition itself knows no references.
    """
    if isinstance(value, list):
        return [_with_fragments(entry) for entry in value]
    if not isinstance(value, dict):
        return value
    own = {key: _with_fragments(inner) for key, inner in value.items() if key != _FRAGMENT}
    if _FRAGMENT not in value:
        return own
    return {**yaml.load((_HERE / "fragments" / f"{value[_FRAGMENT]}.yaml").read_text(), yaml.CSafeLoader), **own}


@cache
def installed_by_gke() -> tuple[Definition, ...]:
    """Return the kinds that GKE or one of its add-ons brings into a cluster."""
    return tuple(_read(_HERE))


@cache
def installed_by_kit() -> tuple[Definition, ...]:
    """Return the kinds that the kit applies itself, in the cloud as in the sandbox."""
    return tuple(_read(_KIT))


@cache
def installed_by_chart(chart: str) -> tuple[Definition, ...]:
    """Return the kinds that a third-party chart or its operator brings into a cluster."""
    return tuple(_read(_CHARTS / chart))


def installed_by_charts() -> tuple[Definition, ...]:
    """Return the kinds of all charts."""
    return tuple(found for folder in sorted(_CHARTS.iterdir()) for found in installed_by_chart(folder.name))


def all_definitions() -> tuple[Definition, ...]:
    """Return every definition, whoever installs it."""
    return installed_by_gke() + installed_by_kit() + installed_by_charts()


def find(api_version: str, kind: str) -> Definition | None:
    """Return the definition of ``group/version`` and kind; None when no file here serves it."""
    group, _, version = api_version.rpartition("/")
    for definition in all_definitions():
        if (definition.group, definition.kind) == (group, kind) and definition.schema(version) is not None:
            return definition
    return None
