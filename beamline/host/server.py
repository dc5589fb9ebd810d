"""The language host's service: start the program, wait for it, say how it ended, and end it when told to."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import threading
from typing import Any

import grpc
from google.protobuf import empty_pb2
from pulumi.runtime.proto import language_pb2, language_pb2_grpc, plugin_pb2

import beamline
from components.program import USER_HAS_BEEN_TOLD

__all__ = ["LanguageHost"]

_GRACE_S = 5  # between asking a program to end and ending it; the official host waits as long


class LanguageHost(language_pb2_grpc.LanguageRuntimeServicer):
    """Runs Pulumi programs for the engine at ``engine_address`` ("host:port")."""

    def __init__(self, engine_address: str) -> None:
        self._engine_address = engine_address
        self._programs: set[subprocess.Popen[bytes]] = set()
        self._lock = threading.Lock()

    def GetPluginInfo(  # noqa: N802 - the protocol's name
        self, _request: empty_pb2.Empty, _context: grpc.ServicerContext
    ) -> plugin_pb2.PluginInfo:
        """Say which version of the host this is."""
        return plugin_pb2.PluginInfo(version=beamline.__version__)

    def About(  # noqa: N802
        self, _request: language_pb2.AboutRequest, _context: grpc.ServicerContext
    ) -> language_pb2.AboutResponse:
        """Say which Python runs programs."""
        return language_pb2.AboutResponse(executable=sys.executable, version=platform.python_version())

    def GetRequiredPackages(  # noqa: N802
        self, _request: language_pb2.GetRequiredPackagesRequest, _context: grpc.ServicerContext
    ) -> language_pb2.GetRequiredPackagesResponse:
        """Ask for no plugins in advance: the engine loads each provider when the first resource needs it."""
        return language_pb2.GetRequiredPackagesResponse()

    def Run(  # noqa: N802
        self, request: language_pb2.RunRequest, context: grpc.ServicerContext
    ) -> language_pb2.RunResponse:
        """Run the program to its end."""
        program = self._start(request)
        context.add_callback(lambda: self._end(program))  # also runs when the engine cancels the call
        code = program.wait()
        with self._lock:
            self._programs.discard(program)
        if code == 0:
            return language_pb2.RunResponse()
        if code == USER_HAS_BEEN_TOLD:
            return language_pb2.RunResponse(bail=True)
        return language_pb2.RunResponse(error=f"program exited with non-zero exit code: {code}")

    def Cancel(self, _request: empty_pb2.Empty, _context: grpc.ServicerContext) -> empty_pb2.Empty:  # noqa: N802
        """End what runs."""
        self.end_programs()
        return empty_pb2.Empty()

    def end_programs(self) -> None:
        """End every program that still runs, by force after a grace period."""
        with self._lock:
            programs = list(self._programs)
        for program in programs:
            self._end(program)

    def _start(self, request: language_pb2.RunRequest) -> subprocess.Popen[bytes]:
        run: dict[str, Any] = {
            "settings": {
                "monitor": request.monitor_address,
                "engine": self._engine_address,
                "project": request.project,
                "stack": request.stack,
                "parallel": request.parallel,
                "dry_run": request.dryRun,
                "organization": request.organization,
                "root_directory": request.info.root_directory,
            },
            "program": os.path.normpath(os.path.join(request.info.program_directory, request.info.entry_point)),  # noqa: PTH118 - symbolic links must stay
            "working_directory": request.pwd or request.info.program_directory,
            "arguments": list(request.args),
        }
        environment = {
            **os.environ,
            "PULUMI_CONFIG": json.dumps(dict(request.config)),
            "PULUMI_CONFIG_SECRET_KEYS": json.dumps(list(request.configSecretKeys)),
        }
        with self._lock:
            # The program watches its standard input to notice that the host is gone.
            program = subprocess.Popen(
                [sys.executable, "-u", "-m", "beamline.host.program", json.dumps(run)],
                env=environment,
                stdin=subprocess.PIPE,
            )
            self._programs.add(program)
        return program

    def _end(self, program: subprocess.Popen[bytes]) -> None:
        if program.poll() is not None:
            return
        program.terminate()
        try:
            program.wait(_GRACE_S)
        except subprocess.TimeoutExpired:
            program.kill()
            program.wait()
