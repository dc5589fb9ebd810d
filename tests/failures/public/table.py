"""Public failures, and the stage at which this kit stops each of them: ``make failures`` prints the table.

Every stage is really run: plan on the cases of tests/failures, invariants on the graph of every preset, preflight's
judgement on a scripted answer of the project, the simulated Google on a request.
"""

from __future__ import annotations

import re
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from beamline.preflight import Standing
from beamline.sandbox.cloud.errors import CloudError
from beamline.sandbox.cloud.ledger import Ledger
from beamline.sandbox.cloud.operations import Operations
from beamline.sandbox.cloud.simulation import Cluster, Simulation
from tests.cloud import test_refusals as cloud
from tests.cloud.fake_api import FakeApi
from tests.components.plans import CHECKOUT, PRESETS, plan
from tests.failures.public.invariants import Documents, broken, documents
from tests.failures.test_failures import CASES, found_in
from tests.preflight import test_judgements as preflight

__all__ = ["TABLES", "Row", "caught", "main", "rows", "stacks"]

_HERE = Path(__file__).parent
TABLES = {"gke": "GKE, A4X Max and G4", "pulumi": "Pulumi's Python SDK"}
STAGES = ("plan", "always", "code", "preflight", "emulator", "verify")
"""In the order in which a user meets them; ``always`` and ``code``: the kit makes no such stack."""
_TITLES = {"always": "impossible by construction", "code": "impossible by construction"}


@dataclass(frozen=True)
class Row:
    """One failure of a table, with what stops it by stage."""

    table: str
    number: int
    says: str
    source: str
    stages: Mapping[str, Any]


@cache
def rows(table: str) -> list[Row]:
    """Return the failures of one table."""
    data = yaml.safe_load((_HERE / f"{table}.yaml").read_text(encoding="utf-8"))["failures"]
    return [
        Row(table, each["id"], each["says"], each["source"], {s: each[s] for s in STAGES if s in each}) for each in data
    ]


@cache
def stacks() -> dict[str, Documents]:
    """Return what invariants are held against: every preset, and the transport that no preset has by itself."""
    rdma = {"serving": {"transport": {"name": "nvlink+rdma"}}}
    graphs = {preset: plan(preset) for preset in PRESETS}
    graphs["a4x-max-dynamo with nvlink+rdma"] = plan(
        "a4x-max-dynamo", overrides=rdma, accept_unverified=["transport:nvlink+rdma"]
    )
    return {name: documents(graph) for name, graph in graphs.items()}


def caught(row: Row) -> dict[str, list[str]]:
    """Return stage by stage what went past it; a stage with nothing in its list caught the failure."""
    return {stage: list(_RUN[stage](what)) for stage, what in row.stages.items()}


def _plan(ids: list[str]) -> Iterator[str]:
    cases = {case["id"]: case for case in CASES}
    for each in ids:
        with tempfile.TemporaryDirectory() as folder:
            found = {problem.rule for problem in found_in(cases[each], Path(folder) / "case")}
        wanted = {problem["rule"] for problem in cases[each]["problems"]}
        if not wanted or not wanted <= found:
            yield f"{each}: {', '.join(sorted(wanted - found)) or 'expects no problem'}"


def _always(invariants: list[Mapping[str, Any]]) -> Iterator[str]:
    for invariant in invariants:
        yield from broken(invariant, stacks())


def _code(rule: Mapping[str, Any]) -> Iterator[str]:
    files = sorted((CHECKOUT / rule["in"]).rglob("*.py"))
    texts = {str(file.relative_to(CHECKOUT)): file.read_text(encoding="utf-8") for file in files}
    about = [name for name, text in texts.items() if re.search(rule.get("only", ""), text)]
    if not about:
        yield f"no file of {rule['in']} is what this is about"
    yield from (name for name in about if name not in rule.get("but", ()) and re.search(rule["never"], texts[name]))


def _preflight(rules: list[str]) -> Iterator[str]:
    cases = {case.rule: case for case in preflight.CASES}
    for rule in rules:
        case = cases[rule]
        asked = case.asked()
        findings = preflight.BY_ID[case.check].judge(asked, case.bad(asked))
        if rule not in {finding.rule for finding in findings if finding.standing is not Standing.OK}:
            yield rule


def _emulator(ids: list[str]) -> Iterator[str]:
    refusals = {row["id"]: row for row in cloud.CASES}
    for each in ids:
        row = refusals[each]
        with tempfile.TemporaryDirectory() as folder:
            simulation = _simulation(Path(folder))
            operations = Operations(simulation)
            for need in cloud.NEEDS.get(row["of"], []):
                if need not in row.get("without", []):
                    operations.create(cloud.token(need), cloud.inputs(need))
            cloud.write(simulation, row.get("project", {}))
            try:
                operations.create(cloud.token(row["of"]), cloud.inputs(row["of"], **row.get("set", {})))
            except CloudError as refused:
                if row["says"] in str(refused):
                    continue
            yield each


def _simulation(folder: Path) -> Simulation:
    cluster = Cluster("127.0.0.1:6443", folder / "ca.crt", folder / "kubeconfig.yaml")
    (folder / "ca.crt").write_text("certificate")
    api = FakeApi()
    return Simulation(
        ledger=Ledger(folder / "cloud" / "ledger.db"),
        folder=folder / "cloud",
        time_scale=1e9,
        cluster=cluster,
        connect=lambda _path: api,
        region="us-central1",
        zone="us-central1-b",
    )


_RUN: Mapping[str, Callable[[Any], Iterator[str]]] = {
    "plan": _plan,
    "always": _always,
    "code": _code,
    "preflight": _preflight,
    "emulator": _emulator,
    "verify": lambda _words: iter(()),
}


def _stage_of(row: Row, results: Mapping[str, list[str]]) -> str:
    """The first stage that stops the failure; verify is only a promise about a running cluster."""
    stopped = [stage for stage in STAGES if stage in results and stage != "verify" and not results[stage]]
    if stopped:
        return _TITLES.get(stopped[0], stopped[0])
    return "verify only" if set(row.stages) == {"verify"} else "UNCAUGHT"


def _line(row: Row, results: Mapping[str, list[str]]) -> str:
    also = [_TITLES.get(stage, stage) for stage in STAGES if stage in results]
    first = _stage_of(row, results)
    more = ", ".join(dict.fromkeys(stage for stage in also if stage != first))
    return f"{row.number:>3}  {first:<26} {row.says}{f' [also {more}]' if more and first != 'verify only' else ''}"


def main() -> int:
    """Print a line for each failure; 1 when one goes past every stage."""
    uncaught = 0
    for table, title in TABLES.items():
        sys.stdout.write(f"{title}\n")
        results = [(row, caught(row)) for row in rows(table)]
        missed = [row for row, found in results if _stage_of(row, found) == "UNCAUGHT" or any(found.values())]
        later = [row for row, found in results if _stage_of(row, found) == "verify only"]
        for row, found in results:
            sys.stdout.write(f"{_line(row, found)}\n")
            sys.stdout.write("".join(f"     went past {stage}: {what}\n" for stage in found for what in found[stage]))
        sys.stdout.write(
            f"{len(results)} failures, {len(missed)} uncaught; {len(later)} that only a running cluster shows\n\n"
        )
        uncaught += len(missed)
    return int(bool(uncaught))


if __name__ == "__main__":
    sys.exit(main())
