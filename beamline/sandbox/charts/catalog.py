"""Which charts the sandbox has, where the world finds them, and in which versions."""

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from urllib.parse import urlsplit

import yaml

__all__ = ["Chart", "charts", "hosts"]

_HERE = Path(__file__).parent


@dataclass(frozen=True)
class Chart:
    """One row of ``charts.yaml``."""

    name: str
    reference: str
    """``oci://host/path/name``, or the ``https://`` address of a repository with an ``index.yaml``."""
    versions: tuple[str, ...]
    definitions: str
    """``chart`` or ``operator``: who installs the CustomResourceDefinitions."""
    source: str
    as_of: str

    @property
    def is_oci(self) -> bool:
        """Tell whether the chart lies in an OCI registry rather than in a classic repository."""
        return self.reference.startswith("oci://")

    @property
    def host(self) -> str:
        """Return the registry's or repository's host."""
        return urlsplit(self.reference).netloc

    @property
    def path(self) -> str:
        """Return the path on the host, without slashes at its ends."""
        return urlsplit(self.reference).path.strip("/")

    @property
    def folder(self) -> Path:
        """Return where the stand-in's files are."""
        return _HERE / "sources" / self.name


@cache
def charts() -> tuple[Chart, ...]:
    """Return every chart there is a stand-in for."""
    rows = yaml.safe_load((_HERE / "charts.yaml").read_text(encoding="utf-8"))
    return tuple(Chart(**{**row, "versions": tuple(row["versions"]), "as_of": str(row["as_of"])}) for row in rows)


def hosts() -> tuple[str, ...]:
    """Return the hosts the sandbox answers for, in a stable order."""
    return tuple(sorted({chart.host for chart in charts()}))
