"""Public failures and user mistakes as data: each is found as written, and its good twin passes."""

from __future__ import annotations

import ast
import copy
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from stacks import Problem, ProblemsFound, resolve
from stacks.forking import fork
from stacks.settings import STACKS_DIR, pulumi_config, read_stack_file
from stacks.state_secrets import state_secrets_problems
from stacks.yaml_files import read_yaml
from tests.stacks.goldens import FIVE_MISTAKES, five_mistakes

FILES = sorted(Path(__file__).parent.glob("*.yaml"))
SOUND = {
    "preset": "g4-llmd",
    "project": "acme-inference",
    "region": "us-central1",
    "zone": "us-central1-b",
}
JARGON = ("input should", "instance of", "nonetype", "subject(", "traceback", "dict", "extra inputs", "pydantic")


CASES: list[dict[str, Any]] = [case for file in FILES for case in read_yaml(file)["cases"]]


def _laid_over(base: Any, over: Any) -> Any:
    """The good twin: ``over`` on ``base``, null takes a key away."""
    if not (isinstance(base, dict) and isinstance(over, dict)):
        return over
    merged = dict(base)
    for key, value in over.items():
        if value is None:
            merged.pop(key, None)
        else:
            merged[key] = _laid_over(merged.get(key), value)
    return merged


def _set(data: dict[str, Any], dotted: str, value: Any) -> None:
    *sections, key = dotted.split(".")
    for section in sections:
        data = data[section]
    if value is None:
        del data[key]
    else:
        data[key] = value


def _stacks_folder(case: Mapping[str, Any], folder: Path) -> Path:
    """A copy of stacks/ with the case's files and edits; the shipped one when there are none."""
    if not (case.get("files") or case.get("edits")):
        return STACKS_DIR
    root = folder / "stacks"
    for part in ("catalog", "presets"):
        shutil.copytree(STACKS_DIR / part, root / part)
    for name, text in case.get("files", {}).items():
        if text is None:
            (root / name).unlink()
        else:
            (root / name).write_text(text, encoding="utf-8")
    for name, changes in case.get("edits", {}).items():
        data = read_yaml(root / name)
        for dotted, value in changes.items():
            _set(data, dotted, copy.deepcopy(value))
        (root / name).write_text(yaml.safe_dump(data), encoding="utf-8")
    return root


def _stack_file(case: Mapping[str, Any], folder: Path, stack: str) -> Path:
    path = folder / f"Pulumi.{stack}.yaml"
    if "file" in case:
        text = case["file"]
    else:
        settings = SOUND | case.get("config", {})
        config = {key if ":" in key else f"beamline:{key}": value for key, value in settings.items()}
        for key in case.get("without", []):
            del config[f"beamline:{key}"]
        text = yaml.safe_dump({**case.get("pulumi", {}), "config": config}, allow_unicode=True)
    path.write_text(text, encoding="utf-8")
    return path


def found_in(case: Mapping[str, Any], folder: Path) -> list[Problem]:
    """Every problem, warning and note of a case, through the one way in."""
    folder.mkdir(parents=True, exist_ok=True)
    stack = case.get("stack", "g4")
    root, applying = _stacks_folder(case, folder), case.get("applying", False)
    where, path = f"stacks/Pulumi.{stack}.yaml", _stack_file(case, folder, stack)
    own: list[Problem] = []
    try:
        if "fork" in case:
            return list(fork(**{"hardware": None, **case["fork"]}, root=root).problems)
        config = pulumi_config(read_stack_file(path))
        project = config.get("beamline:project")
        environ = case.get("environment", {})
        own = state_secrets_problems(read_yaml(path), environ, project=project, applying=applying, where=where)
        spec = resolve(stack, config, where=where, applying=applying, root=root)
    except ProblemsFound as problems:
        return [*own, *problems.problems]
    return [*own, *spec.problems]


def _relevant(problems: list[Problem], case: Mapping[str, Any]) -> list[Problem]:
    named = {p["rule"] for p in case["problems"]}
    return [p for p in problems if p.severity != "note" or p.rule in named]


@pytest.mark.parametrize("case", CASES, ids=[case["id"] for case in CASES])
def test_case(case: dict[str, Any], tmp_path: Path) -> None:
    """Exactly the expected problems are found; the good twin has no error and none of their rules."""
    found = found_in(case, tmp_path / "case")
    relevant = _relevant(found, case)
    expected = [(p["rule"], p["path"], p.get("severity", "error")) for p in case["problems"]]
    assert sorted((p.rule, p.path, p.severity) for p in relevant) == sorted(expected)
    for wanted in (p for p in case["problems"] if "where" in p):
        assert wanted["where"] in {p.where for p in relevant if (p.rule, p.path) == (wanted["rule"], wanted["path"])}
    for problem in found:
        _is_helpful(problem)
    if "good" in case:
        twin = found_in(_laid_over(case, case["good"]), tmp_path / "good")
        rules = {p["rule"] for p in case["problems"]}
        assert [p for p in twin if p.severity == "error" or (p.rule in rules and p.severity != "note")] == []


def _is_helpful(problem: Problem) -> None:
    assert problem.path
    assert problem.why
    assert problem.remedy
    assert problem.where
    assert not [word for word in JARGON if word in f"{problem.why} {problem.remedy} {problem.allowed}".lower()]


def test_five_mistakes_give_five_problems() -> None:
    """A stack file with five mistakes is told all five, in full, in one run."""
    text = five_mistakes()
    assert text.count("error[") == 5
    assert text == (FIVE_MISTAKES / "problems.txt").read_text(encoding="utf-8"), "if right: tests.stacks.goldens"


def _rules_in_code() -> set[str]:
    """Every rule id that stacks/ can give a problem: literals of ``rule=`` and of variables called rule."""
    rules = set()
    for file in STACKS_DIR.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.keyword) and node.arg == "rule" and isinstance(node.value, ast.Constant):
                rules.add(str(node.value.value))
            if isinstance(node, ast.Assign):
                rules |= _rule_of_assignment(node)
    return rules


def _rule_of_assignment(node: ast.Assign) -> set[str]:
    target, value = node.targets[0], node.value
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
        pairs = list(zip(target.elts, value.elts, strict=True))
    else:
        pairs = [(target, value)]
    return {
        str(v.value) for t, v in pairs if isinstance(t, ast.Name) and t.id == "rule" and isinstance(v, ast.Constant)
    }


def test_every_rule_has_a_case() -> None:
    """No rule of stacks/ is without a case that trips it, and no case expects a rule that is gone."""
    assert {p["rule"] for case in CASES for p in case["problems"]} == _rules_in_code()


def test_every_rule_of_a_check_has_a_good_twin() -> None:
    """For each rule of stacks/checks some case says which smallest change passes."""
    checks = {
        str(keyword.value.value)
        for file in (STACKS_DIR / "checks").glob("*.py")
        for keyword in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(keyword, ast.keyword) and keyword.arg == "rule" and isinstance(keyword.value, ast.Constant)
    }
    with_twin = {p["rule"] for case in CASES if "good" in case for p in case["problems"]}
    assert checks - with_twin == set()


def test_case_ids_are_unique() -> None:
    """A case can be found by its name."""
    ids = [case["id"] for case in CASES]
    assert sorted(set(ids)) == sorted(ids)
