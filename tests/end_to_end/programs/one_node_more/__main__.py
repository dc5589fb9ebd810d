"""The kit's program with one mistake: a ninth replica in a domain of nine nodes, on a pool of eight."""

import runpy
from dataclasses import replace
from pathlib import Path

import components.stack
from manifests import KubernetesObject, render
from stacks import StackSpec

NODES = 9


def _mistaken(spec: StackSpec) -> tuple[KubernetesObject, ...]:
    serving = spec.preset.serving
    shape = serving.shape.model_copy(update={"decode_replicas": NODES - spec.roles[0].replicas})
    transport = serving.transport.model_copy(update={"compute_domain_nodes": NODES}) if serving.transport else None
    larger = serving.model_copy(update={"shape": shape, "transport": transport})
    return render(replace(spec, preset=spec.preset.model_copy(update={"serving": larger})))


components.stack.render = _mistaken  # type: ignore[attr-defined]
runpy.run_path(str(Path(components.stack.__file__).parents[1] / "__main__.py"), run_name="__main__")
