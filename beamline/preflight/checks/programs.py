"""Whether this machine has what an apply needs: Pulumi in a version the program takes, and GKE's login plugin."""

from __future__ import annotations

import re
from dataclasses import dataclass

from beamline.preflight.findings import Check, Finding
from beamline.preflight.google import UnansweredError
from beamline.preflight.target import Target
from beamline.preflight.world import World
from stacks.settings import STACKS_DIR
from stacks.versions import older
from stacks.yaml_files import read_yaml

__all__ = ["PROGRAMS", "Programs", "judge_programs"]

_PLUGIN = "gke-gcloud-auth-plugin"
_VERSION = re.compile(r"v?(\d+\.\d+\.\d+)")
_AT_LEAST = re.compile(r">=\s*(\d+\.\d+\.\d+)")


@dataclass(frozen=True)
class Programs:
    """What ``pulumi version`` and the plugin's ``--version`` say, and what Pulumi.yaml requires.

    None: not on PATH; an error: it is there and does not answer.
    """

    pulumi: str | UnansweredError | None
    plugin: str | UnansweredError | None
    required: str


def _look(_: Target, world: World) -> Programs:
    required = read_yaml(STACKS_DIR.parent / "Pulumi.yaml").get("requiredPulumiVersion", "")
    return Programs(_said(world, "pulumi", "version"), _said(world, _PLUGIN, "--version"), str(required))


def _said(world: World, *command: str) -> str | UnansweredError | None:
    try:
        return world.program(command)
    except UnansweredError as error:
        return error


def judge_programs(_: Target, programs: Programs) -> list[Finding]:
    """Tell whether both programs are there, and Pulumi new enough."""
    return [_pulumi(programs), _plugin(programs)]


def _pulumi(programs: Programs) -> Finding:
    asked = f"pulumi {programs.required} is on PATH"
    if isinstance(programs.pulumi, UnansweredError):
        return Finding.unknown(asked, str(programs.pulumi), "see to it that `pulumi version` answers, and ask again")
    least, version = _AT_LEAST.search(programs.required), _VERSION.search(programs.pulumi or "")
    if programs.pulumi is not None and version is None:
        return Finding.unknown(asked, f"it calls its version {programs.pulumi.strip()[:80]!r}")
    if version is None:
        return Finding.problem(
            "pulumi-missing",
            "",
            asked,
            found="it is not",
            needed=f"pulumi {programs.required}",
            remedy="install it: https://www.pulumi.com/docs/install/",
        )
    if least and older(version[1], least[1]):
        return Finding.problem(
            "pulumi-too-old",
            "",
            asked,
            found=f"it is {version[1]}",
            needed=f"{programs.required} (requiredPulumiVersion in Pulumi.yaml)",
            remedy="install a newer one: https://www.pulumi.com/docs/install/",
        )
    return Finding(asked, version[1], programs.required)


def _plugin(programs: Programs) -> Finding:
    asked = f"{_PLUGIN} is on PATH"
    if programs.plugin is None:
        return Finding.problem(
            "auth-plugin-missing",
            "",
            asked,
            found="it is not, so nothing could be applied in the cluster",
            needed=_PLUGIN,
            remedy=f"gcloud components install {_PLUGIN}, or your system's package of that name",
        )
    again = f"see to it that `{_PLUGIN} --version` answers, and ask again"
    if isinstance(programs.plugin, UnansweredError):
        return Finding.unknown(asked, str(programs.plugin), again)
    version = _VERSION.search(programs.plugin)
    if version is None:
        return Finding.unknown(asked, f"it calls its version {programs.plugin.strip()[:80]!r}", again)
    return Finding(asked, f"{version[1]}; no version is known to be too old")


PROGRAMS: Check[Programs] = Check(
    id="programs",
    asks="this machine has what an apply needs",
    source="Pulumi.yaml; GKE docs, kubectl authentication plugin",
    rules=("pulumi-missing", "pulumi-too-old", "auth-plugin-missing"),
    look=_look,
    judge=judge_programs,
)
