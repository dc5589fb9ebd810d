"""Who seeds what, and where a hub's token is and is not."""

from __future__ import annotations

import json
from typing import Any

import pytest

from manifests import weights_service_account

from .cases import spec_of
from .cluster_objects import objects_of

_GCLOUD = "gcr.io/google.com/cloudsdktool/google-cloud-cli:548.0.0-slim"
_ENGINE = "docker.io/vllm/vllm-openai:v0.33.0"


def seeders(case: str) -> list[Any]:
    found: list[Any] = objects_of(case).pod("seeding")["containers"]
    return found


COMMANDS = {
    "g4-llmd": [("model", _GCLOUD, ["bucket", "gs://your-weights-bucket/beam/fp8"])],
    "small-l4": [
        (
            "model",
            _ENGINE,
            ["huggingface", "Qwen/Qwen3-4B-Instruct-2507", "cdbee75f17c01a7cc42f958dc650907174af0554"],
        )
    ],
    "drafter-from-bucket": [
        ("model", _GCLOUD, ["bucket", "gs://your-weights-bucket/beam/fp8"]),
        ("drafter", _GCLOUD, ["bucket", "gs://your-weights-bucket/beam/dflash2"]),
    ],
    "drafter-from-hub": [
        ("model", _GCLOUD, ["bucket", "gs://your-weights-bucket/beam/fp8"]),
        (
            "drafter",
            _ENGINE,
            ["huggingface", "reflection/Beam-1.0-DFlash2", "0123456789abcdef0123456789abcdef01234567"],
        ),
    ],
}
"""Case: container, image and source; each set by the image that has the tool for its source."""


@pytest.mark.parametrize("case", COMMANDS)
def test_every_set_has_its_container(case: str) -> None:
    images = [(c["name"], c["image"].partition("@")[0], c["command"][2:]) for c in seeders(case)]
    assert images == COMMANDS[case]


def test_a_token_is_a_file_from_secret_manager_and_nowhere_else() -> None:
    objects = objects_of("drafter-from-hub")
    model, drafter = seeders("drafter-from-hub")
    assert objects.one("SecretProviderClass", "hub-tokens")["spec"] == {
        "provider": "gke",
        "parameters": {
            "secrets": '- resourceName: "projects/your-project-id/secrets/hub-token/versions/latest"\n'
            '  path: "hub-token"\n'
        },
    }
    assert {"name": "HF_TOKEN_PATH", "value": "/var/run/huggingface/hub-token"} in drafter["env"]
    assert "hub-token" not in json.dumps(model)
    assert objects.kind("Secret") == []


def test_without_a_token_there_is_no_secret_to_mount() -> None:
    assert objects_of("small-l4").kind("SecretProviderClass") == []
    assert "csi" not in json.dumps(objects_of("small-l4").pod("seeding"))


def test_another_revision_is_another_folder_and_another_marker() -> None:
    fp8, nvfp4 = (seeders(case)[0]["env"] for case in ("g4-llmd", "g4-llmd-nvfp4"))
    same = [a["name"] for a, b in zip(fp8, nvfp4, strict=True) if a["value"] == b["value"]]
    assert {"KEY", "MARKER", "KEEP"}.isdisjoint(same)


def test_the_service_account_for_workload_identity_is_the_one_that_seeds() -> None:
    objects = objects_of("g4-llmd")
    namespace, name = weights_service_account(spec_of("g4-llmd"))
    account = objects.one("ServiceAccount", name)
    daemon_set = objects.one("DaemonSet", "seeding")
    assert (account["metadata"]["namespace"], account["metadata"]["name"]) == (namespace, name)
    assert daemon_set["metadata"]["namespace"] == namespace
    assert objects.pod("seeding")["serviceAccountName"] == name
    assert account["metadata"]["annotations"] == {
        "iam.gke.io/gcp-service-account": "beamline-test-weights@your-project-id.iam.gserviceaccount.com"
    }
