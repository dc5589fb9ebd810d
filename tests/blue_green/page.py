"""The recording as a page of the documentation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tests.blue_green.sequence import REPLICAS, Recording

__all__ = ["page"]

_INTRODUCTION = """\
# One accelerator pool takes over from another

Written by `{command}` from what it recorded; [operations.md](operations.md) has the steps for a stack of your own.

**SIMULATED**: Google Cloud, nodes and the processes in pods; a pod starts within a second or so. Real: Pulumi's engine
and providers for Kubernetes, the API server, scheduler and controllers that replace the pods. What this shows is the
order in which pods come and go, not how long an engine takes to start. Every line is a change that the API server's
watch of the engine pods told; nothing is looked at from time to time.

The stack is `small-l4` with {replicas} replicas on {replicas} nodes. `green` has its local SSD as raw block, which in
`main` itself would replace the pool. Recorded on {date} with {versions}.
"""


def page(recordings: Sequence[Recording], command: str, made_with: Mapping[str, str]) -> str:
    """Return docs/blue-green.md."""
    parts = [_INTRODUCTION.format(command=command, replicas=REPLICAS, **made_with)]
    for number, recording in enumerate(recordings, 1):
        parts += [f"## Step {number}: {recording.step.says}", "", *_facts(recording), "", *_table(recording), ""]
    return "\n".join(parts)


def _facts(recording: Recording) -> list[str]:
    least = min(moment.together for moment in recording.moments)
    changes = ", ".join(f"{count} {what}" for what, count in sorted(recording.changes.items()) if what != "same")
    nodes = ", ".join(f"{count} in `{pool}`" for pool, count in recording.nodes.items())
    lines = [f"- Never fewer than {least} of {REPLICAS} replicas ready."]
    if recording.refused:
        lines.append(
            f"- Without `beamline:allow_replace` refused: {', '.join(f'`{said}`' for said in recording.refused)}."
        )
    lines.append(f"- `up`: {changes or 'nothing'}. A second `up`: {'no change' if recording.unchanged else 'changes'}.")
    return [*lines, f"- Accelerator nodes afterwards: {nodes}."]


def _table(recording: Recording) -> list[str]:
    rows = [
        f"| {moment.at_s:.1f} | {moment.ready.get('main', 0)} | {moment.ready.get('green', 0)} | **{moment.together}** "
        f"| {moment.starting} | {moment.ending} |"
        for moment in recording.moments
    ]
    head = "| s | ready on `main` | ready on `green` | ready | starting | ending |"
    return [head, "|---|---|---|---|---|---|", *rows]
