"""A small registry on the loopback interface: real HTTP, real token flow, and faults on demand."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

from beamline.registry.client import MANIFEST_TYPES

INDEX_TYPE, _, IMAGE_TYPE, _ = MANIFEST_TYPES


def digest_of(body: bytes) -> str:
    """Return the digest of some bytes."""
    return "sha256:" + hashlib.sha256(body).hexdigest()


class FakeRegistry:
    """What the server holds, and how it misbehaves; ``requests`` remembers every request as ``VERB path``."""

    def __init__(self) -> None:
        self.blobs: dict[str, bytes] = {}
        self.types: dict[str, str] = {}
        self.tags: dict[str, str] = {}
        self.claimed: dict[str, str | None] = {}
        """Repository:tag -> digest the registry claims instead of the true one; None: it claims nothing."""
        self.busy: list[str] = []
        """Retry-After of the next answers, each a 429."""
        self.broken: set[str] = set()
        """Repositories for which the server fails with a 500."""
        self.silent: set[str] = set()
        """Repositories for which no answer comes before the registry is closed."""
        self.anonymous_tokens = True
        self.closing = threading.Event()
        self.requests: list[str] = []
        self.host = ""

    def add_index(self, name: str, *architectures: str) -> str:
        """Publish a multi-architecture image under ``repository:tag`` and return its digest."""
        entries = [
            {"digest": digest_of(a.encode()), "platform": {"os": "linux", "architecture": a}} for a in architectures
        ]
        attestation = {"digest": digest_of(b"x"), "platform": {"os": "unknown", "architecture": "unknown"}}
        return self._publish(name, {"mediaType": INDEX_TYPE, "manifests": [*entries, attestation]}, INDEX_TYPE)

    def add_image(self, name: str, architecture: str) -> str:
        """Publish an image for one architecture and return its digest."""
        config = json.dumps({"os": "linux", "architecture": architecture}).encode()
        self.blobs[digest_of(config)] = config
        return self._publish(name, {"mediaType": IMAGE_TYPE, "config": {"digest": digest_of(config)}}, IMAGE_TYPE)

    def add_bytes(self, name: str, body: bytes) -> str:
        """Publish any bytes under ``repository:tag``."""
        digest = digest_of(body)
        self.blobs[digest], self.types[digest], self.tags[name] = body, IMAGE_TYPE, digest
        return digest

    def _publish(self, name: str, manifest: dict[str, Any], media_type: str) -> str:
        digest = self.add_bytes(name, json.dumps({"schemaVersion": 2, **manifest}).encode())
        self.types[digest] = media_type
        return digest


class _Handler(BaseHTTPRequestHandler):
    registry: FakeRegistry

    def do_HEAD(self) -> None:
        self._serve(with_body=False)

    def do_GET(self) -> None:
        self._serve(with_body=True)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class' name
        """Keep the tests' output clean."""

    def _serve(self, *, with_body: bool) -> None:
        self.registry.requests.append(f"{self.command} {self.path}")
        status, headers, body = self._answer()
        self.send_response(status)
        for key, value in headers.items():
            self.send_header(key, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if with_body:
            self.wfile.write(body)

    def _answer(self) -> tuple[int, dict[str, str], bytes]:
        registry, url = self.registry, urlsplit(self.path)
        if url.path == "/token":
            scope = parse_qs(url.query)["scope"][0]
            answer = {"token": f"for {scope}"} if registry.anonymous_tokens else {}
            return 200, {}, json.dumps(answer).encode()
        repository, kind, reference = _split(url.path)
        scope = f"repository:{repository}:pull"
        if self.headers.get("Authorization") != f"Bearer for {scope}":
            realm = f'Bearer realm="http://{registry.host}/token",service="fake",scope="{scope}"'
            return 401, {"WWW-Authenticate": realm}, b""
        if registry.busy:
            return 429, {"Retry-After": registry.busy.pop(0)}, b""
        if repository in registry.silent:
            registry.closing.wait()
        if repository in registry.broken:
            return 500, {}, b""
        return self._content(f"{repository}:{reference}", kind, reference)

    def _content(self, name: str, kind: str, reference: str) -> tuple[int, dict[str, str], bytes]:
        registry = self.registry
        digest = reference if reference.startswith("sha256:") else registry.tags.get(name, "")
        body = registry.blobs.get(digest)
        if body is None or (kind == "manifests" and registry.types[digest] not in self.headers["Accept"]):
            return 404, {}, b"{}"
        claimed = registry.claimed.get(name, digest)
        return 200, {"Docker-Content-Digest": claimed} if claimed else {}, body


def _split(path: str) -> tuple[str, str, str]:
    *repository, kind, reference = path.removeprefix("/v2/").split("/")
    return "/".join(repository), kind, reference


@contextmanager
def served(registry: FakeRegistry) -> Iterator[FakeRegistry]:
    """Serve a registry on a free loopback port until the block ends; ``registry.host`` says where."""
    handler = type("Handler", (_Handler,), {"registry": registry})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    registry.host = f"127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield registry
    finally:
        registry.closing.set()
        server.shutdown()
        thread.join()
        server.server_close()
