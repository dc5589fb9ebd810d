"""Speed for thousands of inputs, and the table at the end of a run."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.fuzz.sound import remembered_texts
from tests.fuzz.tally import Tally, table


@pytest.fixture(autouse=True, scope="module")
def _shipped_presets_are_parsed_once() -> Iterator[None]:
    with remembered_texts():
        yield


@pytest.fixture
def tally(request: pytest.FixtureRequest) -> Iterator[Tally]:
    """Return the count of one test; it goes into the table."""
    counted = Tally(str(request.function.__doc__).partition(":")[0])
    yield counted
    request.node.user_properties.append(("fuzz", {**vars(counted), "rules": dict(counted.rules)}))


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Print the table, when the fuzz tests were asked for by name."""
    reports = [r for of in ("passed", "failed", "error", "") for r in terminalreporter.stats.get(of, [])]
    seconds = {r.nodeid: r.duration for r in reports if r.when == "call"}
    found = {r.nodeid: dict(r.user_properties)["fuzz"] for r in reports if "fuzz" in dict(r.user_properties)}
    if found:
        terminalreporter.section("fuzz")
        for line in table((row, seconds.get(node, 0.0)) for node, row in sorted(found.items())):
            terminalreporter.write_line(line)
