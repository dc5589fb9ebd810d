"""Every type the kit creates has an id that follows from its inputs, as Google's provider and its documentation say."""

from __future__ import annotations

import importlib
import inspect
import re
from typing import Any

import pytest

from beamline.recovery.identities import formats, identify
from beamline.sandbox.cloud.kinds import KINDS
from beamline.sandbox.cloud.operations import Operations
from components.sdk import resource_class
from stacks.cloud import SANDBOX_PROJECT
from tests.cloud.conftest import api, cloud, simulation
from tests.cloud.samples import CLUSTER, GOOD, NETWORK
from tests.components.plans import PRESETS, plan

__all__ = ["api", "cloud", "simulation"]

PROVIDER = {"project": SANDBOX_PROJECT, "region": "us-central1", "zone": "us-central1-b"}
UNDOCUMENTED = {
    "gcp:kms/cryptoKeyIAMMember:CryptoKeyIAMMember",
    "gcp:serviceaccount/account:Account",
    "gcp:storage/bucket:Bucket",
    "gcp:storage/bucketIAMMember:BucketIAMMember",
}
"""The SDK has no import section for them; their ids are what the pages of the registry say."""
FULL = {"{serviceAccountId}": "projects/{project}/serviceAccounts/{email}"}
"""Inputs that are paths by themselves."""


@pytest.mark.parametrize("preset", PRESETS)
def test_everything_a_preset_creates_can_be_looked_up(preset: str) -> None:
    graph = plan(preset)
    made = {each.type for each in graph.resources if each.type.startswith("gcp:")}
    assert made - set(formats()) == set()


def test_the_table_has_what_the_simulated_cloud_has_and_no_more() -> None:
    assert set(formats()) == set(KINDS)


@pytest.mark.parametrize("name", GOOD)
def test_the_id_is_the_one_the_cloud_gives(name: str, cloud: Operations) -> None:
    """The simulated cloud names its resources by rules of its own, written apart from the table."""
    kind, inputs = GOOD[name]
    found = identify(kind, inputs, PROVIDER)
    assert found is not None
    assert found.id == KINDS[kind].identify(inputs, cloud.simulation).id


@pytest.mark.parametrize("kind", sorted(set(formats()) - UNDOCUMENTED))
def test_the_import_format_is_one_that_the_sdk_documents(kind: str) -> None:
    source = inspect.getsource(importlib.import_module(resource_class(kind).__module__))
    section = source.partition("## Import")[2].partition('"""')[0]
    documented = {_shape(text) for text in re.findall(r'[`"]([^`"\n]*[{/][^`"\n]*)[`"]', section)}
    own, _, rest = formats()[kind].import_id.replace("|last", "").partition(" ")
    if rest:
        assert rest == "{role} {member}{condition}"
        assert any(text.startswith(f"{_shape(FULL.get(own, own))} roles/") for text in documented)
    else:
        assert _shape(own) in documented


def _shape(text: str) -> str:
    """Return a format with its variables unnamed: the documentation calls them otherwise than the inputs."""
    return re.sub(r"\{+[\w-]+\}+", "{}", text)


@pytest.mark.parametrize(
    ("kind", "inputs", "provider", "want"),
    [
        (NETWORK, {"name": "n"}, {"project": "p"}, "projects/p/global/networks/n"),
        (NETWORK, {"name": "n", "project": "q"}, {"project": "p"}, "projects/q/global/networks/n"),
        (CLUSTER, {"name": "c"}, {"project": "p", "zone": "z"}, "projects/p/locations/z/clusters/c"),
        (
            "gcp:projects/iAMMember:IAMMember",
            {"project": "p", "role": "roles/x", "member": "user:a", "condition": {"title": "t"}},
            {},
            "p/roles/x/user:a/t",
        ),
        ("kubernetes:core/v1:Namespace", {"metadata": {"name": "n"}}, {}, "n"),
        ("kubernetes:x.io/v1:Thing", {"metadata": {"name": "n", "namespace": "m"}}, {}, "m/n"),
        ("kubernetes:helm.sh/v3:Release", {"name": "r", "namespace": "m"}, {}, "m/r"),
        (NETWORK, {"name": "n"}, {}, None),
        (NETWORK, {}, {"project": "p"}, None),
        (NETWORK, {"name": {"a": "secret"}}, {"project": "p"}, None),
        ("gcp:pubsub/topic:Topic", {"name": "n"}, {"project": "p"}, None),
        ("kubernetes:core/v1:Namespace", {"metadata": {"generateName": "n-"}}, {}, None),
    ],
    ids=[
        "the provider's project", "its own project", "a zone stands in for a region", "a condition", "no namespace",
        "a custom resource", "a release", "no project", "no name", "a secret name", "an unknown type",
        "a name the server makes up",
    ],
)  # fmt: skip
def test_identify(kind: str, inputs: dict[str, Any], provider: dict[str, Any], want: str | None) -> None:
    found = identify(kind, inputs, provider)
    assert (found.id if found else None) == want
