"""The project that Pulumi sees in a sandbox: copies, a link, shims, and nothing of the user's cloud."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
import yaml

from beamline.sandbox.home import Home, home_of
from beamline.sandbox.project import TOOLS, environment, fingerprint, prepare
from stacks.cloud import SANDBOX_PROJECT
from stacks.problems import EnvironmentProblem, ProblemsFound
from tests.toolchain.machines import executable

_STACK = """\
# yaml-language-server: $schema=schemas/stack.schema.json
config:
  beamline:preset: g4-llmd
  beamline:project: your-project-id
  beamline:bucket: your-project-id-weights
"""


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    monkeypatch.setenv("BEAMLINE_HOME", str(tmp_path / "home"))
    home = home_of("g4")
    home.create()
    return home


@pytest.fixture
def program(tmp_path: Path) -> Path:
    folder = tmp_path / "checkout"
    (folder / "components").mkdir(parents=True)
    (folder / "stacks").mkdir()
    (folder / "__main__.py").write_text("main = 1\n")
    (folder / "components" / "network.py").write_text("a = 1\n")
    (folder / "Pulumi.yaml").write_text("name: beamline\nruntime: python\nbackend: {url: 's3://theirs'}\n")
    (folder / "stacks" / "Pulumi.g4.yaml").write_text(_STACK)
    return folder


def _prepare(home: Home, program: Path, stack_file: Path | None = None) -> None:
    tools = {name: executable(home.folder / "tools" / name, f'echo {name} "$@"') for name in TOOLS}
    prepare(home, "g4", stack_file or program / "stacks" / "Pulumi.g4.yaml", program, tools, 7)


def test_the_project_uses_copies_and_keeps_pulumis_additions_to_them(home: Home, program: Path) -> None:
    """The user's file is not touched, whatever is written into the copy."""
    _prepare(home, program)
    copy = home.project / "stacks" / "Pulumi.g4.yaml"
    copy.write_text(f"encryptionsalt: v1:salt\n{copy.read_text()}")
    (program / "stacks" / "Pulumi.g4.yaml").write_text(f"{_STACK}  beamline:zone: us-central1-b\n")
    _prepare(home, program)
    assert yaml.safe_load(copy.read_text()) == {
        "encryptionsalt": "v1:salt",
        "config": {
            "beamline:preset": "g4-llmd",
            "beamline:project": SANDBOX_PROJECT,
            "beamline:bucket": f"{SANDBOX_PROJECT}-weights",
            "beamline:zone": "us-central1-b",
        },
    }
    assert (home.project / "program").resolve() == program
    project = yaml.safe_load((home.project / "Pulumi.yaml").read_text())
    assert {key: project.get(key) for key in ("name", "main", "stackConfigDir", "backend")} == {
        "name": "beamline",
        "main": "program",
        "stackConfigDir": "stacks",
        "backend": None,
    }


def test_a_real_project_is_replaced_too(home: Home, program: Path) -> None:
    file = program / "Pulumi.prod.yaml"
    file.write_text("secretsprovider: gcpkms://theirs\nconfig: {'beamline:project': acme-prod}\n")
    _prepare(home, program, file)
    copy = yaml.safe_load((home.project / "stacks" / "Pulumi.g4.yaml").read_text())
    assert copy == {"config": {"beamline:project": SANDBOX_PROJECT}}


def test_encrypted_values_are_refused_all_at_once(home: Home, program: Path) -> None:
    file = program / "Pulumi.prod.yaml"
    file.write_text("config:\n  beamline:a: {secure: v1:x}\n  beamline:b: plain\n  beamline:c: {secure: v1:y}\n")
    with pytest.raises(ProblemsFound) as raised:
        _prepare(home, program, file)
    assert [problem.path for problem in raised.value.problems] == [
        "Pulumi.prod.yaml: config.beamline:a",
        "Pulumi.prod.yaml: config.beamline:c",
    ]


def test_a_missing_stack_file_is_named(home: Home, program: Path) -> None:
    with pytest.raises(EnvironmentProblem, match=r"cannot read the stack file .*Pulumi\.absent\.yaml"):
        _prepare(home, program, program / "Pulumi.absent.yaml")


