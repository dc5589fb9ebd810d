"""How long the sessions are by which a cache is counted."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["MEDIAN_SESSION_TOKENS", "Session", "default_session", "stated_session"]

MEDIAN_SESSION_TOKENS = 205_000
"""Different tokens that half of all sessions of a public agent workload keep asking for, or fewer."""
_SOURCE = (
    "median of the different tokens of a session, computed 2026-11 from 710 public traces of coding agents "
    "(InferenceX AgentX, semianalysisai/cc-traces-weka)"
)


@dataclass(frozen=True)
class Session:
    """Tokens of one session, and who says so."""

    tokens: int
    source: str


def stated_session(tokens: int) -> Session:
    """Return a session as long as somebody asks for."""
    return Session(tokens, "as asked for")


def default_session(context_tokens: int) -> Session:
    """Return the median session of a public workload, or a whole context where that is shorter."""
    if context_tokens < MEDIAN_SESSION_TOKENS:
        return Session(context_tokens, f"the longest context served; {MEDIAN_SESSION_TOKENS:,} is the {_SOURCE}")
    return Session(MEDIAN_SESSION_TOKENS, _SOURCE)
