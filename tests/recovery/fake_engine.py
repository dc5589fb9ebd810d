"""A Pulumi whose backend is a dictionary, and whose cloud is a set of ids."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from beamline.recovery import Engine
from beamline.recovery.engine import RefusedError
from tests.recovery.states import PROJECT

__all__ = ["FakeEngine"]


@dataclass(frozen=True)
class FakeEngine(Engine):
    """Answers what recover asks, as Pulumi does: an import drops pending operations, a refresh drops what is gone."""

    pulumi: Path = Path("pulumi")
    folder: Path = Path()
    environment: Mapping[str, str] = field(default_factory=lambda: {"PATH": "/nowhere"})
    world: dict[str, Any] = field(default_factory=dict)
    """``document``, ``exists`` (id to outputs), ``preview``, ``asked``, ``dies_at`` (a command), ``refuses`` (an
    import), ``cannot_read`` (a refresh), ``survives`` (what a destroy leaves).
    """

    @property
    def project(self) -> str:
        return PROJECT

    def ask(self, *arguments: str) -> str:
        self.world["asked"].append(" ".join(arguments[:2]))
        if self.world.get("dies_at") == arguments[0] or self.world.get("dies_at") == " ".join(arguments[:2]):
            raise KeyboardInterrupt
        match arguments[:2]:
            case ["stack", "export"]:
                return json.dumps(self.world["document"])
            case ["stack", "import"]:
                self._import(Path(arguments[arguments.index("--file") + 1]))
            case ["preview", "--json"]:
                return str(self.world["preview"])
            case ["whoami", "--json"]:
                return '{"url": "gs://bucket"}'
            case ["refresh", _]:
                self._refresh([arguments[i + 1] for i, word in enumerate(arguments) if word == "--target"])
        return ""

    def follow(self, _stack: str, *arguments: str) -> int:
        self.world["asked"].append(" ".join(arguments[:2]))
        if arguments[0] == "destroy":
            self.world["document"] = self.world.get("survives") or {"version": 3, "deployment": {}}
        return 0

    def _import(self, file: Path) -> None:
        if refusal := self.world.get("refuses"):
            raise RefusedError(refusal)
        document = json.loads(file.read_text())
        document["deployment"]["pending_operations"] = []
        self.world["document"] = document

    def _refresh(self, targets: Sequence[str]) -> None:
        if refusal := self.world.get("cannot_read"):
            raise RefusedError(refusal)
        kept = []
        for each in self.world["document"]["deployment"]["resources"]:
            if each["urn"] not in targets:
                kept.append(each)
            elif each["id"] in self.world["exists"]:
                read = {key: value for key, value in each.items() if key != "initErrors"}
                kept.append({**read, **self.world["exists"][each["id"]]})
        self.world["document"]["deployment"]["resources"] = kept


def engine(document: Mapping[str, Any], exists: Mapping[str, Any], preview: str = "{}", **more: Any) -> FakeEngine:
    """Return an engine with that state, in a world where that exists."""
    world = {"document": dict(document), "exists": exists, "preview": preview, "asked": [], **more}
    return FakeEngine(world=world)
