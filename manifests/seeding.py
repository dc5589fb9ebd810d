"""Brings the weights onto every accelerator node, once per node and not once per pod.

A 500 GB checkpoint takes minutes even from a bucket in the same region, and pods that each pull from the hub have been
answered HTTP 429. So a DaemonSet copies it to the node's local SSD, whoever runs or restarts there. The pod is ready
when its node holds every set whole; until then it keeps trying, and a copy that was killed goes on where it stopped.

The container runs as root without any capability: the folder belongs to the node's root. A Hugging Face token, if one
is needed, is mounted from Secret Manager as a file (GKE's add-on, under the pod's Google identity); it is in no
manifest, no Kubernetes Secret, no argument and no environment variable.
Sources: https://cloud.google.com/secret-manager/docs/secret-manager-managed-csi-component (class and driver);
https://cloud.google.com/kubernetes-engine/docs/how-to/workload-identity (annotation of the service account).
"""

from __future__ import annotations

from typing import Any

from manifests.local_ssd import is_raw_block, weights_folder
from manifests.naming import (
    WEIGHTS,
    content_name,
    labels,
    metadata,
    selector,
    weights_google_service_account,
    weights_namespace,
)
from manifests.objects import KubernetesObject
from manifests.placement import accelerator_tolerations, prepared_nodes
from manifests.pod_security import confined
from manifests.scripts import SEED
from manifests.weight_sets import MOUNT_PATH, WeightSet, is_seeded, token_secrets, weight_sets
from stacks.resolve import StackSpec
from stacks.spec import Bucket, HuggingFace

__all__ = ["seeding"]

_TOKENS_PATH = "/var/run/huggingface"
_HOME = "/tmp"  # noqa: S108 - in the container, where it is an emptyDir of this pod alone
_RESOURCES = {
    "requests": {"cpu": "500m", "memory": "1Gi"},
    "limits": {"memory": "3Gi"},
}
"""Little is reserved, since copying is over before the engine starts; no CPU limit, so that it may use idle cores."""
_IMAGES = {"model": "weights", "drafter": "drafter"}
"""Role of a set -> role of the image that fetches it."""
_IS_COMPLETE = '[ "$(cat "$ROOT/$KEY/.complete")" = "$MARKER" ]'


def seeding(spec: StackSpec) -> tuple[KubernetesObject, ...]:
    """Service account, script, secrets' references and the DaemonSet; none where pods read weights from elsewhere."""
    if not is_seeded(spec):
        return ()
    secrets = token_secrets(spec)
    return (
        _service_account(spec),
        _script(spec),
        *([_secret_provider_class(spec, secrets)] if secrets else []),
        _daemon_set(spec, secrets),
    )


def _metadata(spec: StackSpec, name: str) -> dict[str, Any]:
    return metadata(spec, name, component=WEIGHTS, namespace=weights_namespace(spec))


def _service_account(spec: StackSpec) -> KubernetesObject:
    return KubernetesObject(
        area="weights",
        name="service-account",
        body={
            "apiVersion": "v1",
            "kind": "ServiceAccount",
            "metadata": {
                **_metadata(spec, WEIGHTS),
                "annotations": {"iam.gke.io/gcp-service-account": weights_google_service_account(spec)},
            },
            "automountServiceAccountToken": False,
        },
        after=("weights-namespace",),
    )


def _script_name() -> str:
    return content_name("seed-script", SEED)


def _script(spec: StackSpec) -> KubernetesObject:
    return KubernetesObject(
        area="weights",
        name="seed-script",
        body={
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": _metadata(spec, _script_name()),
            "immutable": True,
            "data": {"seed.sh": SEED},
        },
        after=("weights-namespace",),
    )


def _secret_provider_class(spec: StackSpec, secrets: list[str]) -> KubernetesObject:
    entries = [
        f'- resourceName: "projects/{spec.settings.project}/secrets/{name}/versions/latest"\n  path: "{name}"\n'
        for name in secrets
    ]
    return KubernetesObject(
        area="weights",
        name="hub-tokens",
        body={
            "apiVersion": "secrets-store.csi.x-k8s.io/v1",
            "kind": "SecretProviderClass",
            "metadata": _metadata(spec, "hub-tokens"),
            "spec": {"provider": "gke", "parameters": {"secrets": "".join(entries)}},
        },
        after=("weights-namespace",),
    )


