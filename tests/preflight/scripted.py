"""A server on the loopback interface that answers every request with what a test says, and remembers what was asked."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass
class Script:
    """What the server answers; a silent one answers nothing until the test is over."""

    status: int = 200
    body: str = "{}"
    silent: bool = False
    over: threading.Event = field(default_factory=threading.Event)
    asked: list[str] = field(default_factory=list)
    endpoint: str = ""


@contextmanager
def scripted(script: Script) -> Iterator[Script]:
    """Serve a script for as long as the test asks."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            script.asked.append(f"{self.command} {self.path}")
            if script.silent:
                script.over.wait()
                return
            content = script.body.encode()
            self.send_response(script.status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def do_POST(self) -> None:
            self.do_GET()

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class' name
            """Keep the tests' output clean."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    script.endpoint = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        yield script
    finally:
        script.over.set()
        server.shutdown()
        server.server_close()
        thread.join()
