"""Files that a user or a test writes for the simulated cloud, read strictly: every mistake is named with its place."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from beamline.sandbox.cloud.errors import CloudError

__all__ = ["Column", "StrictFile"]

_WORDS: dict[type, str] = {
    str: "a text",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    list: "a list of texts",
    dict: "a list of maps",
}


@dataclass(frozen=True)
class Column:
    """One key of a row: what its value is, and what it may be.

    ``rows`` are the keys of the maps in a list; ``keyed``: a map whose keys are free, with values of the kind.
    """

    kind: type = str
    required: bool = False
    choices: tuple[str, ...] = ()
    least: float | None = None
    rows: "Mapping[str, Column] | None" = None
    keyed: bool = False

    @property
    def words(self) -> str:
        """Say what is expected."""
        if self.kind is list and self.choices:
            return f"{_WORDS[list]} or {' or '.join(self.choices)}"
        if self.choices:
            return f"one of {', '.join(self.choices)}"
        return _WORDS[self.kind] + (f" of at least {self.least:g}" if self.least is not None else "")

    def fits(self, value: object) -> bool:
        """Tell whether a value is of the kind, and in bounds."""
        if self.kind is list:
            if isinstance(value, str):
                return value in self.choices
            return isinstance(value, list) and all(isinstance(item, str) for item in value)
        if self.kind is dict:
            return isinstance(value, list)
        allowed = (int, float) if self.kind is float else (self.kind,)
        if not isinstance(value, allowed) or isinstance(value, bool) is not (self.kind is bool):
            return False
        if self.choices and value not in self.choices:
            return False
        return self.least is None or (isinstance(value, int | float) and value >= self.least)


class StrictFile:
    """One file: reads it, and collects what is wrong with it until ``close``."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._problems: list[str] = []

    def load(self) -> dict[str, Any]:
        """Return the map in the file; empty where there is no file. Raises CloudError when it cannot be read."""
        try:
            raw = yaml.safe_load(self._path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return {}
        except (OSError, ValueError, yaml.YAMLError) as error:
            raise CloudError(f"{self._path} cannot be read: {error}") from error
        if raw is None:
            return {}
        if not isinstance(raw, dict):
            raise CloudError(f"{self._path}: a map is expected, not {raw!r}")
        return raw

    def problem(self, text: str) -> None:
        """Note one mistake."""
        self._problems.append(text)

    def row(self, at: str, value: object, columns: Mapping[str, Column]) -> dict[str, Any]:
        """Return a map with the keys that are right; ``at`` is its place in the file, empty for the file itself."""
        prefix = f"{at}." if at else ""
        if not isinstance(value, dict):
            self.problem(f"{at}: a map with the keys {', '.join(columns)} is expected, not {value!r}")
            return {}
        for key in value:
            if key not in columns:
                self.problem(f"{prefix}{key}: unknown key; known are {', '.join(columns)}")
        out: dict[str, Any] = {}
        for key, column in columns.items():
            if key not in value:
                if column.required:
                    self.problem(f"{prefix}{key}: is missing; {column.words} is expected")
            elif column.keyed:
                out[key] = self._map(f"{prefix}{key}", value[key], column)
            elif not column.fits(value[key]):
                self.problem(f"{prefix}{key}: {column.words} is expected, not {value[key]!r}")
            elif column.rows is not None:
                out[key] = self.rows(f"{prefix}{key}", value[key], column.rows)
            else:
                out[key] = value[key]
        return out

    def rows(self, at: str, values: list[Any], columns: Mapping[str, Column]) -> list[dict[str, Any]]:
        """Return the maps of a list, each with the keys that are right."""
        return [self.row(f"{at}[{index}]", value, columns) for index, value in enumerate(values)]

    def _map(self, at: str, value: object, column: Column) -> dict[str, Any]:
        if not isinstance(value, dict):
            self.problem(f"{at}: a map is expected, not {value!r}")
            return {}
        for key, item in value.items():
            if not column.fits(item):
                self.problem(f"{at}.{key}: {column.words} is expected, not {item!r}")
        return {str(key): item for key, item in value.items()}

    def close(self) -> None:
        """Raise CloudError with everything that is wrong; nothing happens when nothing is."""
        if self._problems:
            raise CloudError(f"{self._path}: {'; '.join(self._problems)}")
