"""Requests of agents in miniature: many sessions, each turn the whole conversation so far and a little more.

Sessions of a group begin with the same long prompt. Everything follows from a seed; nothing is asserted about time but
ratios.
"""

from __future__ import annotations

import asyncio
import json
import random
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import aiohttp

from tests.live.tiny_model import VOCABULARY, words

__all__ = ["Answer", "Session", "Shape", "ask", "run", "sessions"]

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
    """What came back for one request. ``worker`` is the router's own id of who answered."""

    session: str
    turn: int
    status: int
    ttft_s: float = float("nan")
    took_s: float = 0.0
    prompt_tokens: int = 0
    cached_tokens: int = 0
    answer_tokens: int = 0
    worker: str = ""
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


async def ask(
    client: aiohttp.ClientSession,
    url: str,
    body: Mapping[str, Any],
    *,
    session: str,
    turn: int,
    headers: Mapping[str, str],
) -> Answer:
    """Send one request and read its stream to the end."""
    begun = time.monotonic()
    first, text, usage, worker, tokens = float("nan"), "", {}, "", 0
    try:
        async with client.post(f"{url}/v1/chat/completions", json=body, headers=headers) as response:
            if response.status != 200:
                return Answer(
                    session, turn, response.status, took_s=time.monotonic() - begun, text=await response.text()
                )
            async for line in response.content:
                if not line.startswith(b"data: ") or line.startswith(b"data: [DONE]"):
                    continue
                chunk = json.loads(line[6:])
                usage = chunk.get("usage") or usage
                worker = _worker(chunk) or worker
                for choice in chunk.get("choices", ()):
                    if said := choice.get("delta", {}).get("content"):
                        first = time.monotonic() - begun if not text else first
                        text += said
                        tokens += 1
    except (TimeoutError, aiohttp.ClientError) as error:
        return Answer(session, turn, 0, took_s=time.monotonic() - begun, text=repr(error))
    return Answer(
        session,
        turn,
        200,
        ttft_s=first,
        took_s=time.monotonic() - begun,
        prompt_tokens=usage.get("prompt_tokens", 0),
        cached_tokens=(usage.get("prompt_tokens_details") or {}).get("cached_tokens") or 0,
        answer_tokens=usage.get("completion_tokens", tokens),
        worker=worker,
        text=text,
    )


def _worker(chunk: Mapping[str, Any]) -> str:
    found = (chunk.get("nvext") or {}).get("worker_id") or {}
    return str(next((found[key] for key in ("decode_worker_id", "worker_id", "prefill_worker_id") if key in found), ""))


async def _converse(
    client: aiohttp.ClientSession,
    url: str,
    session: Session,
    shape: Shape,
    model: str,
    headers: Mapping[str, str],
) -> list[Answer]:
    said, answers = words(session.opening), []
    for number, (turn, pause_s) in enumerate(zip(session.turns, session.pauses_s, strict=True)):
        await asyncio.sleep(pause_s)
        said = f"{said} {words(turn)}"
        body = {
            "model": model,
            "messages": [{"role": "user", "content": said}],
            "max_tokens": shape.answer_tokens,
            "ignore_eos": True,
            "stream": True,
            "stream_options": {"include_usage": True},
            "nvext": {"extra_fields": ["worker_id"]},
        }
        answers.append(await ask(client, url, body, session=session.name, turn=number, headers=headers))
        said = f"{said} {answers[-1].text}"
    return answers


async def _all(
    url: str, found: Iterable[Session], shape: Shape, model: str, headers: Mapping[str, str], *, named: bool
) -> list[Answer]:
    timeout = aiohttp.ClientTimeout(total=CLIENT_TIMEOUT_S)
    async with aiohttp.ClientSession(timeout=timeout, connector=aiohttp.TCPConnector(limit=0)) as client:
        conversations = [
            _converse(
                client,
                url,
                session,
                shape,
                model,
                {**headers, **({"x-session-id": session.name} if named else {})},
            )
            for session in found
        ]
        return [answer for answers in await asyncio.gather(*conversations) for answer in answers]


def run(
    url: str,
    found: Iterable[Session],
    shape: Shape,
    *,
    model: str,
    headers: Mapping[str, str] | None = None,
    named: bool = False,
) -> list[Answer]:
    """Hold all conversations at once; ``named``: with a session header."""
    return asyncio.run(_all(url, found, shape, model, headers or {}, named=named))
