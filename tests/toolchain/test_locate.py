"""What is on the machine already is used, if it is in the supported range."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pytest

from beamline.toolchain import official_language_host, programs
from beamline.toolchain.locate import locate
from tests.toolchain.machines import executable, machine


class Case(NamedTuple):
    name: str
    program: str
    answer: str
    found: bool


CASES = [
    Case("pulumi in range", "pulumi", "v3.270.0", found=True),
    Case("pulumi too old", "pulumi", "v3.249.9", found=False),
    Case("pulumi of the next major", "pulumi", "v4.0.0", found=False),
    Case("API server of the presets' minor", "kube-apiserver", "Kubernetes v1.35.9", found=True),
    Case("API server of another minor", "kube-apiserver", "Kubernetes v1.36.0", found=False),
    Case("kubectl one minor newer", "kubectl", "Client Version: v1.36.1\nKustomize Version: v5.7.1", found=True),
    Case("kubectl two minors older", "kubectl", "Client Version: v1.33.0", found=False),
    Case("etcd", "etcd", "etcd Version: 3.6.1\nGit SHA: abc", found=True),
    Case("kwok", "kwok", "kwok version v0.8.2 go1.26.8 (linux/amd64)", found=True),
    Case("a program that says nothing", "etcd", "", found=False),
    Case("a provider on PATH cannot tell its version", "pulumi-resource-kubernetes", "v4.30.0", found=False),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_path(case: Case, tmp_path: Path) -> None:
    path = executable(tmp_path / "bin" / case.program, f"printf '%s\\n' '{case.answer}'")
    located = locate(programs()[case.program], machine(tmp_path))
    assert (located.path if located else None) == (path if case.found else None)


def test_a_program_that_cannot_be_run_is_not_used(tmp_path: Path) -> None:
    executable(tmp_path / "bin" / "etcd", "exit 3")
    assert locate(programs()["etcd"], machine(tmp_path)) is None


def test_kubebuilder_assets_are_used(tmp_path: Path) -> None:
    path = executable(tmp_path / "assets" / "etcd", "echo 'etcd Version: 3.6.1'")
    located = locate(programs()["etcd"], machine(tmp_path, {"KUBEBUILDER_ASSETS": str(tmp_path / "assets")}))
    assert located is not None
    assert (located.path, located.origin) == (path, "KUBEBUILDER_ASSETS")


def test_the_newest_supported_provider_among_pulumis_plugins_is_used(tmp_path: Path) -> None:
    for version in ("4.24.0", "4.34.2", "4.30.0", "5.0.0"):
        executable(tmp_path / f".pulumi/plugins/resource-kubernetes-v{version}/pulumi-resource-kubernetes", "exit 1")
    located = locate(programs()["pulumi-resource-kubernetes"], machine(tmp_path))
    assert located is not None
    assert (str(located.version), located.origin) == ("4.34.2", "Pulumi plugins")


def test_the_official_language_host_counts_only_beside_pulumi(tmp_path: Path) -> None:
    """Also behind a symbolic link, as package managers install it."""
    pulumi = executable(tmp_path / "opt" / "pulumi", "exit")
    link = tmp_path / "pulumi"
    link.symlink_to(pulumi)
    assert official_language_host(link) is None
    host = executable(tmp_path / "opt" / "pulumi-language-python", "exit")
    assert official_language_host(link) == host
