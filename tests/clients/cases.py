"""Stacks whose clients are compared whole: both routers, bands, sessions, a proxy that wants tokens, little context."""

from __future__ import annotations

import dataclasses

from stacks import StackSpec
from stacks.rows import DynamoRelease
from tests.manifests.cases import RESERVATION, resolved, spec_of
from tests.shipped import accepted

__all__ = ["ADDRESS", "ALL_FEATURES", "CASES", "client_spec"]

ADDRESS = "10.0.0.9"
ALL_FEATURES = ("g4-llmd-b3", "a4x-max-dynamo-b3")
"""Rungs of the ladder with sessions and bands, one with each router stack."""
CASES = {
    **{preset: preset for preset in ALL_FEATURES},
    "g4-llmd": "nothing that clients have to send",
    "small-l4": "little context",
    "events": "llm-d hears of caches",
    "https": "a certificate, and tokens for Identity-Aware Proxy",
    "no-anthropic-api": "a release of Dynamo without it",
}


def client_spec(case: str) -> StackSpec:
    """Return the stack of a case."""
    if case in ALL_FEATURES:
        place = {"reservation": RESERVATION} if case.startswith("a4x") else {}
        return resolved(case, {}, accepted(case), **place)
    if case == "no-anthropic-api":
        return _without(spec_of("g4-dynamo"), "anthropic_messages")
    return spec_of(case)


def _without(spec: StackSpec, api: str) -> StackSpec:
    """The same stack on a release that does not answer an API."""
    release = spec.rows.release
    if not isinstance(release, DynamoRelease):
        raise TypeError(release)
    flags = {name: flag for name, flag in release.apis.flags.items() if name != api}
    apis = release.apis.model_copy(update={"flags": flags})
    rows = dataclasses.replace(spec.rows, release=release.model_copy(update={"apis": apis}))
    return dataclasses.replace(spec, rows=rows)
