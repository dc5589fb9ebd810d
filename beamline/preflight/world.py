"""Whom a preflight asks: Google, registries, the model hub, and the programs on this machine."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from beamline.preflight.google import Google, UnansweredError
from beamline.registry import RegistryClient

__all__ = ["World", "ask_program"]

_ANSWER_TIMEOUT_S = 20
HUB = "https://huggingface.co"


def ask_program(command: Sequence[str]) -> str | None:
    """Return what a program on PATH says; None when there is none. Raises ``UnansweredError`` when it says nothing."""
    try:
        done = subprocess.run(
            list(command),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            timeout=_ANSWER_TIMEOUT_S,
            check=False,
            env={**os.environ, "PULUMI_SKIP_UPDATE_CHECK": "true"},
        )
    except FileNotFoundError:
        return None
    except (OSError, subprocess.TimeoutExpired) as error:
        raise UnansweredError(f"{' '.join(command)} cannot be run: {error}") from error
    if done.returncode != 0:
        raise UnansweredError(f"{' '.join(command)} ended with {done.returncode}: {done.stdout.strip()[:200]}")
    return done.stdout


@dataclass(frozen=True)
class World:
    """Everything outside. ``registry`` makes a client for each check, as one cannot be shared by threads."""

    google: Google
    registry: Callable[[], RegistryClient] = RegistryClient
    hub: str = HUB
    program: Callable[[Sequence[str]], str | None] = ask_program
    now: Callable[[], datetime] = field(default=lambda: datetime.now(UTC))
