"""Field-by-field comparison of two graphs of one program."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable

from beamline.engine import Graph, Read, Resource


def differences(expected: Graph, actual: Graph) -> list[str]:
    """Name every field in which the graphs differ. Logs are left out: the engine's gRPC log does not hold them.

    Secrets are compared by value, but only their place is shown.
    """
    found = _record_differences(expected.resources, actual.resources)
    found += _record_differences(expected.reads, actual.reads)
    for name in ("outputs", "invokes"):
        found += _difference("graph", name, getattr(expected, name), getattr(actual, name))
    return found


def _record_differences(expected: Iterable[Resource | Read], actual: Iterable[Resource | Read]) -> list[str]:
    left, right = {record.urn: record for record in expected}, {record.urn: record for record in actual}
    found = [f"{urn}: only in the first" for urn in sorted(left.keys() - right.keys())]
    found += [f"{urn}: only in the second" for urn in sorted(right.keys() - left.keys())]
    for urn in sorted(left.keys() & right.keys()):
        for field in dataclasses.fields(left[urn]):
            found += _difference(urn, field.name, getattr(left[urn], field.name), getattr(right[urn], field.name))
    return found


def _difference(where: str, name: str, expected: object, actual: object) -> list[str]:
    return [] if expected == actual else [f"{where}: {name}: {expected!r} != {actual!r}"]
