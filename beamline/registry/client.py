"""A reader of the OCI distribution API: anonymous, with the token dance that docker.io, ghcr.io and gcr.io ask for.

Specification: https://github.com/opencontainers/distribution-spec (pull) and the Docker token flow. Registries on the
loopback interface are spoken to without TLS, as every container tool does.
"""

from __future__ import annotations

import hashlib
import json
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from urllib.parse import urlsplit

import requests

__all__ = ["MANIFEST_TYPES", "Answer", "RefusedError", "RegistryClient", "UnreachableError"]

MANIFEST_TYPES = (
    "application/vnd.oci.image.index.v1+json",
    "application/vnd.docker.distribution.manifest.list.v2+json",
    "application/vnd.oci.image.manifest.v1+json",
    "application/vnd.docker.distribution.manifest.v2+json",
)
_HOSTS = {"docker.io": "registry-1.docker.io"}
"""Registries whose API is served elsewhere than their name says."""
_TIMEOUT_S = (5.0, 30.0)
"""To connect, and between two packets."""
_LONGEST_WAIT_S = 60
"""What a busy registry may ask for; beyond that the image counts as unreachable."""
_ATTEMPTS = 3
_LARGEST_BYTES = 4 * 2**20
"""Registries must refuse larger manifests, so a larger body is not a manifest."""
_CHALLENGE = re.compile(r'(\w+)="([^"]*)"')


class UnreachableError(Exception):
    """The registry could not be asked: no route, no answer in time, or busy beyond waiting."""


class RefusedError(Exception):
    """The registry was asked, and its answer rules the image out."""

    def __init__(self, rule: str, why: str, remedy: str) -> None:
        self.rule, self.why, self.remedy = rule, why, remedy
        super().__init__(why)


class Answer:
    """What a registry said: the digest it claims, and the body, checked against that claim."""

    def __init__(self, claimed: str | None, body: bytes) -> None:
        self.body = body
        self.digest = "sha256:" + hashlib.sha256(body).hexdigest()
        if claimed is not None and claimed != self.digest:
            raise RefusedError(
                "registry-digest",
                f"the registry names the digest {claimed}, but what it sent has {self.digest}",
                "ask again later, and the registry's owner if it stays; the bytes are not what they claim to be",
            )


