"""What every resource of the simulated cloud works with: the ledger, the clock, the cluster's API server."""

import json
import os
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from beamline.sandbox.cloud.api_server import ApiServer
from beamline.sandbox.cloud.ledger import Ledger
from beamline.sandbox.cloud.machines import add_machines
from stacks.cloud import SANDBOX_PROJECT
from stacks.problems import EnvironmentProblem

__all__ = ["Cluster", "Simulation", "open_simulation"]


@dataclass(frozen=True)
class Cluster:
    """Where the sandbox's Kubernetes is, as ``sandbox.json`` says."""

    endpoint: str
    ca_file: Path
    kubeconfig: Path


@dataclass
class Simulation:
    """The simulated cloud of one sandbox."""

    ledger: Ledger
    folder: Path
    """``cloud`` in the sandbox's folder: what the simulation keeps besides the ledger."""
    time_scale: float
    cluster: Cluster
    connect: Callable[[Path], ApiServer] = ApiServer.from_kubeconfig
    project: str = SANDBOX_PROJECT
    region: str = ""
    zone: str = ""
    interrupted: threading.Event = field(default_factory=threading.Event)
    """Set when the engine cancels or ends the process: waiting stops, the work goes on at the next look."""

    def wait(self, seconds: float) -> None:
        """Let simulated time pass; returns early when interrupted."""
        self.interrupted.wait(seconds / self.time_scale)

    def api(self) -> ApiServer:
        """Return the API server of the sandbox, which plays the control plane of the simulated cluster."""
        return self.connect(self.cluster.kubeconfig)


def open_simulation() -> Simulation:
    """Open the simulated cloud of the sandbox that ``$BEAMLINE_SANDBOX`` names.

    Raises EnvironmentProblem when the variable or the sandbox is missing.
    """
    folder = Path(os.environ.get("BEAMLINE_SANDBOX", ""))
    try:
        raw: dict[str, Any] = json.loads((folder / "sandbox.json").read_text())
    except (OSError, ValueError) as error:
        raise EnvironmentProblem(
            f"BEAMLINE_SANDBOX={os.environ.get('BEAMLINE_SANDBOX', '')!r} names no sandbox ({error}); "
            "this program plays Google Cloud for `beamline sandbox` and is started by it"
        ) from error
    try:
        add_machines(folder / "cloud")
    except ValueError as error:
        raise EnvironmentProblem(f"{error}; correct it or delete it") from error
    kubernetes = raw["kubernetes"]
    return Simulation(
        ledger=Ledger(folder / "cloud" / "ledger.db"),
        folder=folder / "cloud",
        time_scale=float(raw["time_scale"]),
        cluster=Cluster(kubernetes["endpoint"], Path(kubernetes["ca_file"]), Path(kubernetes["kubeconfig"])),
    )
