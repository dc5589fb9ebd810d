"""Whether the engine's state, the simulated cloud's ledger and the API server agree: nothing orphaned or doubled."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from beamline.recovery.identities import RELEASE
from beamline.sandbox.cloud.ledger import Ledger, State
from beamline.sandbox.kubernetes_api import KubernetesApi

__all__ = ["Agreement", "Thing", "agreement", "in_ledger", "in_server", "in_state"]

Thing = tuple[str, str]
"""Type and id; of Kubernetes kind and ``namespace/name``."""

_MANAGER = "pulumi-kubernetes"
_RELEASE = "Release"
_RECORD = "helm.sh/release.v1"
"""Type of the Secrets in which Helm keeps its records."""
_OF_THE_SIMULATION = "simulated:"


@dataclass(frozen=True)
class Agreement:
    """What one side has and the other has not."""

    orphans: tuple[Thing, ...]
    """Exist, and the state does not know them."""
    missing: tuple[Thing, ...]
    """The state has them, and they do not exist."""
    doubles: tuple[Thing, ...]
    """The state has them twice."""

    @property
    def one_sided(self) -> tuple[str, ...]:
        """What is on one side only, by name."""
        there = (f"{kind} {name}" for kind, name in self.orphans)
        return (*there, *(f"{kind} {name} (only in the state)" for kind, name in self.missing))

    @property
    def twice(self) -> tuple[str, ...]:
        """What is double, by name."""
        return tuple(f"{kind} {name}" for kind, name in self.doubles)

    @property
    def is_whole(self) -> bool:
        """All sides have the same."""
        return not (self.orphans or self.missing or self.doubles)


def agreement(known: Iterable[Thing], there: Iterable[Thing]) -> Agreement:
    """Compare what the state knows with what is there."""
    counted, real = Counter(known), set(there)
    return Agreement(
        orphans=tuple(sorted(real - set(counted))),
        missing=tuple(sorted(set(counted) - real)),
        doubles=tuple(sorted(thing for thing, count in counted.items() if count > 1)),
    )


def in_state(state: Mapping[str, Any]) -> list[Thing]:
    """Return everything in cloud and cluster that an exported state knows."""
    found: list[Thing] = []
    for each in state.get("resources") or []:
        kind = str(each["type"])
        if kind.startswith("gcp:"):
            found.append((kind, each["id"]))
        elif kind == RELEASE:
            found.append((_RELEASE, each["id"]))
        elif kind.startswith("kubernetes:"):
            found.append((each["inputs"]["kind"], each["id"]))
    return found


def in_ledger(ledger: Ledger) -> list[Thing]:
    """Return what the simulated project holds that a client asked for; what did not become ready counts as absent."""
    rows = [row for row in ledger.everything() if not row.type.startswith(_OF_THE_SIMULATION)]
    return [(row.type, row.id) for row in rows if row.state is State.RUNNING]


def in_server(api: KubernetesApi) -> list[Thing]:
    """Return the objects that Pulumi applied, and the releases that Helm, which is a part of its provider, recorded.

    What a chart installs is Helm's: it comes and goes with the release.
    """
    found: list[Thing] = []
    for resource in api.resources():
        for item in api.items(resource.path):
            metadata = item["metadata"]
            managers = [entry["manager"] for entry in metadata.get("managedFields", [])]
            if item.get("type") == _RECORD:  # one for each revision
                found.append((_RELEASE, f"{metadata['namespace']}/{metadata['labels']['name']}"))
            elif any(manager.startswith(_MANAGER) for manager in managers):
                name = "/".join(filter(None, [metadata.get("namespace"), metadata["name"]]))
                found.append((resource.kind, name))
    return sorted(set(found))
