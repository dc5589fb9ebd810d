"""docs/preflight.md: every question of a preflight, from the checks themselves."""

from __future__ import annotations

from collections.abc import Iterator

from beamline.preflight import CHECKS
from beamline.preflight.rows import resource_rows
from beamline.sandbox.home import CHECKOUT

__all__ = ["PREFLIGHT", "preflight_page"]

PREFLIGHT = CHECKOUT / "docs" / "preflight.md"

_HEAD = """\
# Preflight

Generated from the checks in `beamline/preflight/checks` by `make golden`.

`beamline preflight STACK` asks the live project what `plan` cannot know, before anything is created and paid for. It
only reads, with the application default credentials that Pulumi uses, too (`gcloud auth application-default login`),
and counts its reads against the stack's own project. A stack that does not plan, or that still names a placeholder, is
refused first, and nobody is asked.

Every question ends in one of three ways: **ok**, **problem**, or **could not look** (a right is missing, an API is off,
nobody answered in time). What could not be looked at is never counted as fine. All questions are asked at once; none
takes longer than its deadline, so the whole takes no longer than the longest of them. Where Google does not know the
project or the region itself, a question ends with the problem `project-or-region-missing`.

| Exit code | When |
|---|---|
| 0 | everything asked is ok |
| 1 | at least one problem, or the stack does not plan |
| 3 | no problem, but something could not be looked at; or there are no credentials |

`--json` writes one document: `findings` holds every answer (what was asked, found, needed, the remedy, the source),
`problems` the problems in the shape of every other verb. `simulated` says whom it asked.

`beamline sandbox preflight STACK` asks the same of the SIMULATED project of the stack's sandbox (of one with nothing in
it while there is no sandbox), without credentials; [simulation.md](simulation.md) says how to put something wrong in.
Registries and the model hub have stand-ins that have everything, and this machine is not asked about. An answer from
the simulation is no answer about Google: only this verb has the simulated endpoint's address.

## What is asked
"""

_PERMISSIONS = """\

## What the stack's resources take

From `beamline/preflight/resources.yaml`. Permissions are tested, not roles: who may make a stack is decided by what its
resources take. A type of Google's that has no row is "could not look".

| Resource | APIs | Permissions | Tested on |
|---|---|---|---|
"""


def preflight_page() -> str:
    """Return the page as it must be now."""
    lines = [
        "",
        "| Check | Asks whether | Problems | Deadline | Source |",
        "|---|---|---|---|---|",
        *(
            f"| `{check.id}` | {check.asks} | {', '.join(f'`{rule}`' for rule in check.rules)} "
            f"| {check.deadline_s:g} s | {check.source} |"
            for check in CHECKS
        ),
    ]
    return _HEAD + "\n".join(lines) + "\n" + _PERMISSIONS + "\n".join(_rows()) + "\n"


def _rows() -> Iterator[str]:
    table = resource_rows()
    for kind, needs in {"any stack": table.always, **table.types}.items():
        permissions = ", ".join(f"`{name}`" for name in needs.permissions)
        yield f"| `{kind}` | {', '.join(needs.apis) or 'the cluster'} | {permissions} | {needs.on} |"
