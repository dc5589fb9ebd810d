"""A rendered graph as the tests look at it: its components, their pods and containers."""

from __future__ import annotations

from typing import Any

from ..cluster_objects import Body, Objects, objects_of

__all__ = ["arguments", "component", "components", "container", "environment", "graph", "pod", "workers"]


def graph(objects: Objects) -> Body:
    (found,) = objects.kind("DynamoGraphDeployment")
    return found


def components(objects: Objects) -> list[Body]:
    found: list[Body] = graph(objects)["spec"]["components"]
    return found


def component(objects: Objects, name: str) -> Body:
    (found,) = (c for c in components(objects) if c["name"] == name)
    return found


def workers(objects: Objects) -> list[Body]:
    return [c for c in components(objects) if c["type"] != "frontend"]


def pod(component: Body) -> Body:
    found: Body = component["podTemplate"]["spec"]
    return found


def container(component: Body) -> Body:
    found: Body
    (found,) = (c for c in pod(component)["containers"] if c["name"] == "main")
    return found


def environment(component: Body) -> dict[str, Any]:
    return {e["name"]: e["value"] for e in container(component)["env"] if "value" in e}


def arguments(case: str, name: str) -> list[str]:
    """Arguments of one component of one case."""
    found: list[str] = container(component(objects_of(case), name))["args"]
    return found
