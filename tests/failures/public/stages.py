"""The stages at which a public failure can be stopped, and how each is really run for a row of a table."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from beamline import crds
from beamline.checks.engines import engine_problems
from beamline.checks.kubernetes_schemas import schema_problems
from beamline.preflight import Standing
from beamline.sandbox.cloud.errors import CloudError
from beamline.sandbox.cloud.ledger import Ledger
from beamline.sandbox.cloud.operations import Operations
from beamline.sandbox.cloud.simulation import Cluster, Simulation
from policies import rule_problems
from policies.objects import RegisteredObject
from tests.checks import test_engines as engines
from tests.cloud import test_refusals as cloud
from tests.cloud.fake_api import FakeApi
from tests.components.plans import CHECKOUT, PRESETS, plan
from tests.crds import samples
from tests.failures.public.invariants import Documents, broken, documents
from tests.failures.test_failures import CASES, found_in
from tests.manifests import test_epp_verdicts
from tests.manifests.cases import CASES as LLMD_CASES
from tests.policies import test_rules as policies
from tests.policies.graphs import with_values
from tests.preflight import test_judgements as preflight
from tests.shipped import TOPS

__all__ = ["RUN", "STAGES", "pickers", "stacks"]

_MINOR = "1.35"
_LLMD = ("two-tiers", "in-turn", "sessions", "bands", "events", "a-picker-stands-by", "apart")
"""Of the cases of tests/manifests: what llm-d's router can be told, and prefill apart."""


@cache
def stacks() -> dict[str, Documents]:
    """Return what invariants are held against: presets, the tops of the ladders, and what neither has by itself."""
    rdma = {"serving": {"transport": {"name": "nvlink+rdma"}}}
    graphs = {preset: plan(preset) for preset in (*PRESETS, *TOPS)}
    graphs["a4x-max-dynamo with nvlink+rdma"] = plan(
        "a4x-max-dynamo", overrides=rdma, accept_unverified=["transport:nvlink+rdma"]
    )
    for name in _LLMD:
        preset, overrides, accept = LLMD_CASES[name]
        graphs[f"{preset}, {name}"] = plan(preset, overrides=overrides, accept_unverified=accept)
    return {name: documents(graph) for name, graph in graphs.items()}


def _plan(ids: list[str], severity: str = "error") -> Iterator[str]:
    """Plan finds the problems of these cases, and one at least has the severity: only an error stops anyone."""
    for each in ids:
        case = _case(each)
        wanted = {(problem["rule"], problem.get("severity", "error")) for problem in case["problems"]}
        missed = wanted - {(problem.rule, problem.severity) for problem in _found(case)}
        if missed or severity not in {of for _, of in wanted}:
            yield f"{each}: {', '.join(sorted(rule for rule, _ in missed)) or f'expects no {severity}'}"


def _warned(ids: list[str]) -> Iterator[str]:
    """Plan goes on, and says so."""
    yield from _plan(ids, "warning")


def _passes(ids: list[str]) -> Iterator[str]:
    """What only looks wrong is let through, and its case says so."""
    for each in ids:
        case = _case(each)
        errors = [problem.rule for problem in _found(case) if problem.severity == "error"]
        if case["problems"] or errors:
            yield f"{each}: {', '.join(errors) or 'expects problems'}"


def _case(name: str) -> Mapping[str, Any]:
    return next(case for case in CASES if case["id"] == name)


def _found(case: Mapping[str, Any]) -> list[Any]:
    with tempfile.TemporaryDirectory() as folder:
        return found_in(case, Path(folder) / "case")


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


def _rule(names: list[str]) -> Iterator[str]:
    """Rules over the graph, by the cases of tests/policies."""
    cases = {case["name"]: case for case in policies.CASES}
    for name in names:
        if name in cases:
            graph, wanted = with_values(cases[name]["bad"]), {found["rule"] for found in cases[name]["found"]}
        else:
            graph, _, (rule, _) = policies.REGISTRATIONS[name]
            wanted = {rule}
        if not wanted <= {problem.rule for problem in rule_problems(graph)}:
            yield name


def _engine(names: list[str]) -> Iterator[str]:
    """What engines take, by the cases of tests/checks/engine_cases.yaml."""
    cases = {case["name"]: case for case in engines.CASES}
    for name in names:
        wanted = {rule for rule, _ in cases[name]["found"]}
        if not wanted or not wanted <= {
            problem.rule for problem in engine_problems(engines.graph_of_case(cases[name]))
        }:
            yield name


def _schema(titles: list[str], *, offline: bool = True) -> Iterator[str]:
    """Samples of tests/crds/bad.yaml, by their titles."""
    bad = {samples.title(row): row for row in samples.BAD}
    for title in titles:
        row = bad[title]
        if row.get("offline", True) is not offline or bool(crds.problems(samples.broken(row))) is not offline:
            yield title


def _server(titles: list[str]) -> Iterator[str]:
    """Rules in CEL, which a server alone judges: tests/crds/test_server.py puts each sample before a real one."""
    yield from _schema(titles, offline=False)


def _kind(kinds: list[str]) -> Iterator[str]:
    """Kinds that no schema here knows: nothing could judge them, so they are refused as a whole."""
    for words in kinds:
        api_version, kind = words.split()
        body = {"apiVersion": api_version, "kind": kind, "metadata": {"name": "x"}, "spec": {}}
        found = schema_problems([RegisteredObject("urn", "", body)], _MINOR)
        if [problem.rule for problem in found] != ["kubernetes-kind"]:
            yield words


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


def _verdict(judges: list[str], *, itself: bool = True) -> Iterator[str]:
    """What a release of the picker said to all that is rendered for it, and to the same with a mistake in it."""
    for judge in judges:
        about = {name: each for name, each in test_epp_verdicts.CONFIGS.items() if pickers([each]) == {judge}}
        if not about:
            yield f"{judge}: nothing is rendered for it"
        for name, rendered in about.items():
            verdict = test_epp_verdicts.BY_KEY.get(rendered.key)
            if verdict is None:
                yield f"{name}: not judged"
            elif verdict["result"] != "loaded" or "not refused" in verdict["refused"].values():
                yield f"{name}: {verdict['result']}"
            elif itself and "unverified" in verdict:
                yield f"{name}: {'; '.join(verdict['unverified'])}"


def _stand_in(judges: list[str]) -> Iterator[str]:
    """The same by another commit than the release, or of a configuration that was changed for it: it stops nothing."""
    yield from _verdict(judges, itself=False)


def pickers(configs: Iterable[test_epp_verdicts.Rendered] = test_epp_verdicts.CONFIGS.values()) -> set[str]:
    """Return the pickers that configurations are rendered for, as rows name them."""
    return {f"endpoint picker {rendered.router}" for rendered in configs}


RUN: Mapping[str, Callable[[Any], Iterator[str]]] = {
    "plan": _plan,
    "always": _always,
    "code": _code,
    "rule": _rule,
    "engine": _engine,
    "schema": _schema,
    "kind": _kind,
    "preflight": _preflight,
    "emulator": _emulator,
    "server": _server,
    "verdict": _verdict,
    "warned": _warned,
    "stand_in": _stand_in,
    "verify": lambda _words: iter(()),
    "passes": _passes,
}
"""Stage -> what goes past it, in the order in which a user meets them; ``always`` and ``code``: the kit makes no such
stack; ``warned``: told, and goes on; ``stand_in`` and ``verify`` stop nothing; ``passes``: it is no failure and has to
be let through."""
STAGES = tuple(RUN)
