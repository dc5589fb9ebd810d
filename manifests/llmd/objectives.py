"""InferenceObjectives: the names of flow control's bands, which clients say in a header.

The header for them is in the release's row. A request that names a band has its priority, one that names none has 0.
Source: llm-d-router v0.10.0, config/crd/bases/llm-d.ai_inferenceobjectives.yaml
"""

from __future__ import annotations

from manifests.chosen import llmd_release
from manifests.llmd.inference_pool import pool_reference
from manifests.naming import ROUTER, metadata
from manifests.objects import KubernetesObject
from stacks.resolve import StackSpec

__all__ = ["objectives"]


def objectives(spec: StackSpec) -> tuple[KubernetesObject, ...]:
    """One for each band; none without flow control."""
    control = spec.preset.serving.routing.flow_control
    bands = control.bands if control else {}
    return tuple(
        KubernetesObject(
            area="serving",
            name=f"objective-{name}",
            body={
                "apiVersion": llmd_release(spec).inference_objective_api_version,
                "kind": "InferenceObjective",
                "metadata": metadata(spec, name, component=ROUTER),
                "spec": {"priority": band.priority, "poolRef": pool_reference(spec)},
            },
            after=("crd-inferenceobjectives", "inference-pool"),
        )
        for name, band in bands.items()
    )
