"""Imports go one way (docs/design.md): which room may import which, who may speak Pulumi, no private names across."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).parents[1]

ARROWS: dict[str, set[str]] = {
    "stacks": set(),
    "manifests": {"stacks"},
    "guard": {"stacks"},
    "kv_evictor": set(),
    "components": {"stacks", "manifests", "guard"},
    "__main__": {"stacks", "components"},
    "policies": {"stacks", "beamline.engine.graph", "beamline.engine.values"},
    "beamline": set(),
    "beamline.engine": {"stacks"},
    "beamline.host": {"stacks", "components"},
    "beamline.crds": {"stacks"},
    "beamline.toolchain": {"stacks"},
    "beamline.registry": {"stacks"},
    "beamline.preflight": {"stacks", "beamline.engine.graph", "beamline.engine.values", "beamline.registry"},
    "beamline.takedown": {"stacks", "guard", "beamline.recovery"},
    "beamline.comparison": {"stacks", "beamline.engine.graph", "beamline.engine.values"},
    "beamline.checks": {"stacks", "components", "policies", "beamline.engine", "beamline.crds"},
    "beamline.check_formats": {"stacks", "beamline"},
    "beamline.recovery": {"stacks"},
    "beamline.sandbox": {"stacks", "beamline.toolchain", "beamline.crds", "beamline.recovery"},
    "beamline.cli": {"stacks", "manifests", "policies", "guard", "beamline"},
    "bench": {"stacks", "manifests", "beamline", "kv_evictor"},
}
"""Room -> what it may import besides itself: a room, or one module of it. Rules read graphs and run nothing."""

PULUMI: dict[str, set[str]] = {
    "pulumi": {
        "components",
        "__main__",
        "beamline.engine",
        "beamline.host",
        "beamline.checks",
        "beamline.sandbox.cloud",
    },
    "pulumi_gcp": {"components"},
    "pulumi_kubernetes": {"components"},
}
"""Package -> who may import it. ``beamline.checks`` reads the SDK's own types."""

OURS = {room.partition(".")[0] for room in ARROWS}


def test_imports_go_one_way() -> None:
    assert list(violations(CHECKOUT)) == []


_OF_POLICIES = ", ".join(sorted(ARROWS["policies"]))

