"""The API server that plays the simulated cluster's control plane, as GKE sees it: apply, list, delete.

Plain JSON over HTTPS: a provider process lives for one Pulumi command, and Kubernetes' own client takes as long to
import as the rest of the work takes.
"""

import json
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import requests
import yaml

from beamline.sandbox.cloud.errors import CloudError

__all__ = ["ApiServer", "Kind", "Manifest"]

Manifest = dict[str, Any]
"""A Kubernetes object."""

_TIMEOUT_S = 30
_MANAGER = "gke"
_TRY_AGAIN = {requests.codes.too_many_requests, requests.codes.service_unavailable}
"""What the server says while it takes up or lays down a kind."""
_RETRIES_S = (0.1, 0.2, 0.5, 1.0, 2.0, 4.0, 0.0)
_APPLY = "application/apply-patch+yaml"
_MERGE = "application/merge-patch+json"


@dataclass(frozen=True)
class Kind:
    """A kind the server serves and that can be listed and deleted."""

    group_version: str
    kind: str
    plural: str
    namespaced: bool

    def path(self, namespace: str = "", name: str = "") -> str:
        """Return the path of the collection, or of one object."""
        root = "/api/" if "/" not in self.group_version else "/apis/"
        scope = f"/namespaces/{namespace}" if namespace else ""
        return f"{root}{self.group_version}{scope}/{self.plural}" + (f"/{name}" if name else "")


class ApiServer:
    """One API server, as its administrator. Every method raises CloudError when the server is away or refuses."""

    def __init__(self, url: str, ca_file: str, token: str) -> None:
        self.manager = _MANAGER
        """Who the server notes as the writer of a field."""
        self._url = url
        self._known: dict[tuple[str, str], Kind] = {}
        self._session = requests.Session()
        self._session.trust_env = False  # a proxy or a CA bundle for the outside world has no say on loopback
        self._session.verify = ca_file
        self._session.headers["Authorization"] = f"Bearer {token}"

    @classmethod
    def from_kubeconfig(cls, path: Path) -> "ApiServer":
        """Connect as the one user of a kubeconfig. Raises CloudError when the file cannot be used."""
        try:
            config = yaml.safe_load(path.read_text())
            cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
            return cls(cluster["server"], cluster["certificate-authority"], user["token"])
        except (OSError, KeyError, IndexError, TypeError, yaml.YAMLError) as error:
            raise CloudError(f"the sandbox's kubeconfig {path} cannot be used: {error!r}") from error

    def get(self, path: str) -> Manifest | None:
        """Return what a path holds; None when there is nothing."""
        answer = self._send("GET", path)
        return None if answer.status_code == requests.codes.not_found else self._checked(answer)

    def items(self, kind: Kind, *, selector: str = "", namespace: str = "", fields: str = "") -> list[Manifest]:
        """Return the objects of a kind; empty when the kind is no longer served."""
        query = "&".join(
            filter(None, [f"labelSelector={selector}" * bool(selector), f"fieldSelector={fields}" * bool(fields)])
        )
        found = self.get(kind.path(namespace) + (f"?{query}" if query else ""))
        items: list[Manifest] = (found or {}).get("items") or []
        return items

    def apply(self, kind: Kind, manifest: Mapping[str, Any]) -> Manifest:
        """Create or change an object, as the owner of the fields it names."""
        metadata = manifest["metadata"]
        path = kind.path(metadata.get("namespace", ""), metadata["name"])
        body = {"apiVersion": kind.group_version, "kind": kind.kind, **manifest}
        query = f"?fieldManager={self.manager}&force=true&fieldValidation=Strict"
        return self._checked(self._send("PATCH", path + query, body, _APPLY))

    def create(self, kind: Kind, manifest: Mapping[str, Any]) -> Manifest | None:
        """Create an object with its status; None when there is one of that name."""
        body = {"apiVersion": kind.group_version, "kind": kind.kind, **manifest}
        path = kind.path(manifest["metadata"].get("namespace", ""))
        answer = self._send("POST", f"{path}?fieldManager={self.manager}", body)
        return None if answer.status_code == requests.codes.conflict else self._checked(answer)

    def merge(self, path: str, change: Mapping[str, Any]) -> None:
        """Change some fields of an object; nothing happens when it is gone."""
        answer = self._send("PATCH", f"{path}?fieldManager={self.manager}", change, _MERGE)
        if answer.status_code != requests.codes.not_found:
            self._checked(answer)

    def replace(self, path: str, manifest: Mapping[str, Any]) -> None:
        """Write what a path holds; nothing happens when it is gone or has changed meanwhile."""
        answer = self._send("PUT", path, manifest)
        if answer.status_code not in (requests.codes.not_found, requests.codes.conflict):
            self._checked(answer)

    def delete(self, path: str, *, grace_s: int | None = None) -> None:
        """Ask for an object's deletion; nothing happens when it is gone."""
        options: dict[str, Any] = {"propagationPolicy": "Background"}
        if grace_s is not None:
            options["gracePeriodSeconds"] = grace_s
        answer = self._send("DELETE", path, options)
        if answer.status_code not in (requests.codes.not_found, requests.codes.method_not_allowed):
            self._checked(answer)

    def kind(self, group_version: str, kind: str) -> Kind:
        """Return how a kind is served. Raises CloudError when it is not."""
        if not self.serves(group_version, kind):
            raise CloudError(f"the sandbox's API server does not serve {group_version} {kind}")
        return self._known[group_version, kind]

    def serves(self, group_version: str, kind: str) -> bool:
        """Tell whether a kind is served; what was served once is not asked for again."""
        if (group_version, kind) not in self._known:
            self._known |= {(found.group_version, found.kind): found for found in self._kinds_of(group_version)}
        return (group_version, kind) in self._known

    def kinds(self) -> Iterator[Kind]:
        """Yield every kind that can be listed and deleted, in its preferred version."""
        groups = (self.get("/apis") or {}).get("groups", [])
        for group_version in ["v1", *(group["preferredVersion"]["groupVersion"] for group in groups)]:
            if group_version != "events.k8s.io/v1":  # core events under another name
                yield from self._kinds_of(group_version)

    def _kinds_of(self, group_version: str) -> list[Kind]:
        found = self.get(("/api/" if group_version == "v1" else "/apis/") + group_version) or {}
        return [
            Kind(group_version, row["kind"], row["name"], row["namespaced"])
            for row in found.get("resources", [])
            if "/" not in row["name"] and {"list", "delete"} <= set(row["verbs"])
        ]

    def _send(self, verb: str, path: str, body: object = None, content: str = "application/json") -> requests.Response:
        # Written as the server would: it keeps opaque parameters byte for byte, and refuses to change immutable ones.
        data = None if body is None else json.dumps(body, sort_keys=True, separators=(",", ":"))
        for pause_s in _RETRIES_S:
            try:
                answer = self._session.request(
                    verb, self._url + path, data=data, headers={"Content-Type": content}, timeout=_TIMEOUT_S
                )
            except (requests.RequestException, OSError) as error:
                raise CloudError(
                    f"the sandbox's API server at {self._url} does not answer ({type(error).__name__}); "
                    "`beamline sandbox up` starts it"
                ) from error
            if answer.status_code not in _TRY_AGAIN:
                break
            time.sleep(pause_s)
        return answer

    def _checked(self, answer: requests.Response) -> Manifest:
        if answer.ok:
            found: Manifest = answer.json()
            return found
        try:
            text = answer.json()["message"]
        except (ValueError, KeyError):
            text = answer.text.strip()
        raise CloudError(f"the sandbox's API server refused {answer.request.method} {answer.request.path_url}: {text}")
