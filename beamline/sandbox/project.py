"""The Pulumi project of a sandbox: what ``pulumi`` sees instead of the checkout.

Pulumi writes an encryption salt into stack files, so it gets copies; the program itself is a link to the checkout, or
to whatever program folder is applied. Everything around it comes from the sandbox's ``bin/``: the user's program does
not know that it is not talking to Google.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import shlex
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from beamline.sandbox.home import CHECKOUT, Home, write_atomically
from beamline.sandbox.ports import LOOPBACK
from beamline.toolchain import official_language_host
from stacks.cloud import PLACEHOLDER_PROJECT, SANDBOX_PROJECT
from stacks.problems import EnvironmentProblem, Problem, ProblemsFound

__all__ = ["TOOLS", "environment", "fingerprint", "prepare"]

TOOLS = ("pulumi", "pulumi-resource-kubernetes", "kubectl")
"""Programs of the toolchain that stand in ``bin/`` under their own names."""

_WRITTEN_BY_PULUMI = ("encryptionsalt", "encryptedkey", "secretsprovider")
_NOT_THE_PROGRAM = {"__pycache__", "tests", "tools", "docs", "bench", "node_modules", "venv", "build", "dist"}
_PROGRAM_SUFFIXES = {".py", ".yaml", ".yml", ".json", ".tpl"}
_OF_THE_USERS_CLOUD = ("PULUMI_", "GOOGLE_", "GCLOUD_", "GCP_", "CLOUDSDK_", "KUBE", "HELM_", "TF_")

_AUTH_PLUGIN = """\
#!/bin/sh
# SIMULATED gke-gcloud-auth-plugin: hands out this sandbox's administrator token instead of asking Google for one.
printf '{"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1beta1",'
printf '"spec":{"interactive":false},"status":{"token":"%%s"}}\\n' "$(cat %s)"
"""


def prepare(
    home: Home, stack: str, stack_file: Path, program: Path, tools: Mapping[str, Path], charts_port: int
) -> None:
    """Write the project, its copy of the stack file, the passphrase and ``bin/``; safe to repeat.

    ``charts_port`` is where the simulated chart registries listen, ``program`` the folder with the Pulumi program.
    Raises ProblemsFound for a stack file with encrypted values: their key stays with the user's own backend.
    """
    _write_project(home, program)
    stacks = home.project / "stacks"
    stacks.mkdir(exist_ok=True)
    copy = stacks / f"Pulumi.{stack}.yaml"
    write_atomically(copy, _stack_copy(stack_file, copy))
    passphrase = home.pulumi / "passphrase"
    if not passphrase.exists():
        write_atomically(passphrase, secrets.token_urlsafe(32))
    _write_bin(home, tools, charts_port)


def environment(home: Home) -> dict[str, str]:
    """Return the environment for Pulumi, its plugins and the user's shell.

    Settings of the user's own Pulumi, Google Cloud and Kubernetes are left out: a sandbox must not reach a real
    project.
    """
    kept = {key: value for key, value in os.environ.items() if not key.startswith(_OF_THE_USERS_CLOUD)}
    direct = ",".join(filter(None, [os.environ.get("NO_PROXY", ""), LOOPBACK, "localhost"]))
    return {
        **kept,
        "BEAMLINE_SANDBOX": str(home.folder),
        "PATH": f"{home.bin}{os.pathsep}{os.environ.get('PATH', os.defpath)}",
        "NO_PROXY": direct,
        "no_proxy": direct,
        "PULUMI_HOME": str(home.pulumi),
        "PULUMI_BACKEND_URL": home.state.as_uri(),
        "PULUMI_CONFIG_PASSPHRASE_FILE": str(home.pulumi / "passphrase"),
        "PULUMI_SKIP_UPDATE_CHECK": "true",
        "PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION": "true",
        "PULUMI_ERROR_OUTPUT_STRING": "true",
    }


def fingerprint(home: Home, stack: str, program: Path) -> str:
    """Return a hash of what decides the outcome of an apply: the program's files and the copied stack file."""
    digest = hashlib.sha256()
    for path in _program_files(program):
        digest.update(f"{path.relative_to(program)}\0".encode())
        digest.update(path.read_bytes())
    digest.update((home.project / "Pulumi.yaml").read_bytes())
    copy = _mapping(home.project / "stacks" / f"Pulumi.{stack}.yaml")
    copy = {key: value for key, value in copy.items() if key not in _WRITTEN_BY_PULUMI}
    digest.update(yaml.safe_dump(copy).encode())
    return digest.hexdigest()


def _write_project(home: Home, program: Path) -> None:
    own = program / "Pulumi.yaml"
    project = _mapping(own if own.exists() else CHECKOUT / "Pulumi.yaml")
    project.pop("backend", None)
    options: dict[str, str] = {"toolchain": "pip"}
    if sys.prefix != sys.base_prefix:
        options["virtualenv"] = sys.prefix
    project |= {"main": "program", "stackConfigDir": "stacks", "runtime": {"name": "python", "options": options}}
    write_atomically(home.project / "Pulumi.yaml", yaml.safe_dump(project, sort_keys=False))
    link = home.project / "program"
    work = home.project / ".program"
    work.unlink(missing_ok=True)
    work.symlink_to(program.absolute(), target_is_directory=True)
    work.replace(link)


