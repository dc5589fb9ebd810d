"""What a pod asks for to reach pods of other nodes: claims, environment, neighbours. The transport decides all of it.

- A ComputeDomain gives its pods an IMEX channel, without which memory of another node's GPU cannot be mapped over
  NVLink. Its driver makes the claim template it names.
- RDMA devices are dynamic resources of the node. A pod claims its share by GPUs, and no two pods share a device.
- Pods that share memory over NVLink must be in one NVLink domain; GKE names it in a node label.
Source: https://github.com/kubernetes-sigs/dra-driver-nvidia-gpu ; GKE docs, managed DRANET
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from manifests.naming import ENGINE, content_name, metadata, selector
from manifests.objects import KubernetesObject
from stacks.resolve import StackSpec
from stacks.spec import PrefillDecode

__all__ = [
    "capabilities",
    "claim_objects",
    "container_claims",
    "network_environment",
    "pod_affinity",
    "pod_claims",
]

COMPUTE_DOMAIN = "nvlink"
RDMA = "rdma"


def claim_objects(spec: StackSpec) -> tuple[KubernetesObject, ...]:
    """The ComputeDomain and the template of the RDMA claim, in the engine's namespace, where the transport has them."""
    transport, objects = spec.rows.transport, []
    if transport and transport.compute_domain:
        objects.append(_compute_domain(spec))
    if transport and transport.rdma_device_class:
        objects.append(_rdma_claim_template(spec, transport.rdma_device_class))
    return tuple(objects)


def _compute_domain(spec: StackSpec) -> KubernetesObject:
    """The driver makes the claim template, and a status once pods claim: nothing can be waited for before them."""
    return KubernetesObject(
        area="serving",
        name="compute-domain",
        body={
            "apiVersion": "resource.nvidia.com/v1beta1",
            "kind": "ComputeDomain",
            "metadata": metadata(spec, content_name(COMPUTE_DOMAIN, _num_nodes(spec)), component=ENGINE),
            "spec": {
                "numNodes": _num_nodes(spec),
                "channel": {"allocationMode": "Single", "resourceClaimTemplate": {"name": _channel_claim(spec)}},
            },
        },
    )


def _num_nodes(spec: StackSpec) -> int:
    chosen = spec.preset.serving.transport
    return (chosen.compute_domain_nodes or 0) if chosen else 0


def _channel_claim(spec: StackSpec) -> str:
    """Name of the claim template of the domain. Its spec cannot be changed, so another spec is another domain."""
    return content_name(f"{COMPUTE_DOMAIN}-channel", _num_nodes(spec))


def _rdma_claim_template(spec: StackSpec, device_class: str) -> KubernetesObject:
    return KubernetesObject(
        area="serving",
        name="rdma-claim-template",
        body={
            "apiVersion": "resource.k8s.io/v1",
            "kind": "ResourceClaimTemplate",
            "metadata": metadata(spec, _rdma_claim(spec), component=ENGINE),
            "spec": {
                "spec": {
                    "devices": {
                        "requests": [
                            {
                                "name": RDMA,
                                "exactly": {
                                    "deviceClassName": device_class,
                                    "allocationMode": "ExactCount",
                                    "count": spec.derived.rdma_devices_per_pod,
                                },
                            }
                        ]
                    }
                }
            },
        },
    )


def _rdma_claim(spec: StackSpec) -> str:
    """Name of the template of the RDMA claim; what it asks for cannot be changed either."""
    device_class = spec.rows.transport.rdma_device_class if spec.rows.transport else None
    return content_name(RDMA, [device_class, spec.derived.rdma_devices_per_pod])


def pod_claims(spec: StackSpec) -> list[dict[str, str]]:
    """``spec.resourceClaims`` of an engine pod; empty without claims."""
    transport, claims = spec.rows.transport, []
    if transport and transport.compute_domain:
        claims.append({"name": COMPUTE_DOMAIN, "resourceClaimTemplateName": _channel_claim(spec)})
    if transport and transport.rdma_device_class:
        claims.append({"name": RDMA, "resourceClaimTemplateName": _rdma_claim(spec)})
    return claims


def container_claims(spec: StackSpec) -> list[dict[str, str]]:
    """``resources.claims`` of the engine's container: every claim of its pod."""
    return [{"name": claim["name"]} for claim in pod_claims(spec)]


def capabilities(spec: StackSpec) -> list[str]:
    """Linux capabilities that engine containers add, beyond what ``restricted`` admits."""
    return spec.rows.transport.capabilities if spec.rows.transport else []


def network_environment(spec: StackSpec) -> dict[str, str]:
    """Variables that make NCCL use the links between a node's GPUs, and NCCL and the engine what is claimed.

    Those that move KV cache are only where it moves.
    """
    level, transport = spec.rows.hardware.gpu.nccl_p2p_level, spec.rows.transport
    found = {} if level is None else {"NCCL_P2P_LEVEL": str(level)}
    if transport is None:
        return found
    moves_kv = isinstance(spec.preset.serving.shape, PrefillDecode)
    return {**found, **transport.variables(spec.rows.engine.kind, moves_kv=moves_kv)}


def pod_affinity(spec: StackSpec, pods: Mapping[str, str] | None = None, *, keys: Sequence[str] = ()) -> dict[str, Any]:
    """Keep all engine pods in one NVLink domain; nothing where they share no memory over NVLink.

    ``pods`` are the labels that find them, where an operator writes its own over those of ``manifests.naming``; only
    those are kept together whose labels of ``keys`` are the same.
    """
    transport, label = spec.rows.transport, spec.rows.hardware.fabric.domain_label
    if transport is None or not transport.compute_domain or label is None:
        return {}
    return {
        "podAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": [
                {
                    "labelSelector": {"matchLabels": dict(pods or selector(spec, ENGINE))},
                    "topologyKey": label,
                    **({"matchLabelKeys": list(keys)} if keys else {}),
                }
            ]
        }
    }
