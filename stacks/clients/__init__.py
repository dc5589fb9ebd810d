"""Clients of a stack: what each writes into its own configuration to use it, and what does not work and why.

Headers are named here and in the releases' rows, and nowhere else, so that a client and a router cannot disagree.
"""

from __future__ import annotations

from stacks.clients.apis import answered_apis
from stacks.clients.headers import SESSION_HEADER, band_headers, session_headers
from stacks.clients.keys import token_command
from stacks.clients.origin import NO_ADDRESS, origin
from stacks.clients.settings import ClientSettings, client_settings

__all__ = [
    "NO_ADDRESS",
    "SESSION_HEADER",
    "ClientSettings",
    "answered_apis",
    "band_headers",
    "client_settings",
    "origin",
    "session_headers",
    "token_command",
]