def _stack_copy(stack_file: Path, copy: Path) -> str:
    """Return the stack file for the simulated project, with what Pulumi wrote into the copy before."""
    try:
        text = stack_file.read_text(encoding="utf-8")
    except OSError as error:
        raise EnvironmentProblem(f"cannot read the stack file {stack_file}: {error.strerror}") from error
    stack = yaml.safe_load(text.replace(PLACEHOLDER_PROJECT, SANDBOX_PROJECT)) or {}
    config: dict[str, Any] = stack.get("config") or {}
    encrypted = [key for key, value in config.items() if isinstance(value, dict) and "secure" in value]
    if encrypted:
        raise ProblemsFound([_encrypted(stack_file, key) for key in encrypted])
    if "beamline:project" in config:
        config["beamline:project"] = SANDBOX_PROJECT  # whatever project the file names, a sandbox never touches it
    kept = {key: value for key, value in (_mapping(copy) if copy.exists() else {}).items() if key in _WRITTEN_BY_PULUMI}
    own = {key: value for key, value in stack.items() if key not in _WRITTEN_BY_PULUMI}
    return f"# Copied from {stack_file} for the simulated project.\n" + yaml.safe_dump({**kept, **own}, sort_keys=False)


def _encrypted(stack_file: Path, key: str) -> Problem:
    return Problem(
        rule="sandbox-encrypted-config",
        path=f"{stack_file.name}: config.{key}",
        why="the value is encrypted with a key of your own backend, which the sandbox does not have",
        allowed="plain values",
        remedy=f"apply a copy of the stack file in which {key} has a harmless plain value",
    )


def _write_bin(home: Home, tools: Mapping[str, Path], charts_port: int) -> None:
    python = shlex.quote(sys.executable)
    program = home.project / "program"
    # The program's own rooms come first, so that a changed copy of the kit is applied as a whole.
    rooms = f"PYTHONPATH={shlex.quote(f'{program}{os.pathsep}{CHECKOUT}')} "
    kit = f"PYTHONPATH={shlex.quote(str(CHECKOUT))} "
    host = official_language_host(tools["pulumi"])
    scripts = {name: f"exec {shlex.quote(str(tools[name]))}" for name in TOOLS}
    provider = "pulumi-resource-kubernetes"
    scripts[provider] = f"{_helm_settings(home, charts_port)} {scripts[provider]}"
    scripts["pulumi-language-python"] = (
        f"exec {shlex.quote(str(host))}" if host else f"{rooms}exec {python} -m beamline.host"
    )
    scripts["pulumi-resource-gcp"] = f"{kit}exec {python} -m beamline.sandbox.cloud"
    for name, command in scripts.items():
        write_atomically(home.bin / name, f'#!/bin/sh\n{command} "$@"\n', mode=0o700)
    plugin = _AUTH_PLUGIN % shlex.quote(str(home.admin_token_file))
    write_atomically(home.bin / "gke-gcloud-auth-plugin", plugin, mode=0o700)


def _helm_settings(home: Home, charts_port: int) -> str:
    """Return the environment with which the provider's Helm downloads from the simulated registries only.

    A client for loopback, as of the API server and of the engine, uses no proxy. Helm's cache and the user's registry
    logins stay apart: a stand-in must not turn up in a real cluster, nor a login here.
    """
    settings = {
        "HTTPS_PROXY": f"http://{LOOPBACK}:{charts_port}",
        "HTTP_PROXY": f"http://{LOOPBACK}:{charts_port}",
        "NO_PROXY": f"{LOOPBACK},localhost",
        "SSL_CERT_FILE": str(home.charts_ca_file),
        "SSL_CERT_DIR": str(home.charts / "none"),
        "HELM_CACHE_HOME": str(home.charts / "cache"),
        "HELM_CONFIG_HOME": str(home.charts / "config"),
        "HELM_DATA_HOME": str(home.charts / "data"),
    }
    lower = {name.lower(): settings[name] for name in ("HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY")}
    return " ".join(f"{name}={shlex.quote(value)}" for name, value in {**settings, **lower}.items())


def _program_files(program: Path) -> Iterator[Path]:
    """Yield the files that make up the program, in a stable order."""
    for folder, folders, files in os.walk(program):
        folders[:] = sorted(name for name in folders if not name.startswith(".") and name not in _NOT_THE_PROGRAM)
        for name in sorted(files):
            if Path(name).suffix in _PROGRAM_SUFFIXES and not name.startswith("Pulumi."):
                yield Path(folder) / name


def _mapping(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(path.read_text(encoding="utf-8")) or {}
    return found
