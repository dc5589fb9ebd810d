"""The engines are asked once a run, both at the same time; a summary says what was judged, by which versions."""

from __future__ import annotations

import concurrent.futures
import time
from pathlib import Path
from typing import Any

import pytest
import yaml

from bench.kv_blocks import BOUND, deviations
from tests.engines.asking import CHECKOUT, PYTHON, Case, ask, every_case, every_spec
from tests.engines.kv_figures import measured

ENGINES = ("vllm", "sglang")
BAD: list[dict[str, Any]] = yaml.safe_load(Path(__file__).with_name("bad_cases.yaml").read_text())
_SUMMARY: list[str] = []


def bad_case(bad: dict[str, Any]) -> Case:
    """A sound container with one fault in it."""
    sound = next(
        case for case in every_case() if case.program == bad["program"] and case.name.startswith(("g4", "a4x"))
    )
    told = {word.split("=")[0] for word in bad.get("words", [])}
    kept = [word for word in sound.words if word.split("=")[0] not in told]
    case = Case(
        f"bad/{bad['name']}", sound.engine, sound.program, tuple(kept), sound.variables, sound.device, sound.files
    )
    return case.with_words(*bad.get("words", [])).with_variables(**bad.get("variables", {}))


@pytest.fixture(scope="session")
def answers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """What every engine says to everything."""
    assert PYTHON.is_file(), f"{PYTHON.relative_to(CHECKOUT)} is missing; run: make engines"
    started = time.monotonic()
    cases = [*every_case(), *map(bad_case, BAD)]
    with concurrent.futures.ThreadPoolExecutor() as pool:
        futures = {
            engine: pool.submit(
                ask,
                engine,
                [case for case in cases if case.engine == engine],
                tmp_path_factory.mktemp(engine),
            )
            for engine in ENGINES
        }
        found = {engine: future.result() for engine, future in futures.items()}
    _summarize(found, time.monotonic() - started)
    return found


def _summarize(found: dict[str, dict[str, Any]], seconds: float) -> None:
    verdicts = [v for answer in found.values() for v in answer["verdicts"] if not v["name"].startswith("bad/")]
    versions = ", ".join(f"{name} {version}" for name, version in found["vllm"]["versions"].items())
    presets = {verdict["name"].split("/")[0] for verdict in verdicts}
    refused = sum(len(verdict["refused"]) for verdict in verdicts)
    _SUMMARY.append(f"judged by {versions}")
    _SUMMARY.append(
        f"{len(presets)} presets and features, {len(verdicts)} different engine containers, "
        f"{sum(v['flags'] for v in verdicts)} flags, {sum(v['variables'] for v in verdicts)} variables: "
        f"{refused} unknown or refused ({seconds:.0f} s); {len(BAD)} faults put in, each refused by its engine"
    )
    rows, specs = measured(found), every_spec()
    largest = max((abs(each) for row in rows for each in deviations(row, specs)), default=0.0)
    _SUMMARY.append(
        f"GPU memory of {sum(len(row.stacks) for row in rows)} workers in {len(rows)} sizes divided into KV cache by "
        f"the engines: the kit's tokens deviate by {largest:.2%} at most (bound {BOUND:.0%})"
    )


def say(line: str) -> None:
    """Have a line printed at the end."""
    _SUMMARY.append(line)


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Print what was judged."""
    for line in _SUMMARY:
        terminalreporter.write_line(line)