def _daemon_set(spec: StackSpec, secrets: list[str]) -> KubernetesObject:
    sets = weight_sets(spec)
    keep = " ".join(s.key for s in sets)
    return KubernetesObject(
        area="weights",
        name="seeding",
        body={
            "apiVersion": "apps/v1",
            "kind": "DaemonSet",
            "metadata": _metadata(spec, "seeding"),
            "spec": {
                "selector": {"matchLabels": selector(spec, WEIGHTS)},
                # Seeders serve nobody, so all may be replaced at once: nodes then fetch a new revision side by side.
                "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": "100%"}},
                "template": {
                    "metadata": {"labels": labels(spec, WEIGHTS)},
                    "spec": {
                        "serviceAccountName": WEIGHTS,
                        "automountServiceAccountToken": False,
                        "enableServiceLinks": False,
                        "terminationGracePeriodSeconds": 1,  # a killed copy is resumed; there is nothing to finish
                        **prepared_nodes(spec),
                        "tolerations": accelerator_tolerations(spec),
                        "securityContext": {"runAsUser": 0, "seccompProfile": {"type": "RuntimeDefault"}},
                        "containers": [_container(spec, s, keep) for s in sets],
                        "volumes": _volumes(spec, secrets),
                    },
                },
            },
        },
        timeout_s=spec.derived.seed_budget_s,
        after=(
            "service-account",
            "seed-script",
            "seeding-network-policy",
            *(["hub-tokens"] if secrets else []),
            *(["local-ssd"] if is_raw_block(spec) else []),
        ),
    )


def _container(spec: StackSpec, weights: WeightSet, keep: str) -> dict[str, Any]:
    mounts = [
        {"name": "weights", "mountPath": MOUNT_PATH},
        {"name": "script", "mountPath": "/scripts", "readOnly": True},
        {"name": "home", "mountPath": _HOME},
    ]
    if isinstance(weights.source, HuggingFace) and weights.source.token_secret:
        mounts.append({"name": "hub-tokens", "mountPath": _TOKENS_PATH, "readOnly": True})
    return {
        "name": weights.role,
        "image": str(spec.images[_IMAGES[weights.role]]),
        "command": ["/bin/sh", "/scripts/seed.sh", *_source_arguments(weights)],
        "env": _environment(weights, keep),
        "readinessProbe": {"exec": {"command": ["/bin/sh", "-c", _IS_COMPLETE]}, "periodSeconds": 5},
        "resources": _RESOURCES,
        "securityContext": confined(),
        "volumeMounts": mounts,
    }


def _source_arguments(weights: WeightSet) -> list[str]:
    match weights.source:
        case Bucket():
            return ["bucket", weights.marker]
        case HuggingFace(repository=repository, revision=revision):
            return ["huggingface", repository, revision]


def _environment(weights: WeightSet, keep: str) -> list[dict[str, str]]:
    values = {
        "ROOT": MOUNT_PATH,
        "KEY": weights.key,
        "MARKER": weights.marker,
        "BYTES": str(weights.size_bytes),
        "KEEP": keep,
        "HOME": _HOME,
    }
    match weights.source:
        case Bucket():
            # Half-fetched objects are found again after a restart by their tracker files.
            values["CLOUDSDK_STORAGE_TRACKER_FILES_DIRECTORY"] = f"{MOUNT_PATH}/.trackers"
            values["CLOUDSDK_CORE_DISABLE_PROMPTS"] = "1"
        case HuggingFace(token_secret=secret):
            values["HF_HUB_DISABLE_TELEMETRY"] = "1"
            if secret:
                values["HF_TOKEN_PATH"] = f"{_TOKENS_PATH}/{secret}"
    return [{"name": name, "value": value} for name, value in values.items()]


def _volumes(spec: StackSpec, secrets: list[str]) -> list[dict[str, Any]]:
    # On raw block the folder is there once the file system is mounted; made before, it would be on the boot disk.
    kind = "Directory" if is_raw_block(spec) else "DirectoryOrCreate"
    volumes: list[dict[str, Any]] = [
        {"name": "weights", "hostPath": {"path": weights_folder(spec), "type": kind}},
        {"name": "script", "configMap": {"name": _script_name()}},
        {"name": "home", "emptyDir": {}},
    ]
    if secrets:
        volumes.append(
            {
                "name": "hub-tokens",
                "csi": {
                    "driver": "secrets-store-gke.csi.k8s.io",
                    "readOnly": True,
                    "volumeAttributes": {"secretProviderClass": "hub-tokens"},
                },
            }
        )
    return volumes
