"""Run the simulated GKE controllers: ``python -m beamline.sandbox.operators``, for the sandbox in $BEAMLINE_SANDBOX.

kopf watches; it neither listens on a port nor touches the objects it watches. The controllers write only what GKE's own
would write.
"""

import asyncio
import contextlib
import sys
from typing import Any

import kopf
import yaml

from beamline.sandbox.cloud.simulation import open_simulation
from beamline.sandbox.operators.controller import Controller
from beamline.sandbox.operators.load_balancers import CloudView
from beamline.sandbox.operators.world import WATCHED, World
from stacks.problems import EnvironmentProblem

_SETTLE_S = 0.05
"""Events come in bursts; a pass waits until a burst is over."""


def register(registry: kopf.OperatorRegistry, controller: Controller, kubeconfig: dict[str, Any]) -> None:
    """Register what kopf calls: how to log in, what to watch, and the loop that works."""
    world, wake = controller.world, asyncio.Event()
    loop: dict[str, asyncio.Task[None]] = {}

    def login(**_: object) -> kopf.ConnectionInfo:
        cluster, user = kubeconfig["clusters"][0]["cluster"], kubeconfig["users"][0]["user"]
        return kopf.ConnectionInfo(
            server=cluster["server"], ca_path=cluster["certificate-authority"], token=user["token"], scheme="Bearer"
        )

    async def start(settings: kopf.OperatorSettings, **_: object) -> None:
        settings.posting.enabled = False
        settings.watching.server_timeout = 300
        settings.networking.error_backoffs = [0.2, 0.5, 1, 2, 2, 2]
        loop["task"] = asyncio.create_task(_work(controller, wake))

    async def stop(**_: object) -> None:
        loop["task"].cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await loop["task"]

    async def seen(event: dict[str, Any], **_: object) -> None:
        if event["type"] == "DELETED":
            world.drop(event["object"])
        else:
            world.put(event["object"])
        wake.set()

    kopf.on.login(registry=registry)(login)
    kopf.on.startup(registry=registry)(start)
    kopf.on.cleanup(registry=registry)(stop)
    for group, version, plural in WATCHED.values():
        kopf.on.event(group, version, plural, registry=registry, id=f"seen-{plural}")(seen)


async def _work(controller: Controller, wake: asyncio.Event) -> None:
    due: float | None = None
    while True:
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(wake.wait(), due)
        await asyncio.sleep(_SETTLE_S)
        wake.clear()
        due = await asyncio.to_thread(controller.run_once)


def main() -> int:
    """Run until told to end. Returns the exit status."""
    try:
        simulation = open_simulation()
    except EnvironmentProblem as problem:
        sys.stderr.write(f"{problem}\n")
        return 3
    controller = Controller(World(), CloudView(simulation.ledger), simulation.api(), simulation.time_scale)
    registry = kopf.OperatorRegistry()
    register(registry, controller, yaml.safe_load(simulation.cluster.kubeconfig.read_text()))
    kopf.configure(verbose=False)
    kopf.run(registry=registry, clusterwide=True, standalone=True, liveness_endpoint=None)
    return 0


if __name__ == "__main__":
    sys.exit(main())
