"""Forms of text: what is taken, what is refused, and what a known mistake is told."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

from stacks import forms

DIGEST = "sha256:" + "0" * 64
TAKEN: dict[str, list[str]] = {
    "ProjectId": ["acme-inference", "abcdef", "a" * 30, "beamline-sandbox-simulated-google"],
    "Region": ["us-central1", "northamerica-northeast2", "europe-west12"],
    "Zone": ["us-central1-b", "us-south1-ai1b"],
    "Mirror": [
        "mirror.example.com",
        "mirror.example.com:5000",
        "mirror.example.com:65535/team/images",
        "localhost",
        "mirror:5000/x",
        "10.0.0.5:5000",
        "europe-docker.pkg.dev/acme-inference/mirror",
        "m.example.com/a__b/c-d.e",
    ],
    "ApiVersion": ["inference.networking.k8s.io/v1", "llm-d.ai/v1alpha1"],
    "Cidr": ["10.0.0.0/20", "0.0.0.0/0"],
    "DnsLabel": ["a", "beam-1", "a" * 63],
    "Namespace": ["a", "beam", "a" * 55],
    "PoolName": ["a", "main", "systems", "b1", "a" * 15],
    "GkeVersion": ["1.35.8-gke.1036000"],
    "GkeMinor": ["1.35"],
    "Version": ["0.33.0", "0.33.0rc1", "1.2.3.post1", "1.2.3+cu130"],
    "BucketName": ["abc", "acme-weights", "a.b_c-9"],
    "ObjectPrefix": ["beam", "beam/fp8", "A/b.c/d_e"],
    "HubRepository": ["Qwen/Qwen3-4B-Instruct-2507"],
    "HubRevision": ["0" * 40],
    "SecretId": ["hugging-face-token", "hf_token", "hf_" + "a" * 15],
    "CertificateName": ["beam-example-com"],
    "OauthClientId": ["123456789012-abc123.apps.googleusercontent.com"],
    "ReservationName": [
        "beam-2026",
        "projects/acme-shared/reservations/beam-2026",
        "beam/reservationBlocks/one",
        "projects/a1/reservations/beam/reservationBlocks/one/reservationSubBlocks/two",
    ],
    "ResourceName": ["shared", "a1-b"],
    "Topology": ["1x72", "2x2x1"],
    "LabelKey": ["gke.networks.io/accelerator-network-profile", "a_b.c"],
    "LabelValue": ["", "true", "cni-migration"],
    "EnvironmentName": ["UCX_TLS", "_A1"],
    "FlagName": ["max-num-seqs", "seed"],
    "HeaderName": ["x-session-id", "session-id"],
    "HelmValue": ["image.repository", "dynamo-operator.controllerManager.manager.image.tag"],
    "FeatureName": ["precision:nvfp4", "parallelism:tp8-ep", "kv-offload:host_dram", "gateway:gke-l7-rilb"],
    "ComputeCapability": ["12.0", "8.9"],
    "CudaVersion": ["13.0", "11.8"],
    "DriverVersion": ["580", "580.95.05"],
    "QuotaMetric": ["NVIDIA_B200_GPUS"],
    "NetworkProfile": ["{zone}-vpc-roce", "{zone}-vpc-roce-metal"],
    "ZoneLetter": ["b", "ai1b"],
    "ColumnPath": ["price", "gpu.min_driver"],
    "DiskImage": ["projects/acme-inference/global/images/engine-2026"],
    "KmsKey": ["projects/acme-keys/locations/us-central1/keyRings/Beam_1/cryptoKeys/nodes"],
    "Taint": ["nvidia.com/gpu=present:NoSchedule", "a=:NoExecute"],
}
REFUSED: list[tuple[str, str, str]] = [
    ("ProjectId", "", "write it in the allowed form"),
    ("ProjectId", "acme", "write it in the allowed form"),
    ("ProjectId", "a" * 31, "write it in the allowed form"),
    ("ProjectId", "acme-inference\n", "write it in the allowed form"),
    ("ProjectId", "Acme Inference", "project ids are lower-case; the display name is not the id"),
    ("ProjectId", "123456789012", "this is a project number; write the project id"),
    ("Region", "us-central1-b", "this is a zone; the region is the part before its last hyphen"),
    ("Region", "us-central\u0661", "write it in the allowed form"),
    ("Zone", "us-central1", "this is a region; add the letter of one of its zones"),
    ("Mirror", "https://m.example.com/x", "leave the scheme out: image references start with the host"),
    ("Mirror", "HTTPS://M.example.com", "leave the scheme out: image references start with the host"),
    ("Mirror", "user:pw@m.example.com", "leave the credentials out: nodes pull with their own service account"),
    ("Mirror", "m.example.com/", "leave the slash at the end out"),
    ("Mirror", "m.example.com/Team", "registry paths are lower-case"),
    (
        "Mirror",
        "m.example.com/vllm:v1",
        "this names an image with its tag; write the registry and path all images are under",
    ),
    (
        "Mirror",
        f"m.example.com/vllm@{DIGEST}",
        "this names an image; write the registry and path that all images are under",
    ),
    ("Mirror", "m.example.com:0", "a port is between 1 and 65535"),
    ("Mirror", "m.example.com:65536/x", "a port is between 1 and 65535"),
    ("Mirror", "mirror", "a host needs a dot or a port, or the name is read as a Docker Hub account"),
    ("Mirror", "m.example.com//x", "write it in the allowed form"),
    ("Mirror", "m.example.com/a b", "write it in the allowed form"),
    ("Mirror", "-m.example.com", "write it in the allowed form"),
    ("ApiVersion", "nvidia.com/v1x", "write it in the allowed form"),
    ("Cidr", "10.0.0.0", "add the prefix length, such as /20"),
    ("Cidr", "fd00::/64", "this is an IPv6 network; the stack's ranges are IPv4"),
    ("Cidr", "10.0.0.0/20 ", "write it in the allowed form"),
    ("Namespace", "a" * 56, "shorten it: the stack adds -weights to it, and a DNS label ends at 63 characters"),
    ("PoolName", "system", "that is the pool of routers and operators; choose another name"),
    ("PoolName", "blue-1", "leave hyphens out, or shorten it: at GKE it is beamline-<stack>-<pool>"),
    ("PoolName", "a" * 16, "leave hyphens out, or shorten it: at GKE it is beamline-<stack>-<pool>"),
    ("PoolName", "Blue", "write it in the allowed form"),
    ("GkeVersion", "1.35.8", "a Kubernetes version alone moves with the channel; add GKE's part, -gke.n"),
    ("GkeVersion", "v1.35.8-gke.1", "leave the v out"),
    ("GkeVersion", "latest", "a moving name would change the cluster under you; write an exact version"),
    ("Version", "0.33", "write all three numbers, in quotes if YAML would read a number"),
    ("Version", "v0.33.0", "leave the v out"),
    ("Version", "latest", "a moving name is not a version; write the version you tested"),
    ("BucketName", "gs://acme/x", "leave gs:// out; the path inside the bucket goes into prefix"),
    ("BucketName", "acme/beam", "the path inside the bucket goes into prefix"),
    ("ObjectPrefix", "/beam", "leave the outer slashes out"),
    ("ObjectPrefix", "beam//fp8", "write it in the allowed form"),
    ("ObjectPrefix", "beam/../x", "write it in the allowed form"),
    ("HubRepository", "https://huggingface.co/Qwen/x", "only the owner/name at the end of the address"),
    ("HubRepository", "../x", "write it in the allowed form"),
    ("HubRevision", "main", "a branch or a tag can move; write the commit"),
    ("HubRevision", "0123abc", "write all 40 digits"),
    (
        "SecretId",
        "hf_" + "a" * 34,
        "this is the token itself; put it into Secret Manager, write the secret's name, revoke it",
    ),
    ("SecretId", "projects/p/secrets/s/versions/1", "only the secret's name; its latest enabled version is used"),
    ("CertificateName", "a,b", "write it in the allowed form"),
    ("OauthClientId", "GOCSPX-x", "this is the client's secret; keep it in the cluster's Secret, and make a new one"),
    ("ReservationName", "beam/2026", "write it in the allowed form"),
    ("ReservationName", "https://compute.googleapis.com/x", "start at projects/"),
    ("ReservationName", "beam/reservationSubBlocks/two", "write it in the allowed form"),
    ("ResourceName", "projects/p/global/networks/shared", "only the name at the end of the path"),
    ("ResourceName", "Shared", "write it in the allowed form"),
    ("Topology", "72", "write it in the allowed form"),
    ("Topology", "0x72", "write it in the allowed form"),
    ("LabelKey", "a b", "write it in the allowed form"),
    ("LabelValue", "-x", "write it in the allowed form"),
    ("EnvironmentName", "ucx_tls", "write it in the allowed form"),
    ("HeaderName", "session_id", "leave it out: proxies may drop or refuse headers with underscores"),
    ("FlagName", "--seed", "leave the dashes in front out"),
    ("FlagName", "max_num_seqs", "write it with hyphens"),
    ("HelmValue", "image..tag", "write it in the allowed form"),
    ("FeatureName", "precison:fp8", "write it in the allowed form"),
    ("Taint", "nvidia.com/gpu", "write it in the allowed form"),
    ("CudaVersion", "13.0.3", "leave the patch out: images of one minor run alike"),
    ("DriverVersion", "R580", "leave the R out"),
    ("QuotaMetric", "compute.googleapis.com/nvidia_b200_gpus", "write the last part, in capitals"),
    (
        "QuotaMetric",
        "NVIDIA-B200-GPUS-per-project-region",
        "this is a quota id; write the metric, with underscores and without per-project-region",
    ),
    ("NetworkProfile", "us-central1-b-vpc-roce", "write it in the allowed form"),
    ("ZoneLetter", "us-central1-b", "leave the region out"),
    (
        "KmsKey",
        "projects/acme-keys/locations/us-central1/keyRings/beam/cryptoKeys/nodes/cryptoKeyVersions/1",
        "leave the version out: the primary one is used",
    ),
    (
        "DiskImage",
        "https://www.googleapis.com/compute/v1/projects/acme-inference/global/images/engine",
        "start at projects/",
    ),
]


def _adapter(name: str) -> TypeAdapter[Any]:
    return TypeAdapter(getattr(forms, name))


@pytest.mark.parametrize(("name", "text"), [(name, text) for name, texts in TAKEN.items() for text in texts])
def test_sound_text_is_taken(name: str, text: str) -> None:
    """Text of the right form comes through unchanged."""
    assert _adapter(name).validate_python(text) == text


@pytest.mark.parametrize(("name", "text", "remedy"), REFUSED)
def test_mistakes_are_told_the_remedy(name: str, text: str, remedy: str) -> None:
    """Text of another form is refused; a known mistake gets its own answer."""
    with pytest.raises(ValidationError) as refused:
        _adapter(name).validate_python(text)
    (error,) = refused.value.errors()
    assert (error["type"], error["ctx"]["remedy"]) == ("form", remedy)


def test_every_form_is_tried() -> None:
    """The table above leaves no form of the module out."""
    assert set(TAKEN) == set(forms.__all__) - {"Form", "Text"}
