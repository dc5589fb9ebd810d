"""What planning costs, against what nobody can avoid: importing Pulumi's SDKs."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from bench.cold import BEAMLINE, output, python, seconds
from bench.pairs import alternate, compare
from bench.rows import Goal, Question, Row
from stacks.problems import EnvironmentProblem

__all__ = ["PLANNING", "largest_stack", "plan_s", "planning", "resource_count"]

_SDKS = ("pulumi", "pulumi_gcp", "pulumi_kubernetes")
_LOADED = "[name for name, module in sys.modules.items() if type(module).__name__ != '_LazyModule']"
"""Names of modules that ran; the SDKs also register modules that would run when something in them is asked for."""
_REPORTING = f"""
import json, os, sys
out = os.fdopen(os.dup(1), "w")
os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
from beamline.cli import app
code = app(sys.argv[1:], standalone_mode=False)
out.write(json.dumps({_LOADED}))
out.close()
sys.exit(code)
"""
"""A verb whose output is the list of modules it loaded."""
_IMPORTING = f"""
import importlib, json, sys
for name in sys.argv[2:]:
    hasattr(importlib.import_module(name), "")  # a lazy module runs when it is asked for something
if sys.argv[1] == "report":
    sys.stdout.write(json.dumps({_LOADED}))
"""
_PLANNING_ALL = """
import sys
from beamline.cli import app
codes = [app(["plan", *arguments.split()], standalone_mode=False) for arguments in sys.argv[1:]]
sys.exit(max(codes))
"""
_A_TYPING_ERROR = ("--set", "servin.namespace=other")

IMPORT = Question(
    name="plan / bare import",
    first="`beamline plan STACK` in a fresh process: check the stack, run the program, write the plan.",
    second="A fresh process that imports the modules of `pulumi`, `pulumi_gcp` and `pulumi_kubernetes` which that "
    "plan loaded, in the same order, and nothing else.",
    goal=Goal(1.7),
    notes="Both sides start an interpreter and find bytecode of an earlier run. The list is taken from "
    "`sys.modules` of a real plan, without modules that are registered there and never ran, and it is checked that the "
    "bare process runs the same ones. What is above 1 is the "
    "kit: its own modules and their libraries, reading YAML, checking, registering, writing text.",
)
PRESETS = Question(
    name="every preset / one plan",
    first="`beamline plan PRESET` for every preset, one after the other in one fresh process.",
    second="`beamline plan STACK` in a fresh process.",
    goal=Goal(2),
    notes="Each preset is checked, run and written as by the command line; features that a preset marks as unverified "
    "are accepted, since a plan that stops there would cost nothing.",
)
WITHOUT_PULUMI = Question(
    name="modules of Pulumi for `presets`",
    first="Modules of `pulumi`, `pulumi_gcp` and `pulumi_kubernetes` that `beamline presets` loads.",
    second="",
    goal=Goal(0),
    notes="A count. The SDKs are most of a plan's time, so a verb that loads none is answered at once.",
)
ERRORS_WITHOUT_PULUMI = Question(
    name="modules of Pulumi for a typing error",
    first="Modules of `pulumi`, `pulumi_gcp` and `pulumi_kubernetes` that `beamline plan STACK` loads when a key of "
    "the stack is misspelt.",
    second="",
    goal=Goal(0),
    notes="A count.",
)
PLANNING = (IMPORT, PRESETS, WITHOUT_PULUMI, ERRORS_WITHOUT_PULUMI)
"""The questions answered here, in the order of the table."""


def largest_stack(names: Sequence[str]) -> str:
    """Return the stack whose plan has most resources; the first of several."""
    return max(names, key=resource_count)


def resource_count(stack: str) -> int:
    """Return how many cloud and cluster resources a stack's plan has; raises EnvironmentProblem when it has none."""
    plan = json.loads(output(python(*BEAMLINE, "plan", stack, "--json")))
    return sum(1 for resource in plan["resources"] if not _is_component(resource["type"]))


def plan_s(stack: str) -> float:
    """Plan a stack in a fresh process; seconds."""
    return seconds(python(*BEAMLINE, "plan", stack))


def planning(stack: str, pairs: int) -> Iterator[Row]:
    """Answer ``PLANNING``, one row at a time."""
    modules = _sdk_modules(_loaded(["plan", stack]))
    importing = python("-c", _IMPORTING, "quietly", *modules)
    _same_modules(modules)
    yield Row(
        IMPORT,
        compare(alternate(lambda: plan_s(stack), lambda: seconds(importing), pairs, warm_up=True)),
    )
    all_presets = python("-c", _PLANNING_ALL, *_presets())
    yield Row(PRESETS, compare(alternate(lambda: seconds(all_presets), lambda: plan_s(stack), pairs, warm_up=True)))
    yield Row(WITHOUT_PULUMI, len(_sdk_modules(_loaded(["presets"]))))
    yield Row(ERRORS_WITHOUT_PULUMI, len(_sdk_modules(_loaded(["plan", stack, *_A_TYPING_ERROR], code=1))))


def _loaded(verb: Sequence[str], code: int = 0) -> list[str]:
    found: list[str] = json.loads(output(python("-c", _REPORTING, *verb), code=code))
    return found


def _sdk_modules(modules: Sequence[str]) -> list[str]:
    return [name for name in modules if name.partition(".")[0] in _SDKS]


def _same_modules(modules: Sequence[str]) -> None:
    """Make sure that the bare import is of what the plan loaded, no more and no less."""
    bare = json.loads(output(python("-c", _IMPORTING, "report", *modules)))
    different = set(_sdk_modules(bare)) ^ set(modules)
    if different:
        raise EnvironmentProblem(f"plan and bare import load different modules: {', '.join(sorted(different)[:10])}")


def _presets() -> list[str]:
    """Return the arguments of one plan a preset, with what each needs to have accepted."""
    presets = json.loads(output(python(*BEAMLINE, "presets", "--json")))["presets"]
    return [f"{preset['preset']} {_accepting(preset['preset'])}".strip() for preset in presets]


def _accepting(preset: str) -> str:
    features = json.loads(output(python(*BEAMLINE, "presets", preset, "--json")))["evidence"]
    names = [feature["feature"] for feature in features if feature["status"] == "unverified"]
    return f"--set accept_unverified=[{','.join(names)}]" if names else ""


def _is_component(kind: str) -> bool:
    return kind.startswith(("beamline:", "pulumi:pulumi:"))
