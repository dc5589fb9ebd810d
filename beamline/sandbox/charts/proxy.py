"""The proxy: takes a CONNECT to a known registry, ends its TLS here, and answers in the registry's place.

Every other host is refused with a reason that Go's HTTP client shows: whoever applies a chart the sandbox has no
stand-in for reads so, instead of waiting for a network.
"""

import ssl
from collections.abc import Collection
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from typing_extensions import override

from beamline.sandbox.charts.answers import answer
from beamline.sandbox.ports import LOOPBACK

__all__ = ["Proxy"]

_HTTPS = "443"
_IDLE_S = 60


class Proxy(ThreadingHTTPServer):
    """Serves on loopback only; each connection has a thread."""

    daemon_threads = True

    def __init__(self, port: int, hosts: Collection[str], context: ssl.SSLContext) -> None:
        self.hosts = hosts
        self.context = context
        super().__init__((LOOPBACK, port), _Connect)


class _Quiet(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = _IDLE_S

    def _send(self, status: int, content_type: str, body: bytes, digest: str = "", *, reason: str = "") -> None:
        self.send_response(status, reason or None)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        if digest:
            self.send_header("Docker-Content-Digest", digest)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)


class _Connect(_Quiet):
    server: Proxy

    def do_GET(self) -> None:
        """Answer the sandbox's question whether the proxy works."""
        self._send(200, "text/plain", b"ok")

    def do_CONNECT(self) -> None:
        """Play the registry behind the address, or refuse."""
        host, _, port = self.path.partition(":")
        self.close_connection = True
        if host not in self.server.hosts or port != _HTTPS:
            text = f"the sandbox reaches no {self.path}: it has stand-in charts of {', '.join(self.server.hosts)} only"
            self._send(HTTPStatus.FORBIDDEN, "text/plain", text.encode(), reason=text)
            return
        self.send_response(200, "Connection established")
        self.end_headers()
        try:
            with self.server.context.wrap_socket(self.connection, server_side=True) as tunnel:
                _Registry(host, tunnel, self.client_address, self.server)
        except (ssl.SSLError, OSError) as error:
            self.log_error("TLS with a client of %s: %s", host, error)


class _Registry(_Quiet):
    """Reads HTTP inside the tunnel."""

    def __init__(self, host: str, *connection: Any) -> None:
        self._host = host
        super().__init__(*connection)

    @override
    def address_string(self) -> str:
        return self._host  # the log says which registry was asked

    def do_GET(self) -> None:
        """Answer from the stand-in charts."""
        found = answer(self._host, self.path)
        self._send(found.status, found.content_type, found.body, found.digest)

    do_HEAD = do_GET  # noqa: N815 - the name that http.server calls
