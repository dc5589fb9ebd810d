"""Serve one engine until it interrupts the host or goes away."""

from __future__ import annotations

import os
import signal
import sys
import threading
from concurrent import futures

import grpc
from pulumi.runtime.proto import language_pb2_grpc

from beamline.host.server import LanguageHost


def main() -> int:
    """Print the port the host listens on, as the engine expects, and serve; 2 for wrong usage."""
    addresses = [argument for argument in sys.argv[1:] if not argument.startswith("-")]
    if len(addresses) != 1:
        print("usage: pulumi-language-python ENGINE_ADDRESS (started by the pulumi command line)", file=sys.stderr)
        return 2
    stopped = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):  # the command line interrupts its plugins when it is done
        signal.signal(number, lambda *_: stopped.set())
    host = LanguageHost(engine_address=addresses[0])
    server = grpc.server(futures.ThreadPoolExecutor())
    language_pb2_grpc.add_LanguageRuntimeServicer_to_server(host, server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    print(port, flush=True)
    threading.Thread(target=_wait_for_end_of_input, args=(stopped,), daemon=True).start()
    stopped.wait()
    host.end_programs()
    server.stop(grace=None)
    return 0


def _wait_for_end_of_input(stopped: threading.Event) -> None:
    """The engine holds the other end of standard input and never writes: its end means that the engine is gone."""
    os.read(sys.stdin.fileno(), 1)
    stopped.set()


sys.exit(main())
