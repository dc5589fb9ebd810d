"""What a client writes where a key belongs: words that there is none, or how it gets a token for Identity-Aware Proxy.

Tokens are the caller's own and live for an hour; none of them is in a file, an output or a state.
"""

from __future__ import annotations

import shlex
from typing import Any

from stacks.clients.files import put
from stacks.rows import ClientRow
from stacks.spec import IdentityAwareProxy, NoAuthentication

__all__ = ["NO_KEY", "TOKEN_LIFE_S", "put_key", "token_command", "token_needs"]

NO_KEY = "not-needed"
"""For clients that do not start without one."""
TOKEN_LIFE_S = 3600
_REFRESH_MS = TOKEN_LIFE_S * 1000 // 2

Authentication = IdentityAwareProxy | NoAuthentication


def token_command(proxy: IdentityAwareProxy) -> list[str]:
    """Print a token of a service account that may pass, made out to the OAuth client. CALLER is its email."""
    return [
        *("gcloud", "auth", "print-identity-token", "--include-email"),
        *("--impersonate-service-account=CALLER", f"--audiences={proxy.client_id}"),
    ]


def put_key(document: dict[str, Any], row: ClientRow, authentication: Authentication) -> None:
    """Write what stands for the key."""
    match authentication:
        case NoAuthentication():
            if row.key.path:
                put(document, row.key.path, NO_KEY)
        case IdentityAwareProxy():
            _put_token(document, row, token_command(authentication))


def _put_token(document: dict[str, Any], row: ClientRow, words: list[str]) -> None:
    command, variable = row.key.command, row.key.variable
    if command is not None:
        put(document, command.path, words[0] if command.arguments else shlex.join(words))
        if command.arguments:
            put(document, command.arguments, words[1:])
        if command.refresh_ms:
            put(document, command.refresh_ms, str(_REFRESH_MS) if row.file.as_text else _REFRESH_MS)
    elif variable is not None:
        if row.key.path and variable.reference:
            put(document, row.key.path, variable.reference)
    elif row.key.path:
        put(document, row.key.path, "TOKEN")


def token_needs(row: ClientRow, authentication: Authentication) -> list[str]:
    """Say what a person has to do for the token, in words."""
    if isinstance(authentication, NoAuthentication):
        return []
    words = shlex.join(token_command(authentication))
    if row.key.command is not None:
        return ["CALLER in the configuration is the email of a service account that may pass Identity-Aware Proxy"]
    where = f"the variable {row.key.variable.name}" if row.key.variable else "the place of TOKEN"
    return [f"it takes no command for its key: a token goes into {where} once an hour, from `{words}`"]
