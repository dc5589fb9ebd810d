"""The InferencePool: which pods are engines, and whom the Gateway asks to choose among them.

``failureMode: FailOpen``: while the picker is away (there is one, and it is replaced without surge), the load balancer
chooses an engine by itself. Every engine can serve every request, so what is lost is cache hits, not requests;
``FailClose`` would answer errors for that time.
Source: https://gateway-api-inference-extension.sigs.k8s.io/api-types/inferencepool/
"""

from __future__ import annotations

from manifests.chosen import llmd_release
from manifests.naming import ENGINE, ROUTER, metadata, selector
from manifests.objects import KubernetesObject
from stacks.resolve import StackSpec

__all__ = ["inference_pool", "pool_reference"]


def pool_reference(spec: StackSpec) -> dict[str, str]:
    """How other objects name the pool."""
    group = llmd_release(spec).inference_pool_api_version.partition("/")[0]
    return {"group": group, "kind": "InferencePool", "name": ENGINE}


def inference_pool(spec: StackSpec) -> KubernetesObject:
    """The pool of engines. GKE brings its definition; the kit does not install it."""
    return KubernetesObject(
        area="serving",
        name="inference-pool",
        body={
            "apiVersion": llmd_release(spec).inference_pool_api_version,
            "kind": "InferencePool",
            "metadata": metadata(spec, ENGINE, component=ENGINE),
            "spec": {
                "selector": {"matchLabels": selector(spec, ENGINE)},
                "targetPorts": [{"number": spec.derived.engine_port}],
                "endpointPickerRef": {
                    "group": "",
                    "kind": "Service",
                    "name": ROUTER,
                    "port": {"number": llmd_release(spec).ports.ext_proc},
                    "failureMode": "FailOpen",
                },
            },
        },
    )
