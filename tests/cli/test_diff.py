"""``plan --diff``: both sides under one name, what was meant and what comes of it, in lines that can be reviewed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from beamline.cli.diff_text import lines_of, word
from beamline.comparison import Difference, Opaque, differences
from tests.cli.command import run
from tests.cli.golden import MISTAKES


def test_a_stack_does_not_differ_from_its_preset_nor_from_itself() -> None:
    """Their names differ, and with them the name of every resource; that is no difference."""
    for pair in (("g4", "g4"), ("g4", "g4-llmd"), ("g4-llmd", "g4"), ("a4x-max", "a4x-max-dynamo")):
        ran = run("plan", "--diff", *pair)
        assert (ran.code, ran.stderr) == (0, "")
        assert ran.stdout.startswith(f"{pair[0]} -> {pair[1]}: nothing differs; ")
        assert ran.stdout.count("\n") == 1


def test_set_changes_the_second_one_alone() -> None:
    ran = run("plan", "--diff", "g4", "g4", "--set", "serving.engine.batched_tokens=4096")
    head, preset, numbers, objects = ran.stdout.split("\n\n")
    assert ran.code == 0
    assert head.startswith("g4 -> g4: 0 resources added, 0 removed, 1 changed; ")
    assert preset == "preset\n  ~ serving.engine.batched_tokens: 8192 -> 4096"
    assert numbers.startswith("derived numbers\n  ~ kv_tokens_per_replica: ")
    assert objects.splitlines() == [
        "Kubernetes objects: 1 changed",
        "  ~ Deployment serving-engine",
        "      spec.template.spec.containers[engine]",
        "        ~ --max-num-batched-tokens: 8192 -> 4096",
    ]


def test_a_warning_that_only_one_side_has_is_told_with_its_place() -> None:
    ran = run("plan", "--diff", "g4", "g4", "--set", "serving.kv_cache.offload.gib_per_replica=300")
    assert ran.code == 0
    assert "\nproblems\n  + warning[host-tier-unproven] serving.kv_cache.offload.gib_per_replica = 300\n" in ran.stdout


def test_a_preset_is_planned_with_the_settings_of_the_stack_beside_it(tmp_path: Path) -> None:
    """Project, region and zone of the stack file are no difference from a preset, which has none."""
    file = tmp_path / "Pulumi.mine.yaml"
    settings = {"preset": "g4-llmd", "project": "acme-inference", "region": "us-east5", "zone": "us-east5-a"}
    file.write_text(yaml.safe_dump({"config": {f"beamline:{key}": value for key, value in settings.items()}}))
    assert "nothing differs" in run("plan", "--diff", "g4-llmd", str(file)).stdout
    assert "nothing differs" in run("plan", "--diff", str(file), "g4-llmd").stdout
    told = run("plan", "--diff", "g4", str(file)).stdout
    assert "stack settings\n  ~ project: your-project-id -> acme-inference\n" in told


def test_a_preset_that_needs_acceptance_can_be_compared_and_says_so() -> None:
    ran = run("plan", "--diff", "g4-llmd", "g4-llmd-nvfp4")
    assert ran.code == 0
    assert "  + precision:nvfp4: unverified\n" in ran.stdout


@pytest.mark.parametrize("pair", [("g4", MISTAKES), (MISTAKES, "g4"), ("nowhere", "g4"), ("nowhere", MISTAKES)])
def test_problems_of_either_side_are_told_and_nothing_is_compared(pair: tuple[str, str]) -> None:
    ran = run("plan", "--diff", *pair)
    document = run("plan", "--diff", *pair, "--json")
    assert (ran.code, document.code) == (1, 1)
    assert ran.stdout.startswith(f"{pair[0]} -> {pair[1]}: not compared\n")
    assert (MISTAKES in pair) == ("error[unknown-key]" in ran.stdout)
    assert ("nowhere" in pair) == ("error[unknown-stack]" in ran.stdout)
    assert (document.json()["compared"], document.json()["resources"]) == (False, [])


@pytest.mark.parametrize(
    "words",
    [
        ["plan", "--diff", "g4"],
        ["plan", "--diff", "g4", "g4", "g4"],
        ["plan", "--diff", "g4", "g4", "--against", MISTAKES],
        ["plan", "--diff", "g4", "g4", "--set", "nonsense"],
    ],
)
def test_wrong_usage(words: list[str]) -> None:
    assert run(*words).code == 2


def test_json_says_what_the_text_says() -> None:
    document = run("plan", "--diff", "g4-llmd", "g4-llmd-multi", "--json").json()
    assert document["preset"] == [
        {"path": "accelerator_pools.main.nodes", "change": "changed", "old": 1, "new": 2},
        {"path": "serving.shape.replicas", "change": "changed", "old": 1, "new": 2},
    ]
    assert {"name": "usd_per_hour", "unit": "USD/h", "old": 36.0006, "new": 72.0012} in document["derived"]
    (pool,) = [r for r in document["resources"] if r["kind"] == "gcp.container.NodePool"]
    assert pool == {
        "type": "gcp:container/nodePool:NodePool",
        "kind": "gcp.container.NodePool",
        "name": "main-pool",
        "old_name": "main-pool",
        "change": "changed",
        "differences": [{"path": "nodeCount", "change": "changed", "old": 1, "new": 2}],
    }


WORDS: list[tuple[Any, str]] = [
    ("4Gi", "4Gi"),
    ("", '""'),
    ("true", '"true"'),
    (True, "true"),
    (None, "null"),
    ("a -> b", '"a -> b"'),
    ("a: b", '"a: b"'),
    (" a", '" a"'),
    ({"a": [1, "x", {}]}, "{a: [1, x, {}]}"),
    (Opaque("secret", "hunter2"), "(secret)"),
    (Opaque("unknown"), "(known after apply)"),
]


@pytest.mark.parametrize(("value", "expected"), WORDS)
def test_a_value_reads_as_what_it_is(value: Any, expected: str) -> None:
    assert word(value) == expected


LONG = " ".join(f"word{i}" for i in range(30))

LINES: dict[str, tuple[Difference, list[str]]] = {
    "a number and its digits": (Difference(("a",), "changed", 1, "1"), ['~ a: 1 -> "1"']),
    "a switch": (Difference(("args", "--fast"), "added", new=True), ["+ --fast"]),
    "an element that is its name": (Difference(("ports", "[443/TCP]"), "added", new={}), ["+ ports[443/TCP]"]),
    "an empty section": (Difference(("emptyDir",), "added", new={}), ["+ emptyDir: {}"]),
    "a flag that holds JSON": (
        Difference(("args", "--config"), "removed", old='{"a":{"b":1}}'),
        ["- --config: {a: {b: 1}}"],
    ),
    "a script, by its lines": (
        Difference(("data", "[s.sh]"), "changed", "set -eu\na\nb\n", "set -eu\na\nc\n"),
        ["~ data[s.sh]", "    - b", "    + c"],
    ),
    "the end of a script": (Difference(("x",), "changed", "a\nb", "a\nb\n"), ['~ x: "a\\nb" -> "a\\nb\\n"']),
    "what is too long for a line": (
        Difference(("x",), "changed", "short", LONG),
        ["~ x", "    - short", *(f"{'    + ' if not i else '        '}{part}" for i, part in enumerate(
            [" ".join(f"word{n}" for n in range(17)), " ".join(f"word{n}" for n in range(17, 30))]
        ))],
    ),
    "a part that is too long for a line": (
        Difference(("spec", "x"), "added", new={"a": LONG[:90], "b": {"c": [LONG[:59], 1]}}),
        ["+ spec.x", f"    a: {LONG[:90]}", f"    b: {{c: [{LONG[:59]}, 1]}}"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", LINES)
def test_a_difference_reads_in_lines(name: str) -> None:
    difference, expected = LINES[name]
    assert list(lines_of(difference, "")) == expected


def test_a_secret_is_never_written() -> None:
    (found,) = differences({"a": Opaque("secret", "hunter2")}, {"a": Opaque("secret", "hunter3")})
    assert "hunter" not in "\n".join(lines_of(found, ""))
