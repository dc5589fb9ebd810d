"""Reads the catalog: every YAML file under stacks/catalog, checked against its row model.

A broken row is the kit's own defect, or a user's new row; either way it is reported as problems with file and key.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError

from stacks.catalog_consistency import inconsistencies
from stacks.catalog_references import loose_ends
from stacks.columns import MISSING, is_unfinished, still_missing
from stacks.problems import Problem, ProblemsFound
from stacks.rows import (
    Autoscaling,
    ClientRow,
    DynamoRelease,
    EngineRow,
    HardwareColumns,
    HardwareRow,
    HelperCharts,
    HelperImages,
    LlmdRelease,
    ModelRow,
    ReleaseRow,
    Strict,
    SystemMachineRow,
    TransportRow,
    WeightStorage,
)
from stacks.typing_problems import validation_problems
from stacks.yaml_files import read_yaml

__all__ = ["CATALOG_DIR", "ROW_KINDS", "Catalog", "load_catalog"]

CATALOG_DIR = Path(__file__).parent / "catalog"
ROW_KINDS: Mapping[str, tuple[type[Strict], str]] = {
    "hardware": (HardwareRow, "{machine_type}"),
    "system": (SystemMachineRow, "{machine_type}"),
    "models": (ModelRow, "{name}"),
    "engines": (EngineRow, "{kind}-{version}"),
    "llmd_releases": (LlmdRelease, "{kind}-{version}"),
    "dynamo_releases": (DynamoRelease, "{kind}-{version}"),
    "transports": (TransportRow, "{name}"),
    "clients": (ClientRow, "{name}"),
}
"""Folder -> row model and how a row's file is named after its contents."""

Row = TypeVar("Row", bound=Strict)


@dataclass(frozen=True)
class Catalog:
    """All rows by name; engines and releases are keyed ``kind-version``."""

    hardware: Mapping[str, HardwareRow]
    system: Mapping[str, SystemMachineRow]
    models: Mapping[str, ModelRow]
    engines: Mapping[str, EngineRow]
    llmd_releases: Mapping[str, LlmdRelease]
    dynamo_releases: Mapping[str, DynamoRelease]
    transports: Mapping[str, TransportRow]
    clients: Mapping[str, ClientRow]
    helper_images: HelperImages
    helper_charts: HelperCharts
    weight_storage: WeightStorage
    autoscaling: Autoscaling
    hardware_columns: HardwareColumns
    unfinished: Mapping[str, Sequence[Problem]]
    """Machine types whose row still has to be filled in, with what it lacks."""

    @property
    def releases(self) -> Mapping[str, ReleaseRow]:
        """Releases of every router stack."""
        return {**self.llmd_releases, **self.dynamo_releases}


def _read_row(path: Path, model: type[Row], where: str, problems: list[Problem]) -> Row | None:
    data: dict[str, Any] = {}
    try:
        data = read_yaml(path, where=where)
        row = model.model_validate(data)
    except ProblemsFound as found:
        problems += found.problems
        return None
    except ValidationError as error:
        problems += validation_problems(error, model=model, data=data, where=where)
        return None
    problems += inconsistencies(row, where)
    return row


def _unfinished(root: Path, look_in: HardwareColumns) -> dict[str, list[Problem]]:
    """Return the machine types whose row still lacks values: they stop the stacks that use them, and no other."""
    found = {}
    for path in sorted((root / "hardware").glob("*.yaml")):
        where = f"stacks/catalog/hardware/{path.name}"
        try:
            data = read_yaml(path, where=where) if MISSING.encode() in path.read_bytes() else {}
        except (OSError, ProblemsFound):
            continue  # said where rows are read
        if is_unfinished(data):
            found[path.stem] = still_missing(data, where, look_in)
    return found


def _rows(folder: str, problems: list[Problem], root: Path, unfinished: Collection[str] = ()) -> dict[str, Any]:
    model, naming = ROW_KINDS[folder]
    rows: dict[str, Any] = {}
    for path in sorted((root / folder).glob("*.yaml")):
        if path.stem in unfinished:
            continue
        where = f"stacks/catalog/{folder}/{path.name}"
        row = _read_row(path, model, where, problems)
        if row is None:
            continue
        name = naming.format(**row.model_dump())
        if name != path.stem:
            problems.append(
                Problem(
                    rule="catalog-file-name",
                    path=naming.replace("{", "").replace("}", ""),
                    value=name,
                    why=f"the row in {path.name} calls itself {name!r}; nobody looking for it would find this file",
                    allowed=path.stem,
                    remedy=f"rename the file to {name}.yaml or correct the row",
                    where=where,
                    source="stacks/catalog_files.py",
                )
            )
        rows[name] = row
    return rows


@cache
def load_catalog(root: Path = CATALOG_DIR) -> Catalog:
    """Read and check all rows; raises ``ProblemsFound`` with every defect of every file."""
    problems: list[Problem] = []
    rows: dict[str, Any] = {}
    singles: dict[str, type[Strict]] = {
        "helper_images": HelperImages,
        "helper_charts": HelperCharts,
        "weight_storage": WeightStorage,
        "autoscaling": Autoscaling,
        "hardware_columns": HardwareColumns,
    }
    for field, model in singles.items():
        file = f"{model.schema_file}.yaml"
        rows[field] = _read_row(root / file, model, f"stacks/catalog/{file}", problems)
    columns = rows["hardware_columns"]
    unfinished = _unfinished(root, columns) if columns else {}
    for folder in ROW_KINDS:
        rows[folder] = _rows(folder, problems, root, unfinished if folder == "hardware" else ())
    if not problems:
        problems = loose_ends(rows)
    if problems:
        raise ProblemsFound(problems)
    return Catalog(**rows, unfinished=unfinished)
