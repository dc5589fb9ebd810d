"""What each client writes into its own configuration to use a stack.

Everything follows from the stack: the address and the path before which it stands, the name that the engine serves
under, headers that its router reads, the deadline that is longer than the load balancer's, the context the engine was
given. How a client is told is in its row (stacks/catalog/clients).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from stacks.clients.apis import answered_apis
from stacks.clients.files import put, written
from stacks.clients.headers import SESSION_HEADER, band_headers, default_headers, session_headers
from stacks.clients.keys import put_key
from stacks.clients.limits import limits
from stacks.clients.origin import origin
from stacks.resolve import StackSpec
from stacks.rows import ClientRow, Deadline

__all__ = ["ClientSettings", "client_settings"]

_ANSWER_SHARE = 4
"""An answer takes a quarter of the context at most, or there would be no room left for the conversation."""
_UNITS = {"s": 1, "ms": 1000}


@dataclass(frozen=True)
class ClientSettings:
    """One client of one stack. ``content`` is empty where it cannot be used; ``limits`` then say why."""

    client: str
    title: str
    usable: bool
    base_url: str
    request_url: str
    model: str
    headers: dict[str, str]
    session_header: str | None
    """Names the conversation to the router; the client sends it by itself, or the program that calls it does."""
    bands: dict[str, dict[str, str]]
    """Of flow control: the headers of a request in each, in the place of those of ``headers``."""
    timeout_s: int
    context_tokens: int
    place: str
    content: str
    limits: tuple[str, ...]

    def to_output(self) -> dict[str, Any]:
        """Return it as a stack output: no secret is in it."""
        return {
            "usable": self.usable,
            "base_url": self.base_url,
            "model": self.model,
            "headers": self.headers,
            "session_header": self.session_header or "",
            "bands": self.bands,
            "timeout_s": self.timeout_s,
            "context_tokens": self.context_tokens,
            "place": self.place,
            "content": self.content,
            "limits": list(self.limits),
        }


def client_settings(spec: StackSpec, address: str) -> tuple[ClientSettings, ...]:
    """Return the settings of every client in the catalog, for a load balancer at ``address``; pure."""
    return tuple(_settings(spec, row, origin(spec, address)) for row in spec.rows.clients.values())


def _settings(spec: StackSpec, row: ClientRow, url: str) -> ClientSettings:
    usable = row.endpoint.api in answered_apis(spec.rows)
    base_url = f"{url}{row.endpoint.url_ends_in}"
    return ClientSettings(
        client=row.name,
        title=row.title,
        usable=usable,
        base_url=base_url,
        request_url=f"{url}{row.endpoint.asks}",
        model=spec.rows.model.served_name,
        headers=default_headers(spec) if row.headers.path else {},
        session_header=_session_header(spec, row),
        bands=band_headers(spec),
        timeout_s=spec.derived.client_timeout_s,
        context_tokens=spec.preset.serving.context_tokens,
        place=row.file.place,
        content=written(_document(spec, row, base_url), row) if usable else "",
        limits=limits(spec, row),
    )


def _session_header(spec: StackSpec, row: ClientRow) -> str | None:
    sent = [name for name in session_headers(spec.rows.release) if name in row.headers.session]
    return next(iter(sent), SESSION_HEADER if row.headers.per_request else None)


def _document(spec: StackSpec, row: ClientRow, base_url: str) -> dict[str, Any]:
    document: dict[str, Any] = {}
    for constant in row.file.constants:
        put(document, constant.path, constant.value)
    put(document, row.endpoint.base_url, base_url)
    for path in row.model.names:
        put(document, path, f"{row.model.prefix}{spec.rows.model.served_name}")
    put_key(document, row, spec.preset.serving.router.gateway.authentication)
    _put_headers(document, row, default_headers(spec))
    for deadline in row.deadlines.settings:
        put(document, deadline.path, _number(row, _in_unit(spec.derived.client_timeout_s, deadline)))
    _put_context(document, row, spec)
    return document


def _put_headers(document: dict[str, Any], row: ClientRow, headers: dict[str, str]) -> None:
    if headers and row.headers.path:
        lines = "\n".join(f"{name}: {value}" for name, value in headers.items())
        put(document, row.headers.path, lines if row.headers.form == "lines" else headers)


def _put_context(document: dict[str, Any], row: ClientRow, spec: StackSpec) -> None:
    context, model = spec.preset.serving.context_tokens, spec.rows.model.served_name
    if row.context.path:
        put(document, _of_model(row.context.path, model), _number(row, context))
    if row.context.answer and row.context.answer_tokens:
        tokens = min(row.context.answer_tokens, context // _ANSWER_SHARE)
        put(document, _of_model(row.context.answer, model), _number(row, tokens))


def _of_model(path: list[str], model: str) -> list[str]:
    return [key.replace("{model}", model) for key in path]


def _in_unit(seconds: int, deadline: Deadline) -> int:
    return seconds * _UNITS[deadline.unit]


def _number(row: ClientRow, value: int) -> int | str:
    return str(value) if row.file.as_text else value
