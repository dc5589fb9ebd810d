"""Which APIs a stack answers: those that its router understands and what is behind it serves."""

from __future__ import annotations

from collections.abc import Collection

from stacks.row_lookup import Rows
from stacks.rows import Api, DynamoRelease

__all__ = ["answered_apis"]


def answered_apis(rows: Rows) -> Collection[Api]:
    """Return the APIs that requests may be made to.

    A frontend of Dynamo's answers by itself, with the flags that the kit renders for it; llm-d's picker reads requests
    that the engine's own server answers.
    """
    if isinstance(rows.release, DynamoRelease):
        return rows.release.apis.flags.keys()
    served = rows.engine.apis.served if rows.engine.apis else []
    return [api for api in rows.release.apis.read if api in served]
