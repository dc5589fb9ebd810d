"""Stack files that somebody may write, most of them nearly right."""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from stacks import ProblemsFound, StackSpec, resolve
from stacks.settings import STACKS_DIR, pulumi_config, read_stack_file
from tests.fuzz.edits import ANYTHING, edited, misspelt
from tests.fuzz.judging import Answer, answer_of
from tests.fuzz.sound import COMPOSED, SETTINGS, settings_for

__all__ = ["answer", "answer_to", "base_of", "config_of", "overrides_of", "stack_files"]

_SETTING = {
    "beamline:preset": st.sampled_from([*COMPOSED, "g4-lmd", "G4-llmd"]) | ANYTHING,
    "beamline:project": st.sampled_from(["your-project-id", "Acme", "123456"]) | ANYTHING,
    "beamline:region": st.sampled_from(["us-central1-b", "europe-west4", "us"]) | ANYTHING,
    "beamline:zone": st.sampled_from(["us-central1", "us-east4-a", "us-central1-ai1a"]) | ANYTHING,
    "beamline:reservation": st.sampled_from(["r", "projects/acme/reservations/r", "R"]) | ANYTHING,
    "beamline:mirror": st.sampled_from(["m.example.com:5000/x", "https://m", "gcr.io/a/b"]) | ANYTHING,
    "beamline:accept_unverified": st.lists(st.sampled_from(["precision:nvfp4", "kv-cache:fp8", "x", 5])) | ANYTHING,
    "beamline:allow_replace": st.lists(st.sampled_from(["g4-main-pool", "x", 5])) | ANYTHING,
    "beamline:overrides": ANYTHING,
    "gcp:zone": ANYTHING,
    "beamlin:project": ANYTHING,
}
"""Values of a setting, right and wrong."""
_ACCEPT = re.compile(r"'([^']+)'(?=.* to accept_unverified)")


@st.composite
def stack_files(draw: st.DrawFn) -> dict[str, Any]:
    """Return the config section of a stack file: settings and overrides, a few of them wrong."""
    name = draw(st.sampled_from(sorted(COMPOSED)))
    overrides = edited(draw, {}, copy.deepcopy(COMPOSED[name]))
    config = {**settings_for(COMPOSED[name], overrides), "beamline:preset": name, "beamline:overrides": overrides}
    if draw(st.integers(0, 7)) == 5:
        for key in draw(st.lists(st.sampled_from(sorted(_SETTING)), min_size=1, max_size=3, unique=True)):
            config[key] = draw(_SETTING[key])
    if draw(st.integers(0, 15)) == 11:
        key = draw(st.sampled_from(sorted(SETTINGS)))
        config[f"beamline:{misspelt(draw, key.partition(':')[2])}"] = config.pop(key)
    return config


def config_of(path: Path) -> dict[str, Any] | None:
    """Return the config section as the kit reads it, None when it cannot be read."""
    try:
        return read_stack_file(path)
    except ProblemsFound:
        return None


def overrides_of(config: Mapping[str, Any] | None) -> Any:
    """Return the overrides of a config section, empty when there are none."""
    return (config or {}).get("beamline:overrides") or {}


def base_of(config: Mapping[str, Any] | None) -> Mapping[str, Any]:
    """Return the complete preset that a stack file names, empty when there is no such preset."""
    name = (config or {}).get("beamline:preset")
    return COMPOSED.get(name, {}) if isinstance(name, str) else {}


def answer_to(path: Path, root: Path = STACKS_DIR) -> Answer:
    """Return the kit's answer to a stack file, as ``answer`` does."""
    return answer(lambda: read_stack_file(path), root)


def answer(read: Callable[[], dict[str, Any]], root: Path = STACKS_DIR) -> Answer:
    """Return the kit's answer to the config section that ``read`` returns.

    Where features without evidence are all that stops it, they are accepted as the problems say, and it is asked again.
    """

    def resolved(accepted: tuple[str, ...] = ()) -> StackSpec:
        config = read()
        if accepted:
            config["beamline:accept_unverified"] = [*(config.get("beamline:accept_unverified") or []), *accepted]
        return resolve("g4", pulumi_config(config), where="stacks/Pulumi.g4.yaml", applying=False, root=root)

    first = answer_of(resolved)
    if isinstance(first, StackSpec):
        return first
    errors = [p for p in first.problems if p.severity == "error"]
    if {p.rule for p in errors} != {"unverified-feature"}:
        return first
    return answer_of(lambda: resolved(tuple(name for p in errors for name in _ACCEPT.findall(p.remedy))))
