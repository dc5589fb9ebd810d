"""Serve the simulated Google Cloud to one Pulumi command: ``python -m beamline.sandbox.cloud ENGINE_ADDRESS``.

Pulumi starts this as ``pulumi-resource-gcp``, reads the port from the first line, and ends it by SIGINT or SIGTERM. The
server listens on loopback only and ends quietly.
"""

import logging
import signal
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import grpc
from pulumi.runtime._grpc_settings import _GRPC_CHANNEL_OPTIONS
from pulumi.runtime.proto import provider_pb2_grpc

from beamline.sandbox.cloud.operations import Operations
from beamline.sandbox.cloud.provider import SimulatedGoogleCloud
from beamline.sandbox.cloud.simulation import open_simulation
from stacks.problems import EnvironmentProblem

_WORKERS = 64
"""Pulumi works on many resources at once, and each waits in a thread of its own."""
_ENDING_S = 2.0


def _log_to(path: Path) -> None:
    """Keep what goes wrong inside in a file: Pulumi shows users whatever a plugin prints."""
    path.parent.mkdir(parents=True, exist_ok=True)
    logging.basicConfig(filename=path, level=logging.WARNING, format="%(asctime)s %(name)s %(message)s")


def main() -> int:
    """Serve until told to end. Returns the exit status."""
    try:
        simulation = open_simulation()
    except EnvironmentProblem as problem:
        sys.stderr.write(f"{problem}\n")
        return 3
    _log_to(simulation.folder.parent / "logs" / "cloud.log")
    server = grpc.server(ThreadPoolExecutor(_WORKERS), options=_GRPC_CHANNEL_OPTIONS)
    provider_pb2_grpc.add_ResourceProviderServicer_to_server(SimulatedGoogleCloud(Operations(simulation)), server)
    port = server.add_insecure_port("127.0.0.1:0")

    def end(*_: object) -> None:
        simulation.interrupted.set()
        server.stop(_ENDING_S)

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, end)
    server.start()
    sys.stdout.write(f"{port}\n")
    sys.stdout.flush()
    server.wait_for_termination()
    return 0


if __name__ == "__main__":
    sys.exit(main())
