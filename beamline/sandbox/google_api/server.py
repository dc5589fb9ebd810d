"""The server: loopback only, a random port, for as long as somebody asks."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

from beamline.sandbox.cloud.errors import CloudError
from beamline.sandbox.cloud.simulation import Simulation
from beamline.sandbox.google_api import compute, container, project, reservations, storage
from beamline.sandbox.google_api.routes import Call, RefusalError, Route
from beamline.sandbox.google_api.stand_ins import stand_in
from beamline.sandbox.ports import LOOPBACK

__all__ = ["ROUTES", "serving"]

ROUTES = (*project.ROUTES, *compute.ROUTES, *reservations.ROUTES, *container.ROUTES, *storage.ROUTES)


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, simulation: Simulation, assumed: Mapping[str, str]) -> None:
        super().__init__((LOOPBACK, 0), _Handler)
        self.simulation = simulation
        self.assumed = assumed


class _Handler(BaseHTTPRequestHandler):
    server: _Server

    def do_GET(self) -> None:
        self._serve({})

    def do_POST(self) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        self._serve(json.loads(self.rfile.read(length) or b"{}"))

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class' name
        """Say nothing: the terminal belongs to whoever asks."""

    def _serve(self, body: Mapping[str, Any]) -> None:
        url = urlsplit(self.path)
        found = stand_in(self.command, url.path)
        status, content = found or self._answer(url.path, parse_qs(url.query), body)
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.send_header("Server", "SIMULATED Google API")
        self.end_headers()
        self.wfile.write(content)

    def _answer(self, path: str, query: Mapping[str, list[str]], body: Mapping[str, Any]) -> tuple[HTTPStatus, bytes]:
        server = self.server
        try:
            route, parts = _found(self.command, path)
            call = Call(server.simulation, server.assumed, parts, query, body)
            return HTTPStatus.OK, json.dumps(route.answered(call)).encode()
        except RefusalError as refusal:
            return refusal.status, json.dumps(refusal.body).encode()
        except CloudError as error:
            wrong = RefusalError(HTTPStatus.INTERNAL_SERVER_ERROR, f"the simulated project says nothing clear: {error}")
            return wrong.status, json.dumps(wrong.body).encode()


def _found(method: str, path: str) -> tuple[Route, dict[str, str]]:
    for route in ROUTES:
        parts = route.match(method, path)
        if parts is not None:
            return route, parts
    raise RefusalError(HTTPStatus.NOT_IMPLEMENTED, f"the simulated Google API has no {method} {path}")


@contextmanager
def serving(simulation: Simulation, *, assumed: Mapping[str, str]) -> Iterator[str]:
    """Serve the simulated project, and give the address.

    ``assumed`` says by name what reservations hold that the inventory only assumes.
    """
    server = _Server(simulation, assumed)
    thread = threading.Thread(target=server.serve_forever, name="SIMULATED Google API", daemon=True)
    thread.start()
    try:
        yield f"http://{LOOPBACK}:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
