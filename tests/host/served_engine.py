"""The in-memory engine behind real gRPC, so that a program in another process can be run against it."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent import futures
from contextlib import contextmanager
from typing import Any

import grpc
from pulumi.runtime.proto import engine_pb2_grpc, resource_pb2_grpc

from beamline.engine import Graph
from beamline.engine.monitor import InMemoryEngine, InMemoryMonitor


class ServedEngine:
    """A monitor and an engine at one address."""

    def __init__(self, address: str, monitor: InMemoryMonitor, engine: InMemoryEngine) -> None:
        self.address = address
        self._monitor = monitor
        self._engine = engine

    def graph(self) -> Graph:
        return self._monitor.graph(tuple(self._engine.logs))

    def messages(self) -> list[str]:
        return [log.message for log in self._engine.logs]


@contextmanager
def served_engine() -> Iterator[ServedEngine]:
    monitor, engine = InMemoryMonitor("beamline", "dev"), InMemoryEngine()
    server = grpc.server(futures.ThreadPoolExecutor(1))  # one at a time: the monitor has no locks
    resource_pb2_grpc.add_ResourceMonitorServicer_to_server(
        _served(resource_pb2_grpc.ResourceMonitorServicer, monitor), server
    )
    engine_pb2_grpc.add_EngineServicer_to_server(_served(engine_pb2_grpc.EngineServicer, engine), server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    try:
        yield ServedEngine(f"127.0.0.1:{port}", monitor, engine)
    finally:
        server.stop(grace=None).wait()


def _served(servicer: type, target: object) -> Any:
    """Make a servicer of ``target``'s methods, which take no context."""

    def method(name: str) -> Any:
        return lambda _self, request, _context: getattr(target, name)(request)

    return type("Served", (servicer,), {name: method(name) for name in vars(type(target)) if name[0].isupper()})()
