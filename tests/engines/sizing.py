"""What the engines are asked about the size of their KV cache."""

from __future__ import annotations

from typing import Any

__all__ = ["size_questions"]


def size_questions(engine: str) -> dict[str, Any]:
    """Return the questions for one engine."""
    del engine
    return {}
