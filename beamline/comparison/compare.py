"""Two planned stacks side by side: what was meant, what follows from it, and what would be created."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from beamline.comparison.differences import differences
from beamline.comparison.model import Difference
from beamline.comparison.resources import ResourceChange, compare_resources
from stacks import StackSpec

if TYPE_CHECKING:
    from beamline.engine.graph import Graph

__all__ = ["Comparison", "FeatureChange", "NumberChange", "compare"]

_SETTINGS = ("project", "region", "zone", "reservation", "mirror")
"""Settings of a stack file that are not the preset's business and that resources show."""
_NOT_MEANT = {"description", "evidence"}
"""Keys of a preset that render nothing: the one is told beside the names, the other by feature."""


@dataclass(frozen=True)
class FeatureChange:
    """How a feature is known to work on either side; None where the stack does not have it."""

    feature: str
    old: str | None
    new: str | None


@dataclass(frozen=True)
class NumberChange:
    """A derived number (``stacks.derive``) on both sides."""

    name: str
    unit: str
    old: Any
    new: Any


@dataclass(frozen=True)
class Comparison:
    """Everything that differs; ``same`` counts the resources that do not."""

    settings: tuple[Difference, ...]
    preset: tuple[Difference, ...]
    features: tuple[FeatureChange, ...]
    numbers: tuple[NumberChange, ...]
    resources: tuple[ResourceChange, ...]
    same: int

    @property
    def is_empty(self) -> bool:
        """Whether nothing differs."""
        return not (self.settings or self.preset or self.features or self.numbers or self.resources)


def compare(old: StackSpec, old_graph: Graph, new: StackSpec, new_graph: Graph) -> Comparison:
    """Compare two stacks that were planned under one name."""
    resources, same = compare_resources(old_graph, new_graph)
    return Comparison(
        settings=tuple(differences(_settings(old), _settings(new))),
        preset=tuple(differences(_meant(old), _meant(new))),
        features=tuple(_features(old, new)),
        numbers=tuple(_numbers(old, new)),
        resources=tuple(resources),
        same=same,
    )


def _settings(spec: StackSpec) -> dict[str, Any]:
    return {key: value for key, value in spec.settings.model_dump(mode="json", include=set(_SETTINGS)).items() if value}


def _meant(spec: StackSpec) -> dict[str, Any]:
    """Return the preset with overrides; a key that says nothing is left out."""
    return _said(spec.preset.model_dump(mode="json", exclude=_NOT_MEANT))


def _said(section: Mapping[str, Any]) -> dict[str, Any]:
    return {
        key: _said(value) if isinstance(value, Mapping) else value
        for key, value in section.items()
        if value is not None
    }


def _features(old: StackSpec, new: StackSpec) -> list[FeatureChange]:
    before, after = ({feature.name: feature.status for feature in spec.features} for spec in (old, new))
    names = sorted({*before, *after})
    return [
        FeatureChange(name, before.get(name), after.get(name)) for name in names if before.get(name) != after.get(name)
    ]


def _numbers(old: StackSpec, new: StackSpec) -> list[NumberChange]:
    """Return the numbers that differ, in the order in which ``plan`` shows them."""
    after: Sequence[Mapping[str, Any]] = new.derived.explained()
    return [
        NumberChange(str(was["name"]), str(was["unit"]), was["value"], now["value"])
        for was, now in zip(old.derived.explained(), after, strict=True)
        if was["value"] != now["value"]
    ]
