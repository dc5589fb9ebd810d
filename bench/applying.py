"""What Pulumi adds to applying Kubernetes objects, and to asking what would change."""

from __future__ import annotations

import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.applied import Applied
from bench.cluster_objects import (
    Identity,
    identity,
    is_definition,
    split_after_definitions,
    timed_objects,
    wait_commands,
)
from bench.event_log import follow, span_s
from bench.pairs import alternate, compare
from bench.planning import plan_s
from bench.rows import Goal, Question, Row
from manifests import KubernetesObject, render
from manifests.rendering import write
from stacks.problems import EnvironmentProblem

__all__ = ["APPLYING", "applying"]

PREVIEW = Question(
    name="warm preview / plan",
    first="`pulumi preview` of the stack that is up in the sandbox, nothing changed.",
    second="`beamline plan STACK` in a fresh process.",
    goal=Goal(4, at_least=True, threshold=False),
    notes="Preview: the engine, a language host that runs the same program, the real Kubernetes provider and a "
    "SIMULATED Google provider, which starts faster than the real one and calls nobody. Plan: the same program in one "
    "process, and the plan's text. Both import the same SDKs, which bounds the ratio from above.",
)
OBJECTS = Question(
    name="up / kubectl, Kubernetes part",
    first="`pulumi up` with the cloud in place and no Kubernetes object: from when the first object is begun until the "
    "last is ready, by the engine's event log.",
    second="`kubectl apply --server-side` of the same objects as `beamline render` writes them, in that order, then "
    "`kubectl rollout status` and `kubectl wait` side by side for what the stack waits for.",
    goal=Goal(1.5),
    notes="Both sides start without these objects, in the same sandbox, and end when workloads are rolled out, claims "
    "bound, and the stack's own conditions hold. The first side has no start of the program "
    "and no cloud in it; the second side has the start of kubectl in it. kubectl applies without looking back, but for "
    "custom resource definitions, which it waits for before it applies what comes after them; the stack finishes "
    "weights, serving, gateway and monitoring one after the other. "
    "Releases of Helm charts and what they depend on stay in place on both sides. Nodes are SIMULATED and pods start "
    "within a second or so; with real ones, which load weights for minutes, the ratio is nearer to 1.",
)
APPLYING = (PREVIEW, OBJECTS)
"""The questions answered here, in the order of the table."""


def applying(stack: Applied, asked: str, pairs: int) -> Iterator[Row]:
    """Answer ``APPLYING``, one row at a time; leaves the stack without its Kubernetes objects.

    ``asked`` is what ``plan`` knows the stack by: a name or a path.
    """
    preview = stack.pulumi("preview")
    measured = alternate(lambda: stack.seconds(preview), lambda: plan_s(asked), pairs, warm_up=True)
    yield Row(PREVIEW, compare(measured))
    timed = timed_objects(stack.state())
    with tempfile.TemporaryDirectory(prefix="beamline-bench-") as folder:
        engine = _Engine(stack, timed, Path(folder) / "events.jsonl")
        kubectl = _Kubectl(stack, _stages(stack, timed, Path(folder)))
        engine.take_away()
        # Not warmed up: the stack's own apply was.
        yield Row(OBJECTS, compare(alternate(engine.apply, kubectl.apply, pairs, warm_up=False)))


@dataclass(frozen=True)
class _Engine:
    """The side of ``pulumi up``."""

    stack: Applied
    timed: Mapping[str, Identity]
    log: Path

    def apply(self) -> float:
        """Create the objects, take them away again, and return how long they took to create; seconds."""
        self.log.unlink(missing_ok=True)
        process = subprocess.Popen(
            self.stack.pulumi("up", "--yes", "--skip-preview", "--event-log", str(self.log)),
            cwd=self.stack.folder,
            env=dict(self.stack.environment),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            events = list(follow(process, self.log))
        finally:
            process.wait()
        if process.returncode != 0:
            raise EnvironmentProblem(f"pulumi up failed: {_errors(events)}")
        took = span_s(events, self.timed)
        self.stack.require_ready("pulumi up")
        self.take_away()
        return took

    def take_away(self) -> None:
        """Delete the objects through the engine, and the components around them."""
        targets = [word for urn in self.timed for word in ("--target", urn)]
        self.stack.run(self.stack.pulumi("destroy", "--yes", "--skip-preview", "--target-dependents", *targets))


@dataclass(frozen=True)
class _Kubectl:
    """The side of ``kubectl apply``."""

    stack: Applied
    stages: dict[Path, Sequence[KubernetesObject]]
    """Folders to apply one after the other, and what is in them."""

    def apply(self) -> float:
        """Create the objects, take them away again, and return how long they took to create; seconds."""
        started = time.perf_counter()
        for folder, objects in self.stages.items():
            self.stack.run(["kubectl", "apply", "--server-side", "--filename", str(folder)])
            self._wait(wait_commands(item for item in objects if is_definition(item)))
        self._wait(wait_commands(item for part in self.stages.values() for item in part if not is_definition(item)))
        took = time.perf_counter() - started
        self.stack.require_ready("kubectl apply")
        for folder in reversed(self.stages):
            self.stack.run(["kubectl", "delete", "--ignore-not-found", "--wait", "--filename", str(folder)])
        return took

    def _wait(self, commands: Sequence[Sequence[str]]) -> None:
        running = [
            subprocess.Popen(
                command,
                cwd=self.stack.folder,
                env=dict(self.stack.environment),
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
            )
            for command in commands
        ]
        said = [process.communicate()[0] for process in running]
        for process, text in zip(running, said, strict=True):
            if process.returncode != 0:
                raise EnvironmentProblem(f"{process.args!r} failed: {text.strip()}")


def _stages(stack: Applied, timed: Mapping[str, Identity], folder: Path) -> dict[Path, Sequence[KubernetesObject]]:
    """Write the files of the timed objects; raises EnvironmentProblem for one that is applied and not rendered."""
    meant = set(timed.values())
    objects = [item for item in render(stack.spec()) if identity(item.body) in meant]
    absent = meant - {identity(item.body) for item in objects}
    if absent:
        raise EnvironmentProblem(f"pulumi up makes objects that are not rendered: {sorted(absent)}")
    stages: dict[Path, Sequence[KubernetesObject]] = {
        folder / str(number): part for number, part in enumerate(split_after_definitions(objects))
    }
    for place, part in stages.items():
        place.mkdir()
        for name, text in write(part).items():
            (place / name).write_text(text, encoding="utf-8")
    return stages


def _errors(events: Sequence[tuple[float, Mapping[str, Mapping[str, str]]]]) -> str:
    found = [event["diagnosticEvent"] for _, event in events if "diagnosticEvent" in event]
    return " ".join(each["message"].strip() for each in found if each.get("severity") == "error")
