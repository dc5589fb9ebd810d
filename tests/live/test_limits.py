"""A prompt of full length gets through body and message limits; what is longer is refused, not cut off."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import requests

from stacks.memory import MIB
from tests.live.loopback import Running, serving
from tests.live.rendered import Simulated, objects
from tests.manifests.cluster_objects import Objects
from tests.manifests.dynamo.graphs import graph

FAST = Simulated(blocks=20_000, speedup=1000)
NEARLY_ALL = 1_040_000
"""Tokens of a prompt, of a context of 1,048,576; a word is a token."""


def _status(running: Running, prompt: str) -> int:
    body = {"model": running.model, "messages": [{"role": "user", "content": prompt}], "max_tokens": 2}
    return requests.post(f"{running.url}/v1/chat/completions", json=body, timeout=120).status_code


def _limited(found: Objects, message_bytes: int) -> Objects:
    (limit,) = (e for e in graph(found)["spec"]["env"] if e["name"] == "DYN_TCP_MAX_MESSAGE_SIZE")
    limit["value"] = str(message_bytes)
    return found


def test_a_prompt_of_full_length_gets_through(tmp_path: Path, say: Callable[[str], None]) -> None:
    with serving(objects("g4-dynamo-b1"), tmp_path, simulated=FAST) as running:
        whole, too_large = _status(running, "w1234 " * NEARLY_ALL), _status(running, "x" * 33 * MIB)
    say(f"a prompt of {NEARLY_ALL} tokens: HTTP {whole}; a body above the limit: HTTP {too_large}")
    assert (whole, too_large) == (200, 413)


def test_a_smaller_message_limit_would_stop_it(tmp_path: Path, say: Callable[[str], None]) -> None:
    with serving(_limited(objects("g4-dynamo-b1"), MIB), tmp_path, simulated=FAST) as running:
        status = _status(running, "w1234 " * NEARLY_ALL)
    say(f"the same with messages of 1 MiB at most: HTTP {status}")
    assert status != 200
