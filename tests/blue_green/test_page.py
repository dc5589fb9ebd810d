"""The committed recording is of the steps as they are now, and shows what it is there to show."""

from __future__ import annotations

import re

from tests.blue_green.__main__ import PAGE
from tests.blue_green.sequence import REPLICAS, STEPS


def test_the_recording_is_of_these_steps_and_no_replica_is_missing() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert re.findall(r"^## Step \d: (.*)$", text, re.MULTILINE) == [step.says for step in STEPS]
    ready = [int(found) for found in re.findall(r"\*\*(\d+)\*\*", text)]
    assert min(ready) == REPLICAS
    assert text.count("A second `up`: no change.") == len(STEPS)
    assert "SIMULATED" in text
