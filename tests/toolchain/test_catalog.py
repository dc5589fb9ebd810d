"""tools.yaml says what the Go modules pin."""

from __future__ import annotations

import re

import pytest

from beamline.toolchain import Machine, programs
from beamline.toolchain.catalog import Version

_PSEUDO_VERSIONS = {"pulumi-resource-kubernetes": "v4.0.0-20260115033456-f47bc2d6f199"}
"""That commit is the one tagged v4.25.0."""


@pytest.mark.parametrize("name", list(programs()))
def test_the_version_is_the_one_its_module_requires(name: str) -> None:
    program = programs()[name]
    text = (Machine.here().modules / program.module / "go.mod").read_text(encoding="utf-8")
    found = re.search(rf"^(?:require )?\s*{re.escape(program.requires)} (\S+)", text, re.MULTILINE)
    assert found is not None
    assert found.group(1) == _PSEUDO_VERSIONS.get(name, f"v{program.version}")


@pytest.mark.parametrize("name", list(programs()))
def test_the_built_version_is_a_supported_one(name: str) -> None:
    program = programs()[name]
    assert program.supports(program.version)


@pytest.mark.parametrize("name", [name for name, program in programs().items() if program.stamps])
def test_a_stamp_gives_the_version(name: str) -> None:
    program = programs()[name]
    assert str(program.version) in {value.removeprefix("v") for value in program.stamps.values()}


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("v3.274.1", Version(3, 274, 1)),
        ("go1.26", Version(1, 26, 0)),
        ("1.35.8-gke.1036000", Version(1, 35, 8)),
        ("4.25.0-alpha.1+dirty", Version(4, 25, 0)),
        ("devel", None),
        ("", None),
    ],
)
def test_versions_are_read_as_programs_write_them(text: str, want: Version | None) -> None:
    assert Version.parse(text) == want
