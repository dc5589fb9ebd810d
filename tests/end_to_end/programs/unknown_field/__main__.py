"""The kit's program with one mistake: the InferencePool has a field that its definition does not know."""

import runpy
from dataclasses import replace
from pathlib import Path

import components.stack
from manifests import KubernetesObject, render
from stacks import StackSpec


def _mistaken(spec: StackSpec) -> tuple[KubernetesObject, ...]:
    return tuple(
        replace(item, body={**item.body, "spec": {**item.body["spec"], "sise": 3}})
        if item.body["kind"] == "InferencePool"
        else item
        for item in render(spec)
    )


components.stack.render = _mistaken  # type: ignore[attr-defined]
runpy.run_path(str(Path(components.stack.__file__).parents[1] / "__main__.py"), run_name="__main__")
