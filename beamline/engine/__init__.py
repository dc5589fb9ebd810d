"""The in-process engine: a Pulumi program's resource graph without an engine, a cloud or a login."""

from beamline.engine.graph import Alias, Graph, Invoke, Log, Read, Resource
from beamline.engine.runner import run_program
from beamline.engine.values import UNKNOWN, Secret, Unknown, Value

__all__ = [
    "UNKNOWN",
    "Alias",
    "Graph",
    "Invoke",
    "Log",
    "Read",
    "Resource",
    "Secret",
    "Unknown",
    "Value",
    "run_program",
]
