"""The tables beside this file, typed: what a resource takes, and which quota it uses."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Literal, TypeVar

from pydantic import Field

from stacks.forms import Text
from stacks.rows import Strict
from stacks.rows.base import Sourced
from stacks.yaml_files import read_yaml

__all__ = ["Needs", "QuotaRow", "Quotas", "Resources", "quota_rows", "resource_rows"]

_HERE = Path(__file__).parent
Table = TypeVar("Table", bound=Strict)


class Needs(Strict):
    """What it takes to make a resource of one type."""

    apis: list[Text] = Field(default_factory=list)
    permissions: list[Text]
    on: Literal["project", "bucket", "secret", "repository", "key"] = "project"


class Resources(Sourced):
    """``resources.yaml``."""

    always: Needs
    types: dict[str, Needs]


class QuotaRow(Strict):
    """One quota: a ``name`` that Compute Engine lists, else a ``metric`` with a limit for each family."""

    name: str = ""
    metric: str = ""
    dimension: str = ""
    family: str = ""
    scope: Literal["region", "global"] = "region"


class Quotas(Sourced):
    """``quotas.yaml``."""

    gpus_by_family: QuotaRow
    cpus: dict[str, QuotaRow]
    local_ssd_gb: dict[str, QuotaRow]
    disk_gb: dict[str, QuotaRow]
    all_gpus: QuotaRow
    resources: dict[str, QuotaRow]
    profile_networks: int


@cache
def resource_rows() -> Resources:
    """Return what each type of resource takes."""
    return _table(Resources, "resources.yaml")


@cache
def quota_rows() -> Quotas:
    """Return which quota each thing uses."""
    return _table(Quotas, "quotas.yaml")


def _table(kind: type[Table], file: str) -> Table:
    return kind.model_validate(read_yaml(_HERE / file))
