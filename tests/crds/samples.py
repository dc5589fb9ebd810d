"""The samples of good.yaml and bad.yaml, as parameters."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import yaml

HERE = Path(__file__).parent
GOOD: dict[str, dict[str, Any]] = {
    f"{sample['kind']}/{sample['metadata']['name']}": sample
    for sample in yaml.safe_load_all((HERE / "good.yaml").read_text())
}
BAD: list[dict[str, Any]] = yaml.safe_load((HERE / "bad.yaml").read_text())


def title(row: dict[str, Any]) -> str:
    return f"{row['of']} {row['at']}: {row['why']}"


def broken(row: dict[str, Any]) -> dict[str, Any]:
    """Return the good sample of a row with its one mistake."""
    sample = copy.deepcopy(GOOD[row["of"]])
    *way, last = [int(part) if part.isdigit() else part for part in row["at"].split(".")]
    place: Any = sample
    for part in way:
        place = place.setdefault(part, {}) if isinstance(place, dict) else place[part]
    if "set" in row:
        place[last] = row["set"]
    else:
        del place[last]
    return sample
