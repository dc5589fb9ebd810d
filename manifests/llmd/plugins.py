"""Parts of an EndpointPickerConfig: a plugin, and what each intent of a preset adds to the configuration.

A plugin is declared once, under its name, and a scheduling profile refers to it. Order in a profile matters for filters
alone: they narrow down in turn, before the scorers' weighted sum.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

__all__ = ["Part", "Plugin", "declarations"]


@dataclass(frozen=True)
class Plugin:
    """One instance of a type of plugin; ``weight`` is a scorer's in its profile."""

    type: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    name: str | None = None
    weight: float | None = None

    @property
    def reference(self) -> str:
        """How the rest of the configuration names it."""
        return self.name or self.type

    def declared(self) -> dict[str, Any]:
        """Its entry under ``plugins``."""
        return {
            **({"name": self.name} if self.name else {}),
            "type": self.type,
            **({"parameters": dict(self.parameters)} if self.parameters else {}),
        }

    def used(self) -> dict[str, Any]:
        """Its entry in a scheduling profile."""
        return {"pluginRef": self.reference, **({} if self.weight is None else {"weight": self.weight})}


@dataclass(frozen=True)
class Part:
    """What one intent adds to a profile: plugins that prepare (``needs``), and plugins that choose, in their order."""

    needs: tuple[Plugin, ...] = ()
    chooses: tuple[Plugin, ...] = ()

    def __add__(self, other: Part) -> Part:
        return Part(self.needs + other.needs, self.chooses + other.chooses)


def declarations(plugins: Iterable[Plugin]) -> list[dict[str, Any]]:
    """Every plugin once, in the order in which they are first named."""
    found: dict[str, Plugin] = {}
    for plugin in plugins:
        found.setdefault(plugin.reference, plugin)
    return [plugin.declared() for plugin in found.values()]