WRONG = {
    "a room that is further up": (
        "stacks/x.py",
        "from manifests.render import render",
        "stacks/x.py:1 imports manifests.render.render; stacks may import nothing of ours",
    ),
    "a room beside it": (
        "manifests/x.py",
        "import components",
        "manifests/x.py:1 imports components; manifests may import stacks",
    ),
    "a part of a room of which only other parts are open": (
        "policies/x.py",
        "from beamline.engine.runner import run_program",
        f"policies/x.py:1 imports beamline.engine.runner.run_program; policies may import {_OF_POLICIES}",
    ),
    "an import inside a function": (
        "beamline/registry/x.py",
        "def f():\n    from beamline import sandbox",
        "beamline/registry/x.py:2 imports beamline.sandbox; beamline.registry may import stacks",
    ),
    "an import for types only": (
        "stacks/checks/x.py",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from beamline.engine.graph import Graph",
        "stacks/checks/x.py:3 imports beamline.engine.graph.Graph; stacks may import nothing of ours",
    ),
    "a relative import": (
        "stacks/x.py",
        "from . import spec",
        "stacks/x.py:1 imports relatively; write the whole name",
    ),
    "a private name of another room": (
        "manifests/x.py",
        "from stacks.resolve import _images",
        "manifests/x.py:1 uses the private name stacks.resolve._images",
    ),
    "a private name through the module": (
        "manifests/x.py",
        "from stacks import resolve as r\nr._images()",
        "manifests/x.py:2 uses the private name stacks.resolve._images",
    ),
    "Pulumi where it has no business": (
        "manifests/x.py",
        "import pulumi.runtime",
        f"manifests/x.py:1 imports pulumi.runtime; only {', '.join(sorted(PULUMI['pulumi']))} may",
    ),
    "a cloud SDK outside the components": (
        "beamline/engine/x.py",
        "from pulumi_gcp import container",
        "beamline/engine/x.py:1 imports pulumi_gcp.container; only components may",
    ),
    "a room that nobody described": (
        "beamline/new/x.py",
        "import stacks",
        "beamline/new/x.py is in no room of ARROWS",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_import_is_found(name: str, tmp_path: Path) -> None:
    file, source, said = WRONG[name]
    (tmp_path / file).parent.mkdir(parents=True)
    (tmp_path / file).write_text(source)
    assert list(violations(tmp_path)) == [said]


@pytest.mark.parametrize(
    ("file", "source"),
    [
        ("stacks/checks/x.py", "from stacks.problems import Problem, _shown\nimport stacks.spec"),
        ("manifests/x.py", "import json\nfrom stacks import StackSpec\nfrom manifests.render import render"),
        ("components/x.py", "import pulumi\nimport pulumi_gcp\nfrom stacks import resolve\nresolve.name"),
        ("policies/rules/x.py", "from beamline.engine.graph import Graph"),
        ("beamline/cli/x.py", "from beamline import __version__, sandbox\nfrom policies import RULES"),
        ("beamline/sandbox/cloud/x.py", "from pulumi.provider import experimental"),
        ("__main__.py", "import pulumi\nfrom components.stack import InferenceStack"),
        ("tests/x.py", "from components.stack import _anything"),
    ],
)
def test_a_right_import_is_let_through(file: str, source: str, tmp_path: Path) -> None:
    (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / file).write_text(source)
    assert list(violations(tmp_path)) == []


def violations(root: Path) -> Iterator[str]:
    """Yield every import in a checkout that goes against the arrows."""
    folders = [root / name for name in sorted(OURS - {"__main__"})]
    for path in [*(file for folder in folders for file in sorted(folder.rglob("*.py"))), *root.glob("__main__.py")]:
        file = path.relative_to(root)
        module = ".".join(file.with_suffix("").parts).removesuffix(".__init__")
        room = _room(module)
        if room is None:
            yield f"{file} is in no room of ARROWS"
            continue
        for line, found in _found(ast.parse(path.read_text(encoding="utf-8")), module, room):
            yield f"{file}:{line} {found}"


def _room(module: str) -> str | None:
    """Return the room a module is in: the longest that it begins with; the root package is a room of its own."""
    rooms = [room for room in ARROWS if _within(module, room)]
    found = max(rooms, key=len, default=None)
    return None if found == "beamline" and module != "beamline" else found


def _within(module: str, room: str) -> bool:
    return module == room or module.startswith(f"{room}.")


def _found(tree: ast.Module, module: str, room: str) -> Iterator[tuple[int, str]]:
    aliases: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.level:
            yield node.lineno, "imports relatively; write the whole name"
        elif isinstance(node, ast.Import | ast.ImportFrom):
            base = f"{node.module}." if isinstance(node, ast.ImportFrom) else ""
            for alias in node.names:
                name = base + alias.name
                aliases[alias.asname or alias.name.partition(".")[0]] = name
                yield from ((node.lineno, wrong) for wrong in _wrong(name, module, room))
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in aliases:
            name = f"{aliases[node.value.id]}.{node.attr}"
            if _is_private_elsewhere(name, room):
                yield node.lineno, f"uses the private name {name}"


def _wrong(name: str, module: str, room: str) -> Iterator[str]:
    package = name.partition(".")[0]
    if package in PULUMI and not any(_within(module, allowed) for allowed in PULUMI[package]):
        yield f"imports {name}; only {', '.join(sorted(PULUMI[package]))} may"
    if package not in OURS or name in ("beamline", "beamline.__version__"):
        return
    if not any(_within(name, allowed) for allowed in {room, *ARROWS[room]}):
        yield f"imports {name}; {room} may import {', '.join(sorted(ARROWS[room])) or 'nothing of ours'}"
    elif _is_private_elsewhere(name, room):
        yield f"uses the private name {name}"


def _is_private_elsewhere(name: str, room: str) -> bool:
    parts = name.split(".")
    private = any(part.startswith("_") and not part.startswith("__") for part in parts)
    return private and parts[0] in OURS and not _within(name, room)
