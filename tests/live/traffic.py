"""Requests of agents in miniature: many sessions, each turn the whole conversation so far and a little more.

Sessions of a group begin with the same long prompt. Everything follows from a seed; nothing is asserted about time but
ratios.
"""

from __future__ import annotations

import asyncio
import json
import random
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import aiohttp

from tests.live.tiny_model import VOCABULARY, words

__all__ = ["Answer", "Session", "Shape", "burst", "converse", "sessions"]

SESSION_HEADER = "x-dynamo-session-id"
BAND_HEADER = "x-dynamo-meta-policy-class"
_FINE = 200
_FIRST_WORD = 16
"""Words below are special tokens."""
CLIENT_TIMEOUT_S = 60
"""Nobody waits so long here; an answer that does is recorded as a timeout, and tests say what that means."""


@dataclass(frozen=True)
class Shape:
    """How the traffic looks, in tokens and turns."""

    sessions: int
    turns: int
    groups: int
    shared_tokens: int
    turn_tokens: int
    answer_tokens: int
    think_s: float


@dataclass(frozen=True)
class Session:
    """One conversation: its name, what each turn adds to it, and the pause before each turn."""

    name: str
    opening: list[int]
    turns: list[list[int]]
    pauses_s: list[float]


@dataclass(frozen=True)
class Answer:
    """What came back for one request; status 0: nothing did in time.

    ``worker`` is the router's id of who answered, ``prefill`` of who computed the prompt for it; empty: the same one.
    """

    session: str
    turn: int
    status: int
    ttft_s: float = float("nan")
    took_s: float = 0.0
    prompt_tokens: int = 0
    cached_tokens: int = 0
    answer_tokens: int = 0
    worker: str = ""
    prefill: str = ""
    text: str = field(default="", repr=False)


def _tokens(numbers: random.Random, count: int) -> list[int]:
    return [numbers.randrange(_FIRST_WORD, VOCABULARY) for _ in range(count)]


def sessions(shape: Shape, seed: int) -> list[Session]:
    """All sessions of one run."""
    numbers = random.Random(seed)  # noqa: S311 - traffic, not secrets
    groups = [_tokens(numbers, shape.shared_tokens) for _ in range(shape.groups)]
    return [
        Session(
            name=f"session-{seed}-{number}",
            opening=groups[number % shape.groups],
            turns=[_tokens(numbers, shape.turn_tokens) for _ in range(shape.turns)],
            # Not alike: in step with each other, sessions would meet the same worker again by round robin, too.
            pauses_s=[numbers.uniform(0, 2 * shape.think_s) for _ in range(shape.turns)],
        )
        for number in range(shape.sessions)
    ]


class _Client:
    """Asks one frontend; tells ``heard`` of every answer."""

    def __init__(self, url: str, model: str, heard: Callable[[Answer], None]) -> None:
        self._url, self._model, self._heard = url, model, heard
        self._http = aiohttp.ClientSession(
            timeout=aiohttp.ClientTimeout(total=CLIENT_TIMEOUT_S), connector=aiohttp.TCPConnector(limit=0)
        )

    async def __aenter__(self) -> _Client:
        return self

    async def __aexit__(self, *_error: object) -> None:
        await self._http.close()

    async def ask(
        self, prompt: str, answer_tokens: int, *, session: str, turn: int, headers: Mapping[str, str]
    ) -> Answer:
        """Send one request and read its stream to the end."""
        body = {
            "model": self._model,
            "messages": [{"role": "user", "content": prompt}],
            "max_tokens": answer_tokens,
            "ignore_eos": True,
            "stream": True,
            "stream_options": {"include_usage": True},
            "nvext": {"extra_fields": ["worker_id"]},
        }
        begun = time.monotonic()
        try:
            async with self._http.post(f"{self._url}/v1/chat/completions", json=body, headers=headers) as response:
                if response.status == _FINE:
                    answer = await _read(response, session, turn, begun)
                else:
                    answer = Answer(session, turn, response.status, text=await response.text())
        except (TimeoutError, aiohttp.ClientError) as error:
            answer = Answer(session, turn, 0, text=repr(error))
        answer = replace(answer, took_s=time.monotonic() - begun)
        self._heard(answer)
        return answer


async def _read(response: aiohttp.ClientResponse, session: str, turn: int, begun: float) -> Answer:
    first, text, worker, prefill = float("nan"), "", "", ""
    usage: Mapping[str, Any] = {}
    async for line in response.content:
        if not line.startswith(b"data: ") or line.startswith(b"data: [DONE]"):
            continue
        chunk = json.loads(line[6:])
        usage, worker = chunk.get("usage") or usage, _worker(chunk, "decode") or worker
        prefill = _worker(chunk, "prefill") or prefill
        for choice in chunk.get("choices", ()):
            if said := choice.get("delta", {}).get("content"):
                first = time.monotonic() - begun if not text else first
                text += said
    return Answer(
        session,
        turn,
        response.status,
        ttft_s=first,
        prompt_tokens=usage.get("prompt_tokens", 0),
        cached_tokens=(usage.get("prompt_tokens_details") or {}).get("cached_tokens") or 0,
        answer_tokens=len(text.split()),
        worker=worker,
        prefill="" if prefill == worker else prefill,
        text=text,
    )


def _worker(chunk: Mapping[str, Any], role: str) -> str:
    return str(((chunk.get("nvext") or {}).get("worker_id") or {}).get(f"{role}_worker_id", ""))


async def _converse(client: _Client, session: Session, shape: Shape, headers: Mapping[str, str]) -> list[Answer]:
    said, answers = words(session.opening), []
    for number, (turn, pause_s) in enumerate(zip(session.turns, session.pauses_s, strict=True)):
        await asyncio.sleep(pause_s)
        said = f"{said} {words(turn)}"
        answers.append(await client.ask(said, shape.answer_tokens, session=session.name, turn=number, headers=headers))
        said = f"{said} {answers[-1].text}"
    return answers


def converse(
    url: str,
    model: str,
    shape: Shape,
    *,
    seed: int,
    named: bool = False,
    heard: Callable[[Answer], None] = lambda _answer: None,
) -> list[Answer]:
    """Hold all conversations of one run at once; ``named``: each says which session it is."""

    async def together() -> list[Answer]:
        async with _Client(url, model, heard) as client:
            found = sessions(shape, seed)
            answers = await asyncio.gather(
                *(_converse(client, each, shape, {SESSION_HEADER: each.name} if named else {}) for each in found)
            )
        return [answer for of_session in answers for answer in of_session]

    return asyncio.run(together())


def burst(url: str, model: str, bands: Sequence[str], *, tokens: int, answer_tokens: int, seed: int) -> list[Answer]:
    """Send a request for each band of the list, all at once; an answer's ``session`` is its band."""

    async def together() -> list[Answer]:
        numbers = random.Random(seed)  # noqa: S311 - traffic, not secrets
        async with _Client(url, model, lambda _answer: None) as client:
            return await asyncio.gather(
                *(
                    client.ask(
                        words(_tokens(numbers, tokens)),
                        answer_tokens,
                        session=band,
                        turn=number,
                        headers={BAND_HEADER: band},
                    )
                    for number, band in enumerate(bands)
                )
            )

    return asyncio.run(together())
