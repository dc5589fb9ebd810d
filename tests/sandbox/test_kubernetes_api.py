"""The sandbox's view of its API server, against an HTTPS server that is busy."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import cast

import pytest

from beamline.sandbox.charts.certificates import issue
from beamline.sandbox.home import Home, Record
from beamline.sandbox.kubernetes_api import KubernetesApi
from stacks.problems import EnvironmentProblem

BUSY = {"kind": "Status", "message": "storage is (re)initializing", "code": 429}
"""What a real API server says while it takes up or lays down a custom resource."""


class BusyServer(ThreadingHTTPServer):
    """Refuses as many requests as it is told, then answers."""

    daemon_threads = True
    refusals = 0
    asked = 0


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        server = cast("BusyServer", self.server)
        server.asked += 1
        busy = server.asked <= server.refusals
        body = json.dumps(BUSY if busy else {"items": [{"kind": "Found"}]}).encode()
        self.send_response(429 if busy else 200)
        self.send_header("Retry-After", "0")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def server(tmp_path: Path) -> Iterator[BusyServer]:
    home = Home("busy", tmp_path)
    home.ca_file.parent.mkdir(parents=True)
    running = BusyServer(("127.0.0.1", 0), Handler)
    running.socket = issue(["localhost"], home.ca_file).wrap_socket(running.socket, server_side=True)
    thread = threading.Thread(target=running.serve_forever)
    thread.start()
    yield running
    running.shutdown()
    thread.join()
    running.server_close()


@pytest.fixture
def api(server: BusyServer, tmp_path: Path) -> KubernetesApi:
    home = Home("busy", tmp_path)
    home.admin_token_file.write_text("token\n")
    return KubernetesApi(home, Record("busy", kubernetes={"endpoint": f"localhost:{server.server_port}"}))


def test_a_server_that_is_busy_for_a_moment_is_asked_again(server: BusyServer, api: KubernetesApi) -> None:
    server.refusals = 2
    assert (api.items("/apis/example.com/v1/things"), server.asked) == ([{"kind": "Found"}], 3)


def test_one_that_stays_busy_is_told_in_its_own_words(server: BusyServer, api: KubernetesApi) -> None:
    server.refusals = 100
    with pytest.raises(EnvironmentProblem, match=r"refused GET /apis/example.com/v1/things: .*\(re\)initializing"):
        api.items("/apis/example.com/v1/things")
    assert server.asked < server.refusals
