"""The guard inside ``pulumi`` itself: the real engine with a provider that only remembers (SIMULATED cloud)."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

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
        deployment = json.loads(self.pulumi("stack", "export").stdout)["deployment"]
        return [resource for resource in deployment.get("resources", []) if resource["type"].startswith("gcp:")]


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
REFUSED = {
    "another SSD count": (
        LESS_SSD,
        ["would-replace] accelerator.nodeConfig.ephemeralStorageLocalSsdConfig.localSsdCount = 16"],
    ),
    "a bucket that is left out": ({"buckets": []}, ["would-delete] weights"]),
    "a cluster that is meant, without the pools in it": (
        {"cluster": "other", "allow_replace": ["cluster"]},
        ["would-replace] accelerator", "would-replace] system"],
    ),
}


@pytest.mark.parametrize("name", REFUSED)
@pytest.mark.parametrize("verb", [("preview",), UP], ids=["preview", "up"])
def test_what_is_not_meant_is_refused_before_anything_is_lost(stack: Stack, name: str, verb: tuple[str, ...]) -> None:
    """Both verbs fail with the guard's words, said once, and with no traceback; every resource is the one it was."""
    settings, expected = REFUSED[name]
    before = stack.kept()
    stack.configure(**settings)
    code, said = stack.said(*verb)
    diagnostics = said.partition("Diagnostics:")[2]
    assert code != 0
    assert "Traceback" not in said
    found = [line.strip().removeprefix("error[") for line in diagnostics.splitlines() if "error[" in line]
    assert [line for line in found if any(line.startswith(words) for words in expected)] == found
    assert len(found) >= len(expected)
    assert len(found) == len(set(found))
    assert stack.kept() == before


def test_an_update_in_place_is_none_of_its_business(stack: Stack) -> None:
    before = stack.kept()
    stack.configure(version="1.35.9-gke.1000000", protected="true")
    code, said = stack.said(*UP)
    assert (code, stack.kept()) == (0, before), said


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
    assert stack.kept() == after
    assert stack.protected() == set(after)


def test_a_name_that_nothing_has_is_refused(stack: Stack) -> None:
    stack.configure(**LESS_SSD, protected="true", allow_replace=["acelerator"])
    code, said = stack.said("preview")
    assert code != 0
    assert "did you mean 'accelerator'?" in said


def test_a_destroy_asks_no_program(stack: Stack) -> None:
    stack.pulumi("state", "unprotect", "--all", "--yes")
    code, said = stack.said("destroy", "--yes", "--skip-preview")
    assert (code, stack.kept()) == (0, {}), said
