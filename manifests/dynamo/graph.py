"""The DynamoGraphDeployment: frontends and workers as one object, which Dynamo's operator turns into pods.

- One pod of a component is replaced at a time, the old one first (``RollingRecreate``): there are no spare GPUs. The
  annotation is written because releases differ in what they do without it.
- The operator's own PodMonitors are off: the kit's PodMonitoring scrapes these pods, and a Prometheus operator in the
  same cluster would scrape them a second time.
- ``runtimeVersionOverride`` says which Dynamo is in the image, where the operator cannot read it from the tag.
- ``successful`` is the state of a graph all of whose components are ready.
Source: ai-dynamo/dynamo, docs, DynamoGraphDeployment v1beta1; deploy/operator/internal/webhook/validation
"""

from __future__ import annotations

import re
from typing import Any

from manifests.chosen import dynamo_release
from manifests.dynamo.environment import graph_environment
from manifests.dynamo.frontend import frontend
from manifests.dynamo.names import graph_name
from manifests.dynamo.platform import PLATFORM
from manifests.dynamo.policy_file import policy_object
from manifests.dynamo.worker import worker
from manifests.fabric_claims import claim_objects
from manifests.naming import ENGINE, metadata
from manifests.objects import KubernetesObject
from manifests.tier_evictor import evictor_objects
from stacks.images import ImageReference
from stacks.resolve import StackSpec

__all__ = ["graph"]

_RELEASE_TAG = re.compile(r":v?\d+\.\d+\.\d+\Z")


def graph(spec: StackSpec) -> KubernetesObject:
    """The graph; its kind comes with the platform."""
    derived = spec.derived
    return KubernetesObject(
        area="serving",
        name="graph",
        body={
            "apiVersion": dynamo_release(spec).api_version,
            "kind": "DynamoGraphDeployment",
            "metadata": {
                **metadata(spec, graph_name(spec), component=ENGINE),
                "annotations": {
                    "nvidia.com/grove-update-strategy": "RollingRecreate",
                    "nvidia.com/enable-metrics": "false",
                },
            },
            "spec": {
                "backendFramework": spec.rows.engine.kind,
                "env": graph_environment(spec),
                "components": [
                    {**component, **_runtime_version(spec)}
                    for component in (frontend(spec), *(worker(spec, role) for role in spec.roles))
                ],
            },
        },
        timeout_s=derived.workload_budget_s,
        update_timeout_s=derived.rollout_budget_s,
        wait_for=("jsonpath={.status.state}=successful",),
        alone=True,
        after=(
            PLATFORM,
            *(item.name for item in (*claim_objects(spec), *evictor_objects(spec))),
            *(item.name for item in (policy_object(spec),) if item),
            "graph-network-policy",
            "frontend-network-policy",
        ),
    )


def _runtime_version(spec: StackSpec) -> dict[str, Any]:
    image: ImageReference = spec.images["engine"]
    if image.digest is None and _RELEASE_TAG.search(image.name):
        return {}
    return {"runtimeVersionOverride": dynamo_release(spec).version}
