"""The guard inside ``pulumi`` itself: the real engine with a provider that only remembers (SIMULATED cloud)."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from beamline.recovery import Engine
from beamline.takedown import Takedown, take_down, takedown
from tests.engine.real_engine import RealProject

pytestmark = pytest.mark.sandbox

PROGRAM = Path(__file__).with_name("program")
PROVIDER = {"gcp": (sys.executable, str(Path(__file__).with_name("remembering_provider.py")))}
UP = ("up", "--yes", "--skip-preview")
APPLIED: dict[str, Any] = {
    "cluster": "beam",
    "version": "1.35.8-gke.1036000",
    "pools": {"accelerator": 32, "system": 0},
    "buckets": ["weights"],
}


class Stack(RealProject):
    """A stack with the configuration of the moment."""

    def configure(self, **settings: Any) -> None:
        file = self.folder / "stacks" / f"Pulumi.{self.stack}.yaml"
        data = yaml.safe_load(file.read_text())
        data["config"] = {f"beamline:{key}": value for key, value in {**APPLIED, **settings}.items()}
        file.write_text(yaml.safe_dump(data))

    def said(self, *verb: str) -> tuple[int, str]:
        done = self.pulumi(*verb, check=False)
        return done.returncode, done.stdout + done.stderr

    def kept(self) -> dict[str, str]:
        """Names of the recorded cloud resources, with when each was created."""
        return {_name(resource): resource["created"] for resource in self._resources()}

    def protected(self) -> set[str]:
        """Names of the resources that Pulumi itself protects."""
        return {_name(resource) for resource in self._resources() if resource.get("protect")}

    def _resources(self) -> list[dict[str, Any]]:
        (file,) = (self.folder / "state" / ".pulumi" / "stacks").rglob(f"{self.stack}.json")
        latest = json.loads(file.read_text())["checkpoint"]["latest"]
        return [resource for resource in latest.get("resources", []) if resource["type"].startswith("gcp:")]


def _name(resource: dict[str, Any]) -> str:
    return str(resource["urn"].rpartition("::")[2])


@pytest.fixture(scope="module")
def stack(tools: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory) -> Stack:
    """Apply the sound configuration once."""
    stack = Stack(tmp_path_factory.mktemp("guard") / "p", PROGRAM, pulumi=tools("pulumi"), providers=PROVIDER)
    stack.create_stack({f"beamline:{key}": value for key, value in APPLIED.items()})
    code, said = stack.said(*UP)
    assert code == 0, said
    return stack


LESS_SSD = {"pools": {"accelerator": 16, "system": 0}}
SSD = "would-replace] accelerator.nodeConfig.ephemeralStorageLocalSsdConfig.localSsdCount = 16"
REFUSED: dict[str, tuple[tuple[str, ...], dict[str, Any], list[str]]] = {
    "all at once in a preview": (("preview",), {**LESS_SSD, "buckets": []}, [SSD, "would-delete] weights"]),
    "another SSD count": (UP, LESS_SSD, [SSD]),
    "a bucket that is left out": (UP, {"buckets": []}, ["would-delete] weights"]),
    "a cluster that is meant, without the pools in it": (
        UP,
        {"cluster": "other", "allow_replace": ["cluster"]},
        ["would-replace] accelerator", "would-replace] system"],
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_not_meant_is_refused_before_anything_is_lost(stack: Stack, name: str) -> None:
    """The update fails with the guard's words, said once, and no traceback; every resource is the one it was."""
    verb, settings, expected = REFUSED[name]
    before = stack.kept()
    stack.configure(**settings)
    code, said = stack.said(*verb)
    assert code != 0
    assert "Traceback" not in said
    lines = [line.strip() for line in said.partition("Diagnostics:")[2].splitlines()]
    assert sorted(line.removeprefix("error[") for line in lines if line.startswith("error[")) == sorted(expected)
    assert stack.kept() == before


def test_an_update_in_place_is_none_of_its_business(stack: Stack) -> None:
    before = stack.kept()
    stack.configure(version="1.35.9-gke.1000000", protected="true")
    code, said = stack.said(*UP)
    assert (code, stack.kept()) == (0, before), said
    assert stack.protected() == set(before)


def test_what_is_meant_is_replaced_although_it_is_protected(stack: Stack) -> None:
    """Only the named pool is another one; the next update protects it again and says that the name is idle."""
    before = stack.kept()
    stack.configure(**LESS_SSD, protected="true", allow_replace=["accelerator"])
    code, said = stack.said(*UP)
    assert code == 0, said
    after = stack.kept()
    assert {name for name in before if before[name] != after[name]} == {"accelerator"}
    code, said = stack.said(*UP)
    assert code == 0, said
    assert "warning[allow-replace-unused] allow_replace = accelerator" in said
    assert (stack.kept(), stack.protected()) == (after, set(after))


def test_a_takedown_leaves_nothing(stack: Stack, tools: Callable[[str], Path]) -> None:
    """The whole stack is protected, and everything goes."""
    before = stack.kept()
    pulumi = Engine(tools("pulumi"), stack.folder, stack.environment)
    known = takedown(pulumi, stack.stack)
    names = ["accelerator", "cluster", "system", "weights"]
    assert known == Takedown(
        stack="dev",
        project="beamline",
        backend=stack.environment["PULUMI_BACKEND_URL"],
        resources=len(names),
        guarded=names,
        protected=names,
        problems=[],
    )
    assert stack.kept() == before
    take_down(pulumi, known)
    assert stack.kept() == {}
