"""What does not work for a client of a stack, or not as one would think, in words."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from stacks.clients.apis import answered_apis
from stacks.clients.headers import session_headers, tells_sessions_apart
from stacks.clients.keys import token_needs
from stacks.resolve import StackSpec
from stacks.rows import ClientRow, DynamoRelease, LlmdRelease

__all__ = ["limits"]

_BYTES_PER_TOKEN = 4
"""Of English and code, roughly."""
_MUCH_OF_THE_CONTEXT = 0.25


def limits(spec: StackSpec, row: ClientRow) -> tuple[str, ...]:
    """Return every limit; the first says so where the client cannot be used at all."""
    if row.endpoint.api not in answered_apis(spec.rows):
        return (f"it speaks {row.endpoint.asks} alone, and {_who_answers(spec)} does not answer that",)
    return tuple(words for judge in _JUDGES for words in judge(spec, row))


def _who_answers(spec: StackSpec) -> str:
    release = spec.rows.release
    if isinstance(release, DynamoRelease):
        return f"the frontend of Dynamo {release.version}"
    return f"llm-d {release.version} with {spec.rows.engine.kind} {spec.rows.engine.version}"


def _experimental(spec: StackSpec, row: ClientRow) -> Iterator[str]:
    release = spec.rows.release
    if isinstance(release, DynamoRelease) and row.endpoint.api in release.apis.experimental:
        yield f"Dynamo {release.version} calls its {row.endpoint.asks} experimental"


def _sessions(spec: StackSpec, row: ClientRow) -> Iterator[str]:
    """A header that is the same for all conversations would tie all of a person's work to one replica."""
    if not tells_sessions_apart(spec) or row.headers.per_request:
        return
    if not row.headers.session:
        yield "it sends no header of its conversation, so the router cannot tell which of its requests belong together"
    elif not set(row.headers.session) & set(session_headers(spec.rows.release)):
        yield f"this router reads none of its session headers ({', '.join(row.headers.session)})"


def _cache_events(spec: StackSpec, row: ClientRow) -> Iterator[str]:
    """The picker finds cached blocks by tokens, and has not every API's prompts tokenized."""
    routing, release = spec.preset.serving.routing, spec.rows.release
    if routing.listens and isinstance(release, LlmdRelease) and row.endpoint.api not in release.apis.tokenized:
        yield (
            f"llm-d {release.version} has prompts on {row.endpoint.asks} not tokenized: they are placed by load"
            + (" and session" if routing.session_affinity else "")
            + ", whatever is cached"
        )


def _deadlines(spec: StackSpec, row: ClientRow) -> Iterator[str]:
    fixed, longest_s = row.deadlines.fixed_silence_s, spec.derived.client_timeout_s
    if fixed is not None and fixed < longest_s:
        yield (
            f"it gives a request up after {fixed} s without a byte, whatever is set; this stack may take {longest_s} "
            "s, and waiting and prompts are silent"
        )


def _context(spec: StackSpec, row: ClientRow) -> Iterator[str]:
    opening, context = row.context.opening_bytes // _BYTES_PER_TOKEN, spec.preset.serving.context_tokens
    if opening > _MUCH_OF_THE_CONTEXT * context:
        yield f"its own instructions and tools take about {opening:,} of {context:,} tokens of context"


def _certificate(spec: StackSpec, _row: ClientRow) -> Iterator[str]:
    if spec.preset.serving.router.gateway.certificate is not None:
        yield (
            "the certificate is made out to a name: let a DNS record of it lead to the address, and write the name in "
            "the address's place"
        )


def _token(spec: StackSpec, row: ClientRow) -> Iterator[str]:
    yield from token_needs(row, spec.preset.serving.router.gateway.authentication)


_JUDGES: tuple[Callable[[StackSpec, ClientRow], Iterator[str]], ...] = (
    _experimental,
    _sessions,
    _cache_events,
    _deadlines,
    _context,
    _certificate,
    _token,
)