class RegistryClient:
    """Asks registries; keeps the tokens of one run. ``sleep`` is what waits when a registry is busy.

    ``stand_in`` answers for every registry instead, each under its name: ``http://127.0.0.1:5000/ghcr.io``.
    """

    def __init__(self, *, sleep: Callable[[float], None] = time.sleep, stand_in: str | None = None) -> None:
        self._session = requests.Session()
        self._sleep = sleep
        self._stand_in = stand_in
        self._tokens: dict[tuple[str, str], str] = {}

    def digest(self, registry: str, repository: str, tag: str) -> str | None:
        """Return the digest the registry names for a tag, None when it names none. Not counted as a pull."""
        return self._ask("HEAD", registry, repository, f"manifests/{tag}").headers.get("Docker-Content-Digest")

    def manifest(self, registry: str, repository: str, reference: str) -> Answer:
        """Return the manifest or index behind a tag or digest, verified."""
        reply = self._ask("GET", registry, repository, f"manifests/{reference}")
        claimed = reference if reference.startswith("sha256:") else reply.headers.get("Docker-Content-Digest")
        return Answer(claimed, reply.body)

    def blob(self, registry: str, repository: str, digest: str) -> Answer:
        """Return a small blob (an image's config), verified."""
        return Answer(digest, self._ask("GET", registry, repository, f"blobs/{digest}").body)

    def _ask(self, verb: str, registry: str, repository: str, path: str) -> _Reply:
        host = _HOSTS.get(registry, registry)
        base = f"{_scheme(host)}://{host}" if self._stand_in is None else f"{self._stand_in}/{registry}"
        url = f"{base}/v2/{repository}/{path}"
        reply = self._send(verb, url, self._tokens.get((registry, repository)))
        if reply.status == requests.codes.unauthorized:
            token = self._token(reply.headers.get("WWW-Authenticate", ""), repository)
            self._tokens[registry, repository] = token
            reply = self._send(verb, url, token)
        return reply.accepted(f"{registry}/{repository}")

    def _token(self, challenge: str, repository: str) -> str:
        """Follow the challenge of a 401 to a token for anonymous pulls."""
        values = dict(_CHALLENGE.findall(challenge))
        realm = values.get("realm", "")
        host = urlsplit(realm).netloc
        if not challenge.lower().startswith("bearer ") or urlsplit(realm).scheme != _scheme(host):
            raise RefusedError(
                "registry-login",
                f"the registry wants a login that this tool does not have ({challenge or 'no challenge'})",
                "make the image public to anonymous pulls, or correct the registry in the catalog row",
            )
        asked = {"service": values.get("service", ""), "scope": values.get("scope") or f"repository:{repository}:pull"}
        url = requests.Request("GET", realm, params={k: v for k, v in asked.items() if v}).prepare().url or realm
        reply = self._send("GET", url, None).accepted(repository)
        try:
            said = json.loads(reply.body)
        except ValueError:
            said = None
        token = (said.get("token") or said.get("access_token")) if isinstance(said, dict) else None
        if not isinstance(token, str):
            raise RefusedError("registry-login", f"{host} gave no token", "run `beamline lock` again later")
        return token

    def _send(self, verb: str, url: str, token: str | None) -> _Reply:
        """Send one request, as often as a busy registry allows within reason."""
        headers = {"Accept": ", ".join(MANIFEST_TYPES)} | ({"Authorization": f"Bearer {token}"} if token else {})
        for attempt in range(1, _ATTEMPTS + 1):
            reply = self._once(verb, url, headers)
            if reply.status != requests.codes.too_many_requests:
                return reply
            wait_s = _wait_s(reply.headers.get("Retry-After", ""))
            if attempt == _ATTEMPTS or wait_s > _LONGEST_WAIT_S:
                break
            self._sleep(wait_s)
        raise UnreachableError(
            f"{urlsplit(url).netloc} is busy and asks to wait {wait_s:.0f} s (429 Too Many Requests)"
        )

    def _once(self, verb: str, url: str, headers: Mapping[str, str]) -> _Reply:
        host = urlsplit(url).netloc
        body = b""
        self._session.trust_env = not _is_loopback(host)  # a proxy would look for a loopback address on itself
        try:
            with self._session.request(verb, url, headers=headers, timeout=_TIMEOUT_S, stream=True) as response:
                for chunk in response.iter_content(chunk_size=2**16):
                    body += chunk
                    if len(body) > _LARGEST_BYTES:
                        raise RefusedError(
                            "registry-answer",
                            f"{host} sent more than {_LARGEST_BYTES} bytes for a manifest",
                            "check registry and repository in the catalog row",
                        )
        except requests.Timeout as error:
            raise UnreachableError(f"{host} did not answer in time") from error
        except requests.RequestException as error:
            raise UnreachableError(f"{host} cannot be reached: {_reason(error)}") from error
        if response.status_code >= requests.codes.internal_server_error:
            raise UnreachableError(f"{host} answered {response.status_code} {response.reason}")
        return _Reply(response.status_code, response.reason, response.headers, body)


@dataclass(frozen=True)
class _Reply:
    """One HTTP answer, read to its end."""

    status: int
    reason: str
    headers: Mapping[str, str]
    body: bytes

    def accepted(self, image: str) -> _Reply:
        """Return this answer; raises ``RefusedError`` when it is a refusal."""
        said = f"({self.status} {self.reason})"
        if self.status in (requests.codes.unauthorized, requests.codes.forbidden):
            raise RefusedError(
                "registry-login",
                f"nobody may pull {image} without a login, or it does not exist {said}",
                "correct registry and repository in the catalog row, or allow anonymous pulls",
            )
        if self.status == requests.codes.not_found:
            raise RefusedError(
                "image-not-found",
                f"the registry has no such tag or repository {said}",
                "correct the tag in the catalog row",
            )
        if self.status != requests.codes.ok:
            raise RefusedError(
                "registry-answer",
                f"the registry gave no manifest {said}",
                "check registry, repository and tag in the catalog row",
            )
        return self


def _scheme(host: str) -> str:
    return "http" if _is_loopback(host) else "https"


def _is_loopback(host: str) -> bool:
    return host.partition(":")[0] in ("127.0.0.1", "localhost")


def _wait_s(said: str) -> float:
    """Seconds a busy registry asks for by Retry-After: a number or a date; one second when it does not say."""
    if said.isdigit():
        return float(said)
    try:
        return max(0.0, (parsedate_to_datetime(said) - datetime.now(UTC)).total_seconds())
    except (TypeError, ValueError):
        return 1.0


def _reason(error: Exception) -> str:
    """The innermost cause: requests wraps it several layers deep."""
    inner: BaseException = error
    while True:
        cause = (
            inner.__cause__ or inner.__context__ or next((a for a in inner.args if isinstance(a, BaseException)), None)
        )
        if cause is None:
            return str(inner)
        inner = cause
