"""Google's own client library, and only what it reads.

google-api-python-client carries Google's API descriptions (discovery documents) in the package: one library speaks to
every API over REST, and a method or parameter that does not exist is refused here and not at Google. The same code
runs against another endpoint: then each API is found under the name of its host,
``ENDPOINT/compute.googleapis.com/...``, and there are no credentials.
"""

from __future__ import annotations

import json
import threading
import warnings
from collections.abc import Iterator
from functools import cache
from typing import Any

from stacks.problems import EnvironmentProblem

__all__ = ["DeniedError", "Google", "NotFoundError", "UnansweredError", "from_credentials"]

_VERSIONS = {
    "cloudkms": "v1",
    "cloudresourcemanager": "v3",
    "compute": "v1",
    "container": "v1",
    "iam": "v1",
    "monitoring": "v3",
    "secretmanager": "v1",
    "serviceusage": "v1",
    "storage": "v1",
    "artifactregistry": "v1",
}
_READS = ("testIamPermissions", "getIamPolicy")
"""Methods that only read although they are sent by POST."""
_SCOPE = "https://www.googleapis.com/auth/cloud-platform"
"""Compute Engine takes no narrower scope that covers the other APIs; ``Google.call`` refuses what writes."""
_TIMEOUT_S = 15
_RETRIES = 2
_NOT_FOUND, _DENIED = 404, 403
_OFF = ("SERVICE_DISABLED", "accessNotConfigured")


class UnansweredError(Exception):
    """Nobody answered, or the answer cannot be read: the question stays open."""


class DeniedError(UnansweredError):
    """Google refuses to tell: a permission is missing, or the API is off."""


class NotFoundError(Exception):
    """Google has no such thing."""


def from_credentials(project: str) -> Google:
    """Return a client with the application default credentials, which Pulumi's provider uses, too.

    Raises ``EnvironmentProblem`` when there are none.
    """
    import google.auth  # noqa: PLC0415 - a library nobody else needs
    import google.oauth2.credentials  # noqa: PLC0415
    from google.auth.exceptions import GoogleAuthError  # noqa: PLC0415

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about a missing quota project, which is given here
            credentials, _ = google.auth.default(scopes=[_SCOPE])
        if isinstance(credentials, google.oauth2.credentials.Credentials) and not credentials.quota_project_id:
            # A person's reads have to count for some project; a service account's count for its own.
            credentials = credentials.with_quota_project(project)
    except (GoogleAuthError, OSError, ValueError) as error:
        first = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise EnvironmentProblem(
            f"no usable Google credentials ({first}). Run `gcloud auth application-default login`, or let "
            "GOOGLE_APPLICATION_CREDENTIALS name a credentials file; https://cloud.google.com/docs/authentication"
            "/provide-credentials-adc"
        ) from error
    return Google(credentials=credentials)


@cache
def _document(api: str, version: str) -> dict[str, Any]:
    from googleapiclient.discovery_cache import get_static_doc  # noqa: PLC0415

    document: dict[str, Any] = json.loads(get_static_doc(api, version))
    return document


class Google:
    """Reads from Google's APIs; safe to use from several threads."""

    def __init__(
        self,
        *,
        credentials: Any = None,
        endpoint: str | None = None,
        timeout_s: float = _TIMEOUT_S,
        retries: int = _RETRIES,
    ) -> None:
        if (credentials is None) is (endpoint is None):
            raise ValueError("either credentials for Google, or another endpoint without them")
        self.endpoint = endpoint
        self._credentials = credentials
        self._timeout_s = timeout_s
        self._retries = retries
        self._services: dict[tuple[str, str], Any] = {}
        self._lock = threading.Lock()

    def call(self, api: str, method: str, *, version: str = "", **arguments: Any) -> dict[str, Any]:
        """Return the answer of one method, such as ``compute`` ``machineTypes.get``.

        Raises ``NotFoundError``, ``DeniedError`` or ``UnansweredError``.
        """
        _, request = self._request(api, version, method, arguments)
        return self._send(request)

    def pages(self, api: str, method: str, *, version: str = "", **arguments: Any) -> Iterator[dict[str, Any]]:
        """Yield all pages of a list; raises as ``call`` does."""
        resource, request = self._request(api, version, method, arguments)
        following = getattr(resource, f"{method.rpartition('.')[2]}_next")
        while request is not None:
            answer = self._send(request)
            yield answer
            request = following(request, answer)

    def _request(self, api: str, version: str, method: str, arguments: dict[str, Any]) -> tuple[Any, Any]:
        resource = self._service(api, version or _VERSIONS[api])
        *parents, name = method.split(".")
        for parent in parents:
            resource = getattr(resource, parent)()
        request = getattr(resource, name)(**arguments)
        if request.method != "GET" and name not in _READS:
            raise ValueError(f"{api} {method} does more than read")
        return resource, request

    def _service(self, api: str, version: str) -> Any:
        """Return the library's client of an API, made once from the description in the package."""
        from google.api_core.client_options import ClientOptions  # noqa: PLC0415
        from googleapiclient.discovery import build_from_document  # noqa: PLC0415

        with self._lock:
            if (api, version) not in self._services:
                document = _document(api, version)
                options = ClientOptions()
                if self.endpoint is not None:
                    host = document["rootUrl"].removeprefix("https://")
                    options.api_endpoint = f"{self.endpoint}/{host}{document['servicePath']}"
                self._services[api, version] = build_from_document(document, http=self._http(), client_options=options)
            return self._services[api, version]

    def _http(self) -> Any:
        """Return a connection of its own: the library's are not for several threads."""
        import httplib2  # noqa: PLC0415
        from google_auth_httplib2 import AuthorizedHttp  # noqa: PLC0415

        if self._credentials is None:
            return httplib2.Http(timeout=self._timeout_s, proxy_info=None)
        return AuthorizedHttp(self._credentials, http=httplib2.Http(timeout=self._timeout_s))

    def _send(self, request: Any) -> dict[str, Any]:
        import httplib2  # noqa: PLC0415
        from google.auth.exceptions import GoogleAuthError  # noqa: PLC0415
        from googleapiclient.errors import Error, HttpError  # noqa: PLC0415

        host = request.uri.split("/")[2]
        try:
            answer = request.execute(http=self._http(), num_retries=self._retries)
        except HttpError as error:
            raise _refusal(error, host) from error
        except GoogleAuthError as error:
            raise UnansweredError(f"the credentials give no access: {error}") from error
        except TimeoutError as error:
            raise UnansweredError(f"{host} did not answer within {self._timeout_s:.0f} s") from error
        except (httplib2.HttpLib2Error, Error, OSError) as error:
            raise UnansweredError(f"{host} cannot be reached: {error}") from error
        except ValueError as error:
            raise UnansweredError(f"{host} sent something that is no answer of this API") from error
        if not isinstance(answer, dict):
            raise UnansweredError(f"{host} sent something that is no answer of this API")
        return answer


def _refusal(error: Any, host: str) -> Exception:
    status = int(error.resp.status)
    said = f"{host} answers {status}: {error.reason or 'no reason given'}"
    if status == _NOT_FOUND:
        return NotFoundError(said)
    if status == _DENIED:
        off = any(word in error.content.decode(errors="replace") for word in _OFF)
        return DeniedError(f"the API {host} is not enabled in the project" if off else said)
    return UnansweredError(said)
