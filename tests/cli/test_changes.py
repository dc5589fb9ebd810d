"""`plan --set`: where each assignment lands, and what is said about a wrong one."""

from __future__ import annotations

from typing import Any

import pytest
import typer

from beamline.cli.changes import Change, apply, parse_change
from stacks.problems import Problem
from tests.cli.command import run

CONFIG = {
    "beamline:preset": "g4-llmd",
    "beamline:zone": "us-central1-b",
    "beamline:overrides": {"serving": {"shape": {"replicas": 1}}},
}

LANDS: dict[str, dict[str, Any]] = {
    "zone=us-central1-f": {"beamline:zone": "us-central1-f"},
    "mirror=127.0.0.1:5000/mirror": {"beamline:mirror": "127.0.0.1:5000/mirror"},
    "accept_unverified=[precision:nvfp4]": {"beamline:accept_unverified": ["precision:nvfp4"]},
    "serving.shape.replicas=2": {"beamline:overrides": {"serving": {"shape": {"replicas": 2}}}},
    "overrides.serving.shape.replicas=2": {"beamline:overrides": {"serving": {"shape": {"replicas": 2}}}},
    "serving.shape.expert_parallel=false": {
        "beamline:overrides": {"serving": {"shape": {"replicas": 1, "expert_parallel": False}}}
    },
    "serving.engine.version=0.33.0": {
        "beamline:overrides": {"serving": {"shape": {"replicas": 1}, "engine": {"version": "0.33.0"}}}
    },
    "serving.speculation=null": {"beamline:overrides": {"serving": {"shape": {"replicas": 1}, "speculation": None}}},
    "serving.kv_cache.offload={kind: none}": {
        "beamline:overrides": {"serving": {"shape": {"replicas": 1}, "kv_cache": {"offload": {"kind": "none"}}}}
    },
    "mirror=yes": {"beamline:mirror": "yes"},
    "zone=2026-13-45": {"beamline:zone": "2026-13-45"},
    "zone=12:30:45": {"beamline:zone": "12:30:45"},
    "serving.context_tokens=1e6": {
        "beamline:overrides": {"serving": {"shape": {"replicas": 1}, "context_tokens": 1000000.0}}
    },
    "serving.shape=8": {"beamline:overrides": {"serving": {"shape": 8}}},
    "serving.shape.replicas.x=8": {"beamline:overrides": {"serving": {"shape": {"replicas": {"x": 8}}}}},
    "zon=x": {"beamline:zon": "x"},
    "servin.shape=x": {"beamline:overrides": {"serving": {"shape": {"replicas": 1}}, "servin": {"shape": "x"}}},
    "description=a=b": {"beamline:overrides": {"serving": {"shape": {"replicas": 1}}, "description": "a=b"}},
}


@pytest.mark.parametrize("text", LANDS)
def test_an_assignment_lands_in_the_setting_or_the_override_it_names(text: str) -> None:
    before = repr(CONFIG)
    assert apply(parse_change(text), CONFIG) == CONFIG | LANDS[text]
    assert repr(CONFIG) == before


NO_ASSIGNMENTS = (
    "serving",
    "=2",
    "serving..x=2",
    ".x=2",
    "serving.x=[1",
    "serving.x={a: b: c}",
    "serving={a: 1, a: 2}",
    "serving=&a [*a]",
    "serving=*a",
    "serving=!!python/object:os.system x",
    'serving.namespace="\\ud800"',
)


@pytest.mark.parametrize("text", NO_ASSIGNMENTS)
def test_what_is_no_assignment_is_wrong_usage(text: str) -> None:
    with pytest.raises(typer.BadParameter):
        parse_change(text)


@pytest.mark.parametrize(
    ("change", "rule", "path", "caused"),
    [
        ("zone", "wrong-value", "zone", True),
        ("zone", "wrong-value", "zones", False),
        ("serving.shape", "wrong-value", "serving.shape.replicas", True),
        ("overrides.serving.shape", "wrong-value", "serving.shape.replicas", True),
        ("serving.shape.replicas", "missing-key", "serving.shape", False),
        ("serving.shpe.replicas", "unknown-key", "serving.shpe", True),
        ("accept_unverified", "wrong-value", "accept_unverified[0]", True),
        ("zon", "unknown-key", "beamline:zon", True),
    ],
)
def test_a_problem_belongs_to_the_assignment_of_its_value_or_of_its_section(
    change: str, rule: str, path: str, caused: bool
) -> None:
    assert Change(change, None).caused(Problem(rule, path, why="x", remedy="x")) is caused


def test_two_replicas_on_two_nodes_are_planned_and_priced() -> None:
    changes = ["serving.shape.replicas=2", "accelerator_pools.main.nodes=2", "accept_unverified=[replicas:many]"]
    ran = run("plan", "g4", "--json", *(part for change in changes for part in ("--set", change)))
    derived = {line["name"]: line["value"] for line in ran.json()["derived"]}
    assert (ran.code, derived["nodes_needed"], derived["usd_per_hour"]) == (0, 2, 72.0012)


def test_wrong_assignments_are_problems_like_any_other_and_name_themselves() -> None:
    changes = ["serving.shpe.replicas=2", "serving.engine.version=0.32", "zone=here", "projct=acme-inference"]
    ran = run("plan", "g4", "--json", *(part for change in changes for part in ("--set", change)))
    problems = [(p["rule"], p["path"], p["where"]) for p in ran.json()["problems"] if p["severity"] == "error"]
    assert (ran.code, problems) == (
        1,
        [
            ("unknown-key", "projct", "--set projct"),
            ("wrong-value", "serving.engine.version", "--set serving.engine.version"),
            ("unknown-key", "serving.shpe", "--set serving.shpe.replicas"),
            ("wrong-value", "zone", "--set zone"),
        ],
    )


def test_the_last_assignment_of_a_key_counts() -> None:
    ran = run("plan", "g4", "--json", "--set", "project=first-project", "--set", "project=second-project")
    assert "second-project" in ran.stdout
    assert "first-project" not in ran.stdout
