"""Small graphs for rules: one sound serving stack, and ways to break one thing in it."""

from __future__ import annotations

import copy
from typing import Any

import yaml

from beamline.engine.graph import Graph, Resource
from beamline.engine.values import Secret
from stacks.urns import STACK_TYPE

Bodies = dict[str, dict[str, Any]]

ROOT = "urn:pulumi:t::beamline::pulumi:pulumi:Stack::beamline-t"
COMPONENT = "urn:pulumi:t::beamline::beamline:stack:InferenceStack::t"
PROVIDER = "urn:pulumi:t::beamline::beamline:stack:InferenceStack$pulumi:providers:kubernetes::cluster"
GOOGLE = "urn:pulumi:t::beamline::beamline:stack:InferenceStack$pulumi:providers:gcp::google"

_OBJECTS = """
Namespace: {apiVersion: v1, kind: Namespace, metadata: {name: qwen}}
NetworkPolicy:
  apiVersion: networking.k8s.io/v1
  kind: NetworkPolicy
  metadata: {name: default-deny, namespace: qwen}
  spec: {podSelector: {}, policyTypes: [Ingress, Egress]}
ServiceAccount:
  apiVersion: v1
  kind: ServiceAccount
  metadata: {name: engine, namespace: qwen}
RouterAccount:
  apiVersion: v1
  kind: ServiceAccount
  metadata: {name: router, namespace: qwen}
ConfigMap:
  apiVersion: v1
  kind: ConfigMap
  metadata: {name: router, namespace: qwen}
  data: {config.yaml: "plugins: []"}
Deployment:
  apiVersion: apps/v1
  kind: Deployment
  metadata: {name: engine, namespace: qwen}
  spec:
    replicas: 1
    selector: {matchLabels: {app: engine}}
    template:
      metadata: {labels: {app: engine, model: qwen3-4b}}
      spec:
        serviceAccountName: engine
        automountServiceAccountToken: false
        nodeSelector: {cloud.google.com/gke-accelerator: nvidia-l4}
        tolerations: [{key: nvidia.com/gpu, operator: Equal, value: present, effect: NoSchedule}]
        containers:
          - name: engine
            image: docker.io/vllm/vllm-openai:v0.33.0
            ports: [{name: http, containerPort: 8000}]
            env:
              - {name: MAX_TOKENS, value: "1024"}
              - {name: CONFIG, valueFrom: {configMapKeyRef: {name: router, key: config.yaml}}}
            resources:
              requests: {cpu: "4", memory: 20Gi, ephemeral-storage: 20Gi}
              limits: {nvidia.com/gpu: "1", memory: 20Gi}
        volumes: [{name: config, configMap: {name: router, items: [{key: config.yaml, path: config.yaml}]}}]
Service:
  apiVersion: v1
  kind: Service
  metadata: {name: router, namespace: qwen}
  spec:
    selector: {app: engine}
    ports: [{name: grpc, port: 9002, targetPort: http}]
InferencePool:
  apiVersion: inference.networking.k8s.io/v1
  kind: InferencePool
  metadata: {name: qwen, namespace: qwen}
  spec:
    selector: {matchLabels: {app: engine}}
    targetPorts: [{number: 8000}]
    endpointPickerRef: {name: router, port: {number: 9002}}
Gateway:
  apiVersion: gateway.networking.k8s.io/v1
  kind: Gateway
  metadata: {name: inference, namespace: qwen}
  spec: {gatewayClassName: gke-l7-rilb, listeners: [{name: http, port: 80, protocol: HTTP}]}
HTTPRoute:
  apiVersion: gateway.networking.k8s.io/v1
  kind: HTTPRoute
  metadata: {name: qwen, namespace: qwen}
  spec:
    parentRefs: [{name: inference}]
    rules: [{backendRefs: [{group: inference.networking.k8s.io, kind: InferencePool, name: qwen}]}]
PodDisruptionBudget:
  apiVersion: policy/v1
  kind: PodDisruptionBudget
  metadata: {name: engine, namespace: qwen}
  spec: {maxUnavailable: 1, selector: {matchLabels: {app: engine}}}
PodMonitoring:
  apiVersion: monitoring.googleapis.com/v1
  kind: PodMonitoring
  metadata: {name: engine, namespace: qwen}
  spec: {selector: {matchLabels: {app: engine}}, endpoints: [{port: http, interval: 30s}]}
Role:
  apiVersion: rbac.authorization.k8s.io/v1
  kind: Role
  metadata: {name: router, namespace: qwen}
  rules: [{apiGroups: [""], resources: [pods], verbs: [get]}]
RoleBinding:
  apiVersion: rbac.authorization.k8s.io/v1
  kind: RoleBinding
  metadata: {name: router, namespace: qwen}
  roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: router}
  subjects: [{kind: ServiceAccount, name: router, namespace: qwen}]
"""

