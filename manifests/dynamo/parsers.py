"""Which of a model's engine arguments the frontend needs: the ones that turn its text into tool calls and reasoning.

Dynamo's own parsers know few models; with ``--dyn-chat-processor`` the frontend runs the engine's code instead, and
takes the engine's flags for it. A worker hands out tokens, so of these it has a use for the reasoning parser alone: a
grammar must not hold before the reasoning ends. vLLM's worker refuses the others, as they are its API server's.
Source: ai-dynamo 1.6.1, dynamo/frontend/main.py (parse_args), dynamo/sglang/register.py, dynamo/vllm/args.py
"""

from __future__ import annotations

from typing import Any

from stacks.resolve import StackSpec

__all__ = ["frontend_parsers", "worker_arguments"]

_API_ONLY = {"tool-call-parser", "enable-auto-tool-choice"}
_PARSERS = {*_API_ONLY, "reasoning-parser"}


def _arguments(spec: StackSpec) -> dict[str, Any]:
    return spec.rows.model.engines[spec.rows.engine.kind].arguments


def frontend_parsers(spec: StackSpec) -> dict[str, Any]:
    """The model's parsers, for the frontend's chat processor."""
    return {name: value for name, value in _arguments(spec).items() if name in _PARSERS}


def worker_arguments(spec: StackSpec) -> dict[str, Any]:
    """The model's arguments less those of an API server."""
    return {name: value for name, value in _arguments(spec).items() if name not in _API_ONLY}
