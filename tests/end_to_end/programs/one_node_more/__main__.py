"""The kit's program with one mistake: a ninth replica, and a ComputeDomain that waits for nine nodes."""

import runpy
from dataclasses import replace
from pathlib import Path
from typing import Any

import components.stack
from manifests import KubernetesObject, render
from stacks import StackSpec


def _more(body: dict[str, Any]) -> dict[str, Any]:
    match body["kind"]:
        case "ComputeDomain":
            return {**body, "spec": {**body["spec"], "numNodes": 9}}
        case "DynamoGraphDeployment":
            parts = [
                p if p["type"] != "decode" else {**p, "replicas": p["replicas"] + 1} for p in body["spec"]["components"]
            ]
            return {**body, "spec": {**body["spec"], "components": parts}}
    return body


def _mistaken(spec: StackSpec) -> tuple[KubernetesObject, ...]:
    return tuple(replace(item, body=_more(dict(item.body))) for item in render(spec))


components.stack.render = _mistaken  # type: ignore[attr-defined]
runpy.run_path(str(Path(components.stack.__file__).parents[1] / "__main__.py"), run_name="__main__")
