"""Data is compared by names where there are names, all that differs is said, and swapping the sides mirrors it."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest

from beamline.comparison import Difference, Opaque, differences, written

Told = list[tuple[str, str, Any, Any]]


def told(old: Any, new: Any) -> Told:
    return [(written(d.path), d.change, d.old, d.new) for d in differences(old, new)]


def container(**fields: Any) -> dict[str, Any]:
    return {"containers": [{"name": "engine", **fields}]}


ENGINE = "containers[engine]"
FLAGS = ["serve", "/weights", "--max-num-seqs=64", "--enable-x", '--config={"a":{"b":1,"c":[1,2]}}']

CASES: dict[str, tuple[Any, Any, Told]] = {
    "the same": ({"a": [1, {"b": None}]}, {"a": [1, {"b": None}]}, []),
    "a value": ({"a": {"b": 1}}, {"a": {"b": 2}}, [("a.b", "changed", 1, 2)]),
    "a text for a number": ({"a": 1}, {"a": "1"}, [("a", "changed", 1, "1")]),
    "a truth for a number": ({"a": 1}, {"a": True}, [("a", "changed", 1, True)]),
    "nothing for a key": ({"a": None}, {}, [("a", "removed", None, None)]),
    "a quantity is a text": ({"memory": "1024Mi"}, {"memory": "1Gi"}, [("memory", "changed", "1024Mi", "1Gi")]),
    "a key with dots": ({"labels": {"x.io/a": "1"}}, {"labels": {}}, [("labels[x.io/a]", "removed", "1", None)]),
    "another kind of value": ({"a": [1]}, {"a": {"b": 1}}, [("a", "changed", [1], {"b": 1})]),
    "a flag's value": (
        container(args=FLAGS),
        container(args=["serve", "/weights", '--config={"c":1}', "--enable-x", "--max-num-seqs", "128"]),
        [
            (f"{ENGINE}.args.--config.a", "removed", {"b": 1, "c": [1, 2]}, None),
            (f"{ENGINE}.args.--config.c", "added", None, 1),
            (f"{ENGINE}.args.--max-num-seqs", "changed", "64", "128"),
        ],
    ),
    "flags in another order": (container(args=FLAGS), container(args=[*FLAGS[:2], *reversed(FLAGS[2:])]), []),
    "a switch comes, a word goes, a JSON value changes by one key": (
        container(args=FLAGS),
        container(args=["serve", "--max-num-seqs=64", "--enable-x", '--config={"a":{"b":2,"c":[1,2]}}', "--fast"]),
        [
            (f"{ENGINE}.args[1]", "removed", "/weights", None),
            (f"{ENGINE}.args.--config.a.b", "changed", 1, 2),
            (f"{ENGINE}.args.--fast", "added", None, True),
        ],
    ),
    "a flag given several times": (
        container(args=["--lora=a", "--lora=b"]),
        container(args=["--lora=b", "--lora=c"]),
        [(f"{ENGINE}.args.--lora[]", "removed", "a", None), (f"{ENGINE}.args.--lora[]", "added", None, "c")],
    ),
    "a negative number is no flag": (
        container(args=["--seed", "-1"]),
        container(args=["--seed", "-2"]),
        [(f"{ENGINE}.args[0]", "changed", "-1", "-2")],
    ),
    "the module of a command": (
        container(command=["python3", "-m", "dynamo.sglang"]),
        container(command=["python3", "-m", "dynamo.vllm"]),
        [(f"{ENGINE}.command.-m", "changed", "dynamo.sglang", "dynamo.vllm")],
    ),
    "variables by name": (
        container(env=[{"name": "A", "value": "1"}, {"name": "B", "value": "2"}]),
        container(env=[{"name": "C", "valueFrom": {"x": 1}}, {"name": "A", "value": "0"}]),
        [
            (f"{ENGINE}.env[A]", "changed", "1", "0"),
            (f"{ENGINE}.env[B]", "removed", "2", None),
            (f"{ENGINE}.env[C]", "added", None, {"valueFrom": {"x": 1}}),
        ],
    ),
    "the first variables of a container": (
        container(),
        container(env=[{"name": "A", "value": "1"}]),
        [(f"{ENGINE}.env[A]", "added", None, "1")],
    ),
    "volumes by name, mounts of one volume by path": (
        {
            "volumes": [{"name": "tmp", "emptyDir": {}}],
            "volumeMounts": [{"name": "tmp", "mountPath": "/a"}, {"name": "tmp", "mountPath": "/b"}],
        },
        {
            "volumes": [{"name": "tmp", "emptyDir": {"medium": "Memory"}}],
            "volumeMounts": [{"name": "tmp", "mountPath": "/a", "readOnly": True}],
        },
        [
            ("volumeMounts[/a].readOnly", "added", None, True),
            ("volumeMounts[/b]", "removed", {"name": "tmp"}, None),
            ("volumes[tmp].emptyDir.medium", "added", None, "Memory"),
        ],
    ),
    "ports without a name": (
        {"ports": [{"protocol": "TCP", "port": 53}, {"protocol": "UDP", "port": 53}]},
        {"ports": [{"protocol": "UDP", "port": 53}, {"protocol": "TCP", "port": 443}]},
        [("ports[443/TCP]", "added", None, {}), ("ports[53/TCP]", "removed", {}, None)],
    ),
    "plugins by name or type, weights by reference, in a file": (
        {
            "data": {
                "c.yaml": "plugins:\n- type: a\n- {type: b, name: mine, x: 1}\nrefs:\n- {pluginRef: a, weight: 3}\n"
            }
        },
        {
            "data": {
                "c.yaml": "plugins:\n- type: a\n- {type: b, name: mine, x: 2}\nrefs:\n- {pluginRef: a, weight: 4}\n"
            }
        },
        [
            ("data[c.yaml].plugins[mine].x", "changed", 1, 2),
            ("data[c.yaml].refs[a].weight", "changed", 3, 4),
        ],
    ),
    "a file that says the same otherwise": (
        {"c.json": '{"a": 1}'},
        {"c.json": '{"a":1}'},
        [("[c.json]", "changed", '{"a": 1}', '{"a":1}')],
    ),
    "a script is a text": (
        {"s.sh": "set -eu\na\n"},
        {"s.sh": "set -eu\nb\n"},
        [("[s.sh]", "changed", *("set -eu\na\n", "set -eu\nb\n"))],
    ),
    "words of a list": (
        {"verbs": ["get", "list"]},
        {"verbs": ["list", "watch"]},
        [("verbs[]", "removed", "get", None), ("verbs[]", "added", None, "watch")],
    ),
    "an order": ({"a": [1, 2]}, {"a": [2, 1]}, [("a.(order)", "changed", [1, 2], [2, 1])]),
    "an order of named things": (
        {"plugins": [{"type": "a"}, {"type": "b"}, {"type": "c"}]},
        {"plugins": [{"type": "b"}, {"type": "a"}, {"type": "d"}]},
        [
            ("plugins[c]", "removed", {}, None),
            ("plugins[d]", "added", None, {}),
            ("plugins.(order)", "changed", ["a", "b"], ["b", "a"]),
        ],
    ),
    "rules that nothing names": (
        {"rules": [{"apis": ["x"]}, {"apis": ["y"]}]},
        {"rules": [{"apis": ["w"]}, {"apis": ["x"]}, {"apis": ["y", "z"]}]},
        [("rules[0]", "added", None, {"apis": ["w"]}), ("rules[1 -> 2].apis[]", "added", None, "z")],
    ),
    "what is secret or not known": (
        {"a": Opaque("secret", "x"), "b": Opaque("secret", "x"), "c": Opaque("unknown")},
        {"a": Opaque("secret", "y"), "b": Opaque("secret", "x"), "c": Opaque("unknown")},
        [("a", "changed", Opaque("secret", "x"), Opaque("secret", "y"))],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_exactly_what_differs_is_said(name: str) -> None:
    old, new, expected = CASES[name]
    assert told(old, new) == expected


@pytest.mark.parametrize("name", CASES)
def test_the_other_way_round_it_is_the_mirror(name: str) -> None:
    old, new, _ = CASES[name]
    assert mirrored(differences(old, new)) == by_path(differences(new, old))


def worker(role: str, **changes: Any) -> dict[str, Any]:
    """A component too large to be read whole."""
    return {"name": role, "type": role, "many": {f"key{i}": i for i in range(60)} | changes}


def test_a_large_element_is_told_by_the_one_it_takes_the_place_of() -> None:
    """One worker becomes prefill and decode; each is what it has other than the worker, and so the other way round."""
    old = {"components": [worker("worker"), {"name": "frontend"}]}
    new = {"components": [worker("prefill", key1="x"), worker("decode", key2="y"), {"name": "frontend"}]}
    assert told(old, new) == [
        ("components[worker -> decode]", "replaced", "worker", "decode"),
        ("components[worker -> decode].many.key2", "changed", 2, "y"),
        ("components[worker -> decode].type", "changed", "worker", "decode"),
        ("components[worker -> prefill]", "replaced", "worker", "prefill"),
        ("components[worker -> prefill].many.key1", "changed", 1, "x"),
        ("components[worker -> prefill].type", "changed", "worker", "prefill"),
    ]
    assert mirrored(differences(old, new)) == by_path(differences(new, old))


def test_what_is_small_or_unlike_comes_and_goes_whole() -> None:
    other = {"name": "other", "many": {f"key{i}": -i for i in range(60)}}
    assert [change for _, change, *_ in told([worker("worker")], [other])] == ["added", "removed"]
    assert [change for _, change, *_ in told([{"name": "a", "x": 1}], [{"name": "b", "x": 1}])] == ["removed", "added"]


def test_secrets_are_in_no_text() -> None:
    assert "hunter2" not in repr(differences({"a": Opaque("secret", "hunter2")}, {"a": 1}))


@pytest.mark.parametrize("seed", range(300))
def test_any_two_values_mirror_and_a_value_does_not_differ_from_itself(seed: int) -> None:
    """Random data with the keys and shapes of manifests, and a copy with some of it changed."""
    dice = random.Random(seed)  # noqa: S311 - the same data in every run
    old = value(dice, 4)
    new = changed(dice, old)
    assert differences(old, old) == []
    assert mirrored(differences(old, new)) == by_path(differences(new, old))
    assert (differences(old, new) == []) == (normal(old) == normal(new))


def mirrored(found: list[Difference]) -> list[Difference]:
    return by_path([difference.mirrored() for difference in found])


def by_path(found: list[Difference]) -> list[Difference]:
    return sorted(found, key=lambda d: (written(d.path), d.change, repr(d.old), repr(d.new)))


KEYS = ("name", "type", "args", "env", "port", "spec", "x.io/y")


def value(dice: random.Random, depth: int) -> Any:
    if depth == 0:
        return dice.choice([0, 1, True, None, "a", "b", "--f=1", "--g", '{"a": 1}', "a: 1\nb: [c]\n", "1"])
    makers: list[Callable[[], Any]] = [
        lambda: {key: value(dice, depth - 1) for key in dice.sample(KEYS, dice.randint(0, 4))},
        lambda: [value(dice, depth - 1) for _ in range(dice.randint(0, 3))],
        lambda: [{"name": name, "x": value(dice, depth - 1)} for name in dice.sample("abcd", dice.randint(1, 3))],
        lambda: value(dice, 0),
    ]
    return dice.choice(makers)()


def changed(dice: random.Random, old: Any) -> Any:
    if dice.random() < 0.1:
        return value(dice, 2)
    if isinstance(old, dict):
        return {key: changed(dice, item) for key, item in old.items() if dice.random() > 0.1}
    if isinstance(old, list):
        kept = [changed(dice, item) for item in old if dice.random() > 0.1]
        return kept[::-1] if dice.random() < 0.1 else kept
    return old


def normal(data: Any) -> Any:
    """Return data as it is compared: flags have no order, and a list of arguments is only one under its key."""
    if isinstance(data, dict):
        return {
            key: sorted_flags(item) if key == "args" and is_texts(item) else normal(item) for key, item in data.items()
        }
    if isinstance(data, list):
        return [normal(item) for item in data]
    return (type(data).__name__, data)


def is_texts(item: Any) -> bool:
    return isinstance(item, list) and all(isinstance(text, str) for text in item)


def sorted_flags(argv: list[str]) -> Any:
    flags: dict[str, list[Any]] = {}
    words, rest = [], list(argv)
    while rest:
        word = rest.pop(0)
        name, equals, said = word.partition("=")
        if not word.startswith("--"):
            words.append(word)
        elif not equals and rest and not rest[0].startswith("-"):
            flags.setdefault(name, []).append(rest.pop(0))
        else:
            flags.setdefault(name, []).append(said if equals else True)
    return words, {name: [(type(v).__name__, v) for v in values] for name, values in flags.items()}
