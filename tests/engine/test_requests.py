"""Registration requests become graph records, whole."""

from __future__ import annotations

import pytest
from google.protobuf import struct_pb2
from pulumi.runtime.proto import alias_pb2, resource_pb2

from beamline.engine import UNKNOWN, Alias, Resource, Secret
from beamline.engine.requests import resource_from_request
from stacks.urns import make_urn

REQUEST = resource_pb2.RegisterResourceRequest
STACK_URN = "urn:pulumi:dev::beamline::pulumi:pulumi:Stack::beamline-dev"


def inputs(**values: object) -> struct_pb2.Struct:
    struct = struct_pb2.Struct()
    struct.update(values)
    return struct


def test_every_field_of_a_request_is_kept() -> None:
    """Full-output comparison of one request that says everything the graph can hold."""
    secret = {"4dabf18193072939515e22adb298388d": "1b47061264138c4ac30d75fd1eb44270", "value": "hush"}
    request = REQUEST(
        type="gcp:container/cluster:Cluster",
        name="c",
        parent=STACK_URN,
        custom=True,
        object=inputs(a=1, b=1.5, c=secret, d=["04da6b54-80e4-46f7-96ec-b56ff0331ba9", True, None], e={}),
        dependencies=["urn:b", "urn:a"],
        propertyDependencies={"a": REQUEST.PropertyDependencies(urns=["urn:b"]), "b": REQUEST.PropertyDependencies()},
        provider="urn:pulumi:dev::beamline::pulumi:providers:gcp::p::some-id",
        providers={"gcp": "urn:pulumi:dev::beamline::pulumi:providers:gcp::p::some-id"},
        protect=False,
        ignoreChanges=["nodeConfig"],
        replaceOnChanges=["location"],
        deleteBeforeReplaceDefined=True,
        deletedWith="urn:a",
        retainOnDelete=True,
        additionalSecretOutputs=["data"],
        aliases=[alias_pb2.Alias(urn="urn:old"), alias_pb2.Alias(spec=alias_pb2.Alias.Spec(name="old", noParent=True))],
        customTimeouts=REQUEST.CustomTimeouts(create="60m"),
        importId="projects/p/clusters/c",
        version="10.2.0",
        pluginDownloadURL="https://plugins.example",
        acceptSecrets=True,
        supportsPartialValues=True,
    )
    assert resource_from_request(request, "urn:c") == Resource(
        urn="urn:c",
        type="gcp:container/cluster:Cluster",
        name="c",
        parent=STACK_URN,
        custom=True,
        inputs={"a": 1, "b": 1.5, "c": Secret("hush"), "d": [UNKNOWN, True, None], "e": {}},
        dependencies=("urn:a", "urn:b"),
        property_dependencies={"a": ("urn:b",)},
        provider="urn:pulumi:dev::beamline::pulumi:providers:gcp::p",
        providers={"gcp": "urn:pulumi:dev::beamline::pulumi:providers:gcp::p"},
        protect=False,
        ignore_changes=("nodeConfig",),
        replace_on_changes=("location",),
        delete_before_replace=False,
        deleted_with="urn:a",
        retain_on_delete=True,
        additional_secret_outputs=("data",),
        aliases=(Alias(urn="urn:old"), Alias(name="old", no_parent=True)),
        custom_timeouts={"create": "60m"},
        import_id="projects/p/clusters/c",
        version="10.2.0",
        plugin_download_url="https://plugins.example",
    )


@pytest.mark.parametrize(
    ("request_", "named"),
    [
        (REQUEST(type="t", name="n", remote=True), "remote"),
        (REQUEST(type="t", name="n", hideDiffs=["a"]), "hideDiffs"),
        (REQUEST(type="t", name="n", envVarMappings={"A": "B"}), "envVarMappings"),
        (REQUEST(type="t", name="n", hooks=REQUEST.ResourceHooksBinding(before_create=["h"])), "hooks"),
        (REQUEST(type="t", name="n", packageRef="ref"), "packageRef"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_an_option_without_a_place_in_the_graph_is_refused(request_: REQUEST, named: str) -> None:
    with pytest.raises(NotImplementedError, match=f"t 'n' uses {named}"):
        resource_from_request(request_, "urn:n")


@pytest.mark.parametrize(
    ("parent", "urn"),
    [
        ("", "urn:pulumi:dev::beamline::t:i:T::n"),
        (STACK_URN, "urn:pulumi:dev::beamline::t:i:T::n"),
        ("urn:pulumi:dev::beamline::a:i:A::a", "urn:pulumi:dev::beamline::a:i:A$t:i:T::n"),
        ("urn:pulumi:dev::beamline::a:i:A$b:i:B::b", "urn:pulumi:dev::beamline::a:i:A$b:i:B$t:i:T::n"),
    ],
)
def test_urns_carry_the_chain_of_parent_types(parent: str, urn: str) -> None:
    assert make_urn("dev", "beamline", "t:i:T", "n", parent) == urn
