"""Whether the APIs that the stack's resources are made through are enabled."""

from __future__ import annotations

from beamline.preflight.checks.needs import needed_apis
from beamline.preflight.findings import Check, Finding
from beamline.preflight.target import Target
from beamline.preflight.world import World

__all__ = ["APIS", "judge_apis"]

_ASKED = "APIs of the project are enabled"


def _look(target: Target, world: World) -> frozenset[str]:
    pages = world.google.pages(
        "serviceusage", "services.list", parent=f"projects/{target.project}", filter="state:ENABLED", pageSize=200
    )
    return frozenset(service["name"].rpartition("/")[2] for page in pages for service in page.get("services", []))


def judge_apis(target: Target, enabled: frozenset[str]) -> list[Finding]:
    """Compare the enabled APIs with those that are needed."""
    needed = needed_apis(target)
    missing = sorted(needed - enabled)
    if not missing:
        return [Finding(_ASKED, f"all {len(needed)}: {', '.join(sorted(needed))}", path="project")]
    return [
        Finding.problem(
            "api-not-enabled",
            "project",
            _ASKED,
            found=f"not enabled: {', '.join(missing)}",
            needed=", ".join(sorted(needed)),
            remedy=f"gcloud services enable {' '.join(missing)} --project {target.project}",
        )
    ]


APIS: Check[frozenset[str]] = Check(
    id="apis",
    asks=_ASKED,
    source="Service Usage docs, enabled services; beamline/preflight/resources.yaml",
    rules=("api-not-enabled",),
    look=_look,
    judge=judge_apis,
)