def test_the_users_own_cloud_settings_do_not_reach_the_sandbox(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (
        "PULUMI_ACCESS_TOKEN",
        "PULUMI_CONFIG_PASSPHRASE",
        "PULUMI_K8S_DELETE_UNREACHABLE",
        "GOOGLE_CREDENTIALS",
        "CLOUDSDK_CORE_PROJECT",
        "KUBECONFIG",
    ):
        monkeypatch.setenv(name, "theirs")
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy:3128")
    environ = environment(home)
    assert "theirs" not in environ.values()
    assert environ["HTTPS_PROXY"] == "http://proxy:3128"  # the program may need it; loopback goes around it
    assert environ["NO_PROXY"].split(",")[-2:] == ["127.0.0.1", "localhost"]
    assert {key: environ[key] for key in environ if key.startswith(("PULUMI_", "BEAMLINE_SANDBOX"))} == {
        "BEAMLINE_SANDBOX": str(home.folder),
        "PULUMI_HOME": str(home.pulumi),
        "PULUMI_BACKEND_URL": f"file://{home.state}",
        "PULUMI_CONFIG_PASSPHRASE_FILE": str(home.pulumi / "passphrase"),
        "PULUMI_SKIP_UPDATE_CHECK": "true",
        "PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION": "true",
        "PULUMI_ERROR_OUTPUT_STRING": "true",
    }


def test_the_shims_run_what_they_stand_for(home: Home, program: Path) -> None:
    _prepare(home, program)
    for name in TOOLS:
        done = subprocess.run([str(home.bin / name), "a b", "c"], capture_output=True, text=True, check=True)
        assert done.stdout == f"{name} a b c\n"
    home.admin_token_file.write_text("the-token\n")
    done = subprocess.run([str(home.bin / "gke-gcloud-auth-plugin")], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == {
        "kind": "ExecCredential",
        "apiVersion": "client.authentication.k8s.io/v1beta1",
        "spec": {"interactive": False},
        "status": {"token": "the-token"},
    }


def test_the_provider_downloads_charts_through_the_sandbox_only(
    home: Home, program: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever proxy, certificates and Helm settings the user has, and without touching the user's Helm."""
    for name in ("HTTPS_PROXY", "https_proxy", "NO_PROXY", "SSL_CERT_FILE", "HELM_CACHE_HOME"):
        monkeypatch.setenv(name, "theirs")
    _prepare(home, program)
    executable(home.folder / "tools" / "pulumi-resource-kubernetes", "env")
    shim = str(home.bin / "pulumi-resource-kubernetes")
    lines = subprocess.run([shim], capture_output=True, text=True, check=True).stdout.splitlines()
    found = dict(line.partition("=")[::2] for line in lines)
    assert {found[name] for name in ("HTTPS_PROXY", "https_proxy", "HTTP_PROXY")} == {"http://127.0.0.1:7"}
    assert found["NO_PROXY"] == "127.0.0.1,localhost"
    assert found["SSL_CERT_FILE"] == str(home.charts_ca_file)
    assert all(found[f"HELM_{part}_HOME"].startswith(str(home.charts)) for part in ("CACHE", "CONFIG", "DATA"))


def test_the_official_language_host_is_used_where_it_stands_beside_pulumi(home: Home, program: Path) -> None:
    executable(home.folder / "tools" / "pulumi-language-python", "echo official")
    _prepare(home, program)
    done = subprocess.run([str(home.bin / "pulumi-language-python")], capture_output=True, text=True, check=True)
    assert done.stdout == "official\n"


def test_the_fingerprint_changes_with_the_inputs_and_with_nothing_else(home: Home, program: Path) -> None:
    _prepare(home, program)
    before = fingerprint(home, "g4", program)
    copy = home.project / "stacks" / "Pulumi.g4.yaml"
    copy.write_text(f"encryptionsalt: v1:salt\n{copy.read_text()}")
    (program / "tests").mkdir()
    (program / "tests" / "test_x.py").write_text("x = 1\n")
    (program / "README.md").write_text("read me\n")
    assert fingerprint(home, "g4", program) == before
    (program / "components" / "network.py").write_text("a = 2\n")
    changed = fingerprint(home, "g4", program)
    assert changed != before
    copy.write_text(copy.read_text().replace("g4-llmd", "small-l4"))
    assert fingerprint(home, "g4", program) != changed
