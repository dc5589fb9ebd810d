"""Parts of the documentation that are generated: what they say is computed, so they cannot go stale unseen."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path

import yaml
from typer.testing import CliRunner

from beamline.cli import app
from beamline.sandbox.cloud.ownership import ownership
from beamline.sandbox.home import CHECKOUT
from stacks import resolve
from stacks.cloud import PLACEHOLDER_SUB_BLOCK
from stacks.evidence import Feature
from stacks.preset_files import compose
from stacks.settings import pulumi_config
from tests.shipped import BESIDE_LADDERS, SHIPPED, accepted

__all__ = [
    "IN_A_SANDBOX",
    "LADDER",
    "MISTAKES",
    "OWNERSHIP",
    "README",
    "commands",
    "ladder_page",
    "ownership_page",
    "readme",
    "shown_block",
]

README = CHECKOUT / "README.md"
LADDER = CHECKOUT / "docs" / "ladder.md"
OWNERSHIP = CHECKOUT / "docs" / "ownership.md"
MISTAKES = {
    "beamline:preset": "g4-llmd",
    "beamline:project": "your-project-id",
    "beamline:region": "us-central1",
    "beamline:zone": "us-east4-a",
    "beamline:overrides": {
        "accelerator_pools": {"main": {"local_ssd_count": 16}},
        "serving": {
            "engin": {"version": "0.33.0"},
            "engine": {"version": "0.32.0"},
            "kv_cache": {"offload": {"gib_per_replica": 2000}},
        },
    },
}
"""A stack file with five mistakes."""
IN_A_SANDBOX = ".venv/bin/beamline sandbox "
"""How commands begin that need an applied stack: tests/end_to_end/test_g4.py runs them."""


def commands() -> list[str]:
    """Return every command that README.md tells a reader to type, without its comment."""
    blocks = re.findall(r"```console\n(.*?)```", README.read_text(), flags=re.DOTALL)
    lines = [line.removeprefix("$ ") for block in blocks for line in block.splitlines() if line.startswith("$ ")]
    return [re.sub(r"\s+#.*$", "", line) for line in lines]


def ownership_page() -> str:
    """Return docs/ownership.md: who installs what in the cluster."""
    rows = [f"| {o.kind} | `{o.name}` | {o.owner} | {o.when} | {o.since or 'any'} | {o.source} |" for o in ownership()]
    return "\n".join(
        [
            "# Who installs what in the cluster",
            "",
            "Generated from `beamline/sandbox/cloud/ownership.yaml` by `make golden`. The simulated GKE installs",
            "the rows that are GKE's and nothing else; what is the kit's, the kit installs. *When* is the setting that",
            "brings the object, *since* the first version.",
            "",
            "| Kind | Name | Owner | When | Since | Source |",
            "|---|---|---|---|---|---|",
            *rows,
            "",
        ]
    )


def _standing(features: tuple[Feature, ...]) -> str:
    by_status: dict[str, list[str]] = {}
    for feature in features:
        by_status.setdefault(feature.status, []).append(feature.name)
    order = ("measured", "documented", "derived", "unverified")
    return "; ".join(f"{status}: {', '.join(by_status[status])}" for status in order if status in by_status)


def _presets_table(names: tuple[str, ...]) -> str:
    lines = ["| Preset | What | Evidence |", "|---|---|---|"]
    place = {"beamline:project": "your-project-id", "beamline:region": "us-central1", "beamline:zone": "us-central1-b"}
    for name in names:
        chosen = {**place, "beamline:preset": name, "beamline:accept_unverified": accepted(name)}
        pool = compose(name, key="preset", where="")[0]["accelerator_pools"]["main"]
        if pool["provisioning"]["kind"] == "reservation":
            chosen["beamline:reservation"] = PLACEHOLDER_SUB_BLOCK
        spec = resolve("x", pulumi_config(chosen), where="README.md", applying=False)
        lines.append(f"| `{name}` | {spec.preset.description} | {_standing(spec.features)} |")
    return "\n".join(lines)


def _mistakes_output() -> str:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "Pulumi.mistakes.yaml"
        file.write_text(yaml.safe_dump({"config": MISTAKES}))
        done = CliRunner().invoke(app, ["check", str(file)])
        text = done.stdout.replace(str(file), "stacks/Pulumi.mistakes.yaml")
    errors = re.findall(r"^error\[.*?(?=^\w|\Z)", text, flags=re.MULTILINE | re.DOTALL)
    return "\n".join(error.rstrip() for error in errors)


def _replaced(text: str, marker: str, body: str) -> str:
    pattern = rf"(<!-- {marker} -->\n).*?(<!-- end -->)"
    found, count = re.subn(pattern, lambda m: f"{m[1]}{body}\n{m[2]}", text, flags=re.DOTALL)
    if count != 1:
        raise ValueError(f"README.md has {count} blocks {marker!r}")
    return found


def readme(text: str) -> str:
    """Return README.md with its computed blocks as they must be now."""
    text = _replaced(text, "generated: presets", _presets_table(BESIDE_LADDERS))
    return _replaced(text, "output: mistakes", f"```text\n{_mistakes_output()}\n```")


def ladder_page(text: str) -> str:
    """Return docs/ladder.md with its table as it must be now."""
    return _replaced(
        text, "generated: rungs", _presets_table(tuple(name for name in SHIPPED if name not in BESIDE_LADDERS))
    )


def shown_block(marker: str) -> str:
    """Return what README.md shows in the block of that marker, without its fence."""
    found = re.search(rf"<!-- {marker} -->\n```text\n(.*?)```\n<!-- end -->", README.read_text(), flags=re.DOTALL)
    if found is None:
        raise ValueError(f"README.md has no block {marker!r}")
    return found[1]
