"""Small programs written inside a test: what they may use, and how to look at their graphs."""

from __future__ import annotations

from collections.abc import Callable

from beamline.engine import Graph, Resource

Run = Callable[..., Graph]

PRELUDE = """
import pulumi
from pulumi import ComponentResource, CustomResource, ResourceOptions
from stacks.problems import EnvironmentProblem, Problem, ProblemsFound

PROBLEM = Problem(rule="ssd", path="pools.g4.local_ssd", value=3, why="no such count", remedy="use 32")
PROBLEMS = ProblemsFound([PROBLEM])


class Thing(CustomResource):
    out: pulumi.Output[str]

    def __init__(self, name, props=None, opts=None):
        super().__init__("test:index:Thing", name, {"out": None, **(props or {})}, opts)


class Group(ComponentResource):
    def __init__(self, name, opts=None):
        super().__init__("test:index:Group", name, {"size": 1}, opts)
        self.opts = opts
"""


def only(graph: Graph, name: str) -> Resource:
    """Return the resource of that name."""
    (found,) = [resource for resource in graph.resources if resource.name == name]
    return found