_BODIES: Bodies = yaml.safe_load(_OBJECTS)

_NODE_POOL: dict[str, Any] = {
    "name": "gpu",
    "cluster": "beamline-t",
    "nodeCount": 1,
    "networkConfig": {"enablePrivateNodes": True},
    "nodeConfig": {
        "serviceAccount": "nodes@acme-inference.iam.gserviceaccount.com",
        "metadata": {"disable-legacy-endpoints": "true"},
        "workloadMetadataConfig": {"mode": "GKE_METADATA"},
        "kubeletConfig": {"insecureKubeletReadonlyPortEnabled": "FALSE"},
        "shieldedInstanceConfig": {"enableSecureBoot": True, "enableIntegrityMonitoring": True},
        "machineType": "g2-standard-12",
        "diskSizeGb": 100,
        "guestAccelerators": [{"type": "nvidia-l4", "count": 1}],
        "ephemeralStorageLocalSsdConfig": {"localSsdCount": 1},
        "taints": [{"key": "nvidia.com/gpu", "value": "present", "effect": "NO_SCHEDULE"}],
    },
}


def sound_bodies() -> Bodies:
    """Return the Kubernetes objects of a stack without fault, by kind."""
    return copy.deepcopy(_BODIES)


def graph_of(bodies: Bodies, *more: Resource) -> Graph:
    """Return a graph with a cluster around the given Kubernetes objects; ``more`` replaces or adds resources."""
    resources = [
        Resource(urn=ROOT, type=STACK_TYPE, name="beamline-t", custom=False),
        Resource(urn=COMPONENT, type="beamline:stack:InferenceStack", name="t", parent=ROOT, custom=False),
        resource(
            "pulumi:providers:kubernetes",
            "cluster",
            {"clusterIdentifier": "p/z/c", "kubeconfig": Secret("{}")},
            urn=PROVIDER,
        ),
        resource("gcp:container/nodePool:NodePool", "gpu", copy.deepcopy(_NODE_POOL), provider=GOOGLE),
        *(registered(body) for body in bodies.values()),
    ]
    by_urn = {each.urn: each for each in (*resources, *more)}
    return Graph(resources=tuple(by_urn[urn] for urn in sorted(by_urn)), outputs={})


def registered(body: dict[str, Any], *, provider: str = PROVIDER, parent: str = COMPONENT) -> Resource:
    """Return the registration of one Kubernetes object."""
    group_version = body["apiVersion"] if "/" in body["apiVersion"] else f"core/{body['apiVersion']}"
    kind = f"kubernetes:{group_version}:{body['kind']}"
    return resource(kind, body["metadata"]["name"], body, provider=provider, parent=parent)


def resource(
    kind: str, name: str, inputs: dict[str, Any], *, urn: str = "", provider: str = "", parent: str = COMPONENT
) -> Resource:
    """Return one custom resource."""
    return Resource(
        urn=urn or f"urn:pulumi:t::beamline::beamline:stack:InferenceStack${kind}::{name}",
        type=kind,
        name=name,
        parent=parent,
        inputs=inputs,
        provider=provider,
    )


def sound() -> Graph:
    """Return the stack without fault."""
    return graph_of(sound_bodies())


def with_values(values: dict[str, Any]) -> Graph:
    """Return the sound stack with each dotted path, kind first, set to its value."""
    bodies = sound_bodies()
    for path, value in values.items():
        *sections, last = path.split(".")
        place: Any = bodies
        for section in sections:
            place = place[int(section)] if isinstance(place, list) else place.setdefault(section, {})
        place[int(last) if isinstance(place, list) else last] = value
    return graph_of(bodies)
