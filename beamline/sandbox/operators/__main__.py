"""Run the simulated controllers: ``python -m beamline.sandbox.operators``, for the sandbox in $BEAMLINE_SANDBOX.

kopf watches; it neither listens on a port nor touches the objects it watches. The controllers write only what GKE's own
would write.

kopf finds every kind that is served when it starts. Of a kind that is defined later it may ask discovery a moment too
early, and never again; so it is started anew whenever the set of served kinds has changed. Where a kind goes while kopf
begins to watch it, kopf may never end; then the process begins anew, as the same process.
"""

import asyncio
import contextlib
import logging
import os
import sys
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

import kopf
import yaml

from beamline.sandbox.cloud.api_server import ApiServer, Kind
from beamline.sandbox.cloud.errors import CloudError
from beamline.sandbox.cloud.simulation import Simulation, open_simulation
from beamline.sandbox.operators.controller import Controller
from beamline.sandbox.operators.dranet import Dranet
from beamline.sandbox.operators.load_balancers import CloudView
from beamline.sandbox.operators.third_parties import third_parties
from beamline.sandbox.operators.volumes import Volumes
from beamline.sandbox.operators.world import WATCHED, World
from beamline.sandbox.operators.writing import Writer
from stacks.problems import EnvironmentProblem

Pass = Callable[[], float | None]
"""One look at everything; returns in how many seconds the next is due by itself, None: at the next event."""

_KINDS_EVERY_S = 0.5
_ENDS_IN_S = 5.0
"""What kopf takes to end is a fraction of a second."""
_LOG = logging.getLogger(__name__)
_AFTER_FAILURE_S = 5.0
_TALKS_OF_COMING_AND_GOING = (
    "kopf._cogs.clients",
    "kopf._core.reactor.observation",
    "kopf._core.reactor.orchestration",
)
"""kopf warns of kinds that are not served; here they come with the simulated cluster and go with it."""
_SETTLE_S = 0.05
"""Events come in bursts; a pass waits until a burst is over."""


def register(
    registry: kopf.OperatorRegistry,
    world: World,
    passes: Sequence[Pass],
    kubeconfig: dict[str, Any],
    complete: Callable[[], bool] = lambda: True,
) -> None:
    """Register what kopf calls: how to log in, what to watch, and the loop that works.

    ``complete`` tells whether the world holds what was there at the start: until then nothing is judged by it.
    """
    wake = asyncio.Event()
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
        loop["task"] = asyncio.create_task(_work(passes, wake, complete))

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


async def _work(passes: Sequence[Pass], wake: asyncio.Event, complete: Callable[[], bool]) -> None:
    while not await asyncio.to_thread(complete):
        await asyncio.sleep(_SETTLE_S)
    due: float | None = 0
    while True:
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(wake.wait(), due)
        await asyncio.sleep(_SETTLE_S)
        wake.clear()
        found = [await asyncio.to_thread(_passed, one) for one in passes]
        due = min((seconds for seconds in found if seconds is not None), default=None)


def _passed(one: Pass) -> float | None:
    try:
        return one()
    except Exception:  # noqa: BLE001 - one object that cannot be judged must not end the controllers
        _LOG.exception("a pass failed")
        return _AFTER_FAILURE_S


def _served(api: ApiServer) -> frozenset[str]:
    """Kinds of interest that the API server serves now; asked anew each time, since kinds come and go."""
    return frozenset(
        kind for kind, (group, version, _) in WATCHED.items() if api.serves(f"{group}/{version}".strip("/"), kind)
    )


def _holds(world: World, api: ApiServer, kinds: frozenset[str]) -> bool:
    """Tell whether the world holds everything of these kinds; the events of the first listing come one by one."""
    try:
        for kind in kinds:
            group, version, plural = WATCHED[kind]
            for item in api.items(Kind(f"{group}/{version}".strip("/"), kind, plural, namespaced=True)):
                metadata = item["metadata"]
                if world.find(kind, metadata.get("namespace", ""), metadata["name"]) is None:
                    return False
    except CloudError:
        return False  # the server is going down or coming up
    return True


def watch_kinds(
    served: Callable[[], frozenset[str]], known: frozenset[str], changed: threading.Event, ended: threading.Event
) -> None:
    """Set ``changed`` once other kinds are served than ``known``, until the run of kopf has ``ended``."""
    while not ended.wait(_KINDS_EVERY_S):
        with contextlib.suppress(CloudError):  # the server is going down or coming up: ask again
            if served() != known:
                changed.set()
                break
    if not ended.wait(_ENDS_IN_S):
        _LOG.warning("kopf does not end: beginning anew")
        os.execv(sys.executable, sys.orig_argv)  # noqa: S606 - this very program


def served_in_time(served: Callable[[], frozenset[str]]) -> frozenset[str]:
    """Ask until the server answers: one that is busy with a destroy may not, and nobody would begin these anew."""
    while True:
        try:
            return served()
        except CloudError as error:
            _LOG.warning("the API server does not answer: %s", error)
            time.sleep(_KINDS_EVERY_S)


def _run_once(simulation: Simulation) -> bool:
    """Run until told to end (False) or until the set of served kinds has changed (True)."""
    known, changed = served_in_time(lambda: _served(simulation.api())), threading.Event()
    world, api = World(), simulation.api()
    passes: list[Pass] = [
        Controller(world, CloudView(simulation.ledger), api, simulation.time_scale).run_once,
        Dranet(world, api, simulation.folder).run_once,
        Volumes(world, Writer(world, api)).run_once,
        *third_parties(world, simulation.api()),
    ]
    registry = kopf.OperatorRegistry()
    kubeconfig = yaml.safe_load(simulation.cluster.kubeconfig.read_text())
    register(registry, world, passes, kubeconfig, lambda: _holds(world, api, known))
    ended = threading.Event()
    watching = (lambda: _served(simulation.api()), known, changed, ended)
    threading.Thread(target=watch_kinds, args=watching, daemon=True).start()
    kopf.run(registry=registry, clusterwide=True, standalone=True, liveness_endpoint=None, stop_flag=changed)
    ended.set()
    return changed.is_set()


def main() -> int:
    """Run until told to end. Returns the exit status."""
    try:
        simulation = open_simulation()
    except EnvironmentProblem as problem:
        sys.stderr.write(f"{problem}\n")
        return 3
    kopf.configure(quiet=True)
    for name in _TALKS_OF_COMING_AND_GOING:
        logging.getLogger(name).setLevel(logging.CRITICAL)
    while _run_once(simulation):
        pass
    return 0


if __name__ == "__main__":
    sys.exit(main())
