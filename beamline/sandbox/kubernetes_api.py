"""The sandbox's own view of its API server: plain JSON over HTTPS.

A handful of reads and writes do not need a generated client that takes a second to import; and what Kubernetes says is
passed on in its own words.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

import requests
from requests.adapters import HTTPAdapter
from urllib3.util import Retry

from beamline.sandbox.home import Home, Record
from stacks.problems import EnvironmentProblem

__all__ = ["KubernetesApi", "NotFoundError", "Object", "Resource"]

Object = dict[str, Any]
"""One Kubernetes object as the API returns it."""

_TIMEOUT_S = 30
_BUSY = Retry(
    5,
    connect=0,
    read=0,
    status_forcelist=(requests.codes.too_many_requests, requests.codes.service_unavailable),
    allowed_methods=None,
    backoff_factor=0.2,
    raise_on_status=False,
)
"""While the server takes up or lays down a kind it has work refused and asked for again (Retry-After)."""


class NotFoundError(LookupError):
    """The object does not exist, or its kind is not served."""


@dataclass(frozen=True)
class Resource:
    """One listable kind: where it is served and what it is called."""

    path: str
    kind: str


class KubernetesApi:
    """The API server of one sandbox, as its administrator."""

    def __init__(self, home: Home, record: Record) -> None:
        self._base = f"https://{record.kubernetes['endpoint']}"
        self._session = requests.Session()
        self._session.trust_env = False  # a proxy for the outside world must not see loopback traffic
        self._session.mount("https://", HTTPAdapter(max_retries=_BUSY))
        self._session.verify = str(home.ca_file)
        token = home.admin_token_file.read_text(encoding="utf-8").strip()
        self._session.headers["Authorization"] = f"Bearer {token}"

    def get(self, path: str, **query: str) -> Object:
        """Read one path. Raises NotFoundError; EnvironmentProblem when the server is away or refuses."""
        return self._call("GET", path + (f"?{urlencode(query)}" if query else ""), None)

    def items(self, path: str, **query: str) -> list[Object]:
        """List one kind; empty where the kind is not served."""
        try:
            found: list[Object] = self.get(path, **query).get("items") or []
        except NotFoundError:
            return []
        return found

    def find(self, api_version: str, kind: str, namespace: str, name: str) -> Object | None:
        """Return one object; None when there is none or its kind is not served."""
        root = f"/apis/{api_version}" if "/" in api_version else f"/api/{api_version}"
        try:
            served = self.get(root)["resources"]
            plural = next(r["name"] for r in served if r["kind"] == kind and "/" not in r["name"])
            scope = f"/namespaces/{namespace}" if namespace else ""
            return self.get(f"{root}{scope}/{plural}/{name}")
        except (NotFoundError, StopIteration):
            return None

    def post(self, path: str, body: Mapping[str, Any]) -> Object:
        """Create one object."""
        return self._call("POST", f"{path}?fieldManager=beamline-sandbox", body)

    def resources(self) -> Iterator[Resource]:
        """Yield every kind that can be listed, in its preferred version."""
        paths = ["/api/v1"]
        paths += [f"/apis/{group['preferredVersion']['groupVersion']}" for group in self.get("/apis")["groups"]]
        for path in paths:
            for resource in self.get(path)["resources"]:
                if "list" in resource["verbs"] and "/" not in resource["name"]:
                    yield Resource(f"{path}/{resource['name']}", resource["kind"])

    def _call(self, verb: str, path: str, body: Mapping[str, Any] | None) -> Object:
        try:
            answer = self._session.request(verb, self._base + path, json=body, timeout=_TIMEOUT_S)
        except requests.RequestException as error:
            raise EnvironmentProblem(f"the sandbox's API server at {self._base} does not answer: {error}") from error
        if answer.status_code == requests.codes.not_found:
            raise NotFoundError(path)
        if not answer.ok:
            raise EnvironmentProblem(f"the sandbox's API server refused {verb} {path}: {answer.text.strip()}")
        found: Object = answer.json()
        return found
