"""The kit's program with one mistake: prefill workers do not tolerate the taint of arm64 nodes."""

import runpy
from dataclasses import replace
from pathlib import Path
from typing import Any

import components.stack
from manifests import KubernetesObject, render
from stacks import StackSpec


def _without(component: dict[str, Any]) -> dict[str, Any]:
    if component["type"] != "prefill":
        return component
    pod = component["podTemplate"]
    kept = [t for t in pod["spec"]["tolerations"] if t["key"] != "kubernetes.io/arch"]
    return {**component, "podTemplate": {**pod, "spec": {**pod["spec"], "tolerations": kept}}}


def _mistaken(spec: StackSpec) -> tuple[KubernetesObject, ...]:
    return tuple(
        replace(
            item,
            body={
                **item.body,
                "spec": {**item.body["spec"], "components": [_without(c) for c in item.body["spec"]["components"]]},
            },
        )
        if item.body["kind"] == "DynamoGraphDeployment"
        else item
        for item in render(spec)
    )


components.stack.render = _mistaken  # type: ignore[attr-defined]
runpy.run_path(str(Path(components.stack.__file__).parents[1] / "__main__.py"), run_name="__main__")
