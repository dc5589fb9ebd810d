"""Metrics and liveness over HTTP."""

from __future__ import annotations

import http.server
import socket
from typing import Any

from kv_evictor.evictor import Evictor

__all__ = ["Server"]


class Server(http.server.ThreadingHTTPServer):
    """One evictor's; raises OSError where the address cannot be listened on."""

    daemon_threads = True

    def __init__(self, address: str, port: int, evictor: Evictor, stall_s: float) -> None:
        self.address_family = socket.AF_INET6 if ":" in address else socket.AF_INET
        self.evictor, self.stall_s = evictor, stall_s
        super().__init__((address, port), _Handler)


class _Handler(http.server.BaseHTTPRequestHandler):
    server: Server
    timeout = 5

    def do_GET(self) -> None:
        """Answer ``/metrics`` and ``/healthz``."""
        if self.path == "/metrics":
            self._answer(200, self.server.evictor.status())
        elif self.path == "/healthz":
            alive = self.server.evictor.stalled_s() < self.server.stall_s
            self._answer(200 if alive else 503, "ok\n" if alive else "the loop does not move\n")
        else:
            self._answer(404, "not found\n")

    def _answer(self, code: int, text: str) -> None:
        body = text.encode()
        self.send_response(code)
        self.send_header("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class's name
        """Say nothing: probes and scrapes come every few seconds."""
