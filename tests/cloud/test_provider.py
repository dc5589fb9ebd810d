"""The plugin protocol: what the engine asks, what it is told, and that nobody ever reads a traceback."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import grpc
import pytest
from google.protobuf import empty_pb2
from pulumi.runtime.proto import provider_pb2, provider_pb2_grpc, status_pb2

from beamline.sandbox.cloud.operations import Operations
from beamline.sandbox.cloud.provider import SimulatedGoogleCloud
from beamline.sandbox.cloud.values import UNKNOWN, from_struct, to_struct
from beamline.sandbox.home import CHECKOUT

from .fake_api import FakeApi
from .samples import CLUSTER, CLUSTER_ID, NETWORK, NETWORK_ID, POOL, PROJECT, build, inputs, upto


@pytest.fixture
def engine(cloud: Operations) -> Iterator[Any]:
    server = grpc.server(ThreadPoolExecutor(4))
    provider_pb2_grpc.add_ResourceProviderServicer_to_server(SimulatedGoogleCloud(cloud), server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
        yield provider_pb2_grpc.ResourceProviderStub(channel)
    server.stop(None).wait()


def urn(token: str, name: str = "beam") -> str:
    return f"urn:pulumi:dev::kit::beamline:stack:Stack$beamline:cluster:Cluster${token}::{name}"


def check(engine: Any, token: str, news: dict[str, Any], olds: dict[str, Any] | None = None) -> Any:
    return engine.Check(
        provider_pb2.CheckRequest(urn=urn(token), news=to_struct(news), olds=to_struct(olds or {}), randomSeed=b"seed")
    )


def create(engine: Any, token: str, properties: dict[str, Any], *, preview: bool = False) -> Any:
    request = provider_pb2.CreateRequest(urn=urn(token), properties=to_struct(properties), preview=preview)
    return engine.Create(request)


def test_values_survive_the_way_there_and_back() -> None:
    values = {"a": 1, "b": 1.5, "c": True, "d": [1, {"e": "f"}], "g": UNKNOWN, "h": {}, "i": []}
    assert from_struct(to_struct(values)) == values
    assert from_struct(to_struct({"a": None, "b": 1})) == {"b": 1}


def test_check_names_every_mistake_and_says_that_the_cloud_is_simulated(engine: Any) -> None:
    answer = check(engine, NETWORK, inputs("network", mtu=1, name="B"))
    assert [failure.property for failure in answer.failures] == ["name", "mtu"]
    assert all(failure.reason.startswith("simulated Google Cloud: ") for failure in answer.failures)


def test_a_type_that_is_not_simulated_is_refused_everywhere(engine: Any) -> None:
    token = "gcp:lustre/instance:Instance"
    (failure,) = check(engine, token, {}).failures
    assert f"does not know the resource type {token}" in failure.reason
    with pytest.raises(grpc.RpcError, match="does not know the resource type"):
        engine.Read(provider_pb2.ReadRequest(urn=urn(token), id="x"))


def test_a_missing_name_is_made_up_once_and_kept(engine: Any) -> None:
    unnamed = inputs("network", name=None)
    first = from_struct(check(engine, NETWORK, unnamed).inputs)
    assert first["name"].startswith("beam-")
    again = from_struct(check(engine, NETWORK, unnamed, olds=first).inputs)
    assert again == first


def test_preview_knows_the_inputs_and_nothing_of_what_the_cloud_fills_in(engine: Any, cloud: Operations) -> None:
    answer = create(engine, CLUSTER, inputs("cluster"), preview=True)
    outputs = from_struct(answer.properties)
    assert answer.id == ""
    assert outputs["endpoint"] == UNKNOWN
    assert outputs["masterAuth"]["clusterCaCertificate"] == UNKNOWN
    assert outputs["controlPlaneEndpointsConfig"]["dnsEndpointConfig"] == {
        "allowExternalTraffic": True,
        "endpoint": UNKNOWN,
    }
    assert outputs["name"] == "beam"
    assert cloud.simulation.ledger.everything() == []


def test_preview_of_an_update_still_knows_the_endpoint(engine: Any, cloud: Operations) -> None:
    """Otherwise every Kubernetes object would look replaced whenever the cluster changes."""
    record = build(cloud, *upto("cluster"), "cluster")["cluster"]
    request = provider_pb2.UpdateRequest(
        urn=urn(CLUSTER),
        id=record.id,
        olds=to_struct(record.outputs),
        news=to_struct(inputs("cluster", deletionProtection=True)),
        preview=True,
    )
    outputs = from_struct(engine.Update(request).properties)
    assert outputs["controlPlaneEndpointsConfig"]["dnsEndpointConfig"]["endpoint"] == "127.0.0.1:6443"
    assert outputs["masterAuth"] == record.outputs["masterAuth"]
    assert outputs["deletionProtection"] is True


def test_create_diff_read_delete(engine: Any) -> None:
    created = create(engine, NETWORK, inputs("network"))
    assert created.id == NETWORK_ID
    found = engine.Read(provider_pb2.ReadRequest(urn=urn(NETWORK), id=created.id))
    assert from_struct(found.inputs) == inputs("network")
    assert found.properties == created.properties

    def diff(**changes: Any) -> Any:
        request = provider_pb2.DiffRequest(
            urn=urn(NETWORK),
            id=created.id,
            olds=created.properties,
            old_inputs=to_struct(inputs("network")),
            news=to_struct(inputs("network", **changes)),
        )
        return engine.Diff(request)

    assert diff().changes == provider_pb2.DiffResponse.DIFF_NONE
    changed = diff(mtu=1460, description="new")
    assert changed.changes == provider_pb2.DiffResponse.DIFF_SOME
    assert list(changed.replaces) == ["description"]
    assert {path: entry.kind for path, entry in changed.detailedDiff.items()} == {
        "description": provider_pb2.PropertyDiff.ADD_REPLACE,
        "mtu": provider_pb2.PropertyDiff.UPDATE,
    }
    engine.Delete(provider_pb2.DeleteRequest(urn=urn(NETWORK), id=created.id))
    assert engine.Read(provider_pb2.ReadRequest(urn=urn(NETWORK), id=created.id)).id == ""


def test_a_refusal_is_one_message_without_a_traceback(engine: Any) -> None:
    create(engine, NETWORK, inputs("network"))
    with pytest.raises(grpc.RpcError) as caught:
        create(engine, NETWORK, inputs("network"))
    assert caught.value.details() == (
        "simulated Google Cloud: Error creating Network: googleapi: Error 409: "
        f"The resource '{NETWORK_ID}' already exists, alreadyExists"
    )


def test_a_pool_that_is_not_well_is_handed_to_the_engine(
    engine: Any, cloud: Operations, api: FakeApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("beamline.sandbox.cloud.nodes._GRACE_S", 0.0)
    build(cloud, *upto("system"))
    api.create = lambda *_: None  # type: ignore[method-assign] - the machines never register
    with pytest.raises(grpc.RpcError) as caught:
        create(engine, POOL, inputs("system"))
    metadata = dict(caught.value.trailing_metadata())
    status = status_pb2.Status.FromString(metadata["grpc-status-details-bin"])
    detail = provider_pb2.ErrorResourceInitFailed()
    assert status.details[0].Unpack(detail)
    assert detail.id == f"{CLUSTER_ID}/nodePools/beam-system"
    assert "only 0 nodes out of 2 have registered" in detail.reasons[0]
    assert from_struct(detail.inputs) == inputs("system")


def test_a_fault_of_the_simulation_is_one_line_too(
    engine: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fault(*_: object) -> None:
        raise KeyError("link")

    monkeypatch.setattr("beamline.sandbox.cloud.kinds.networks.Network.outputs", fault)
    with pytest.raises(grpc.RpcError) as caught:
        create(engine, NETWORK, inputs("network"))
    assert caught.value.details() == "simulated Google Cloud: fault in the simulation: KeyError: 'link'"
    assert "Traceback" in caplog.text


def test_cancelling_ends_waiting(engine: Any, cloud: Operations) -> None:
    cloud.simulation.time_scale = 1.0  # a cluster would take eight minutes
    cloud.simulation.interrupted.clear()
    with ThreadPoolExecutor(1) as pool:
        pending = pool.submit(create, engine, NETWORK, inputs("network"))
        engine.Cancel(empty_pb2.Empty())
        assert pending.result(timeout=30).id == NETWORK_ID


def test_lookups(engine: Any) -> None:
    def invoke(token: str, **arguments: Any) -> dict[str, Any]:
        answer = engine.Invoke(provider_pb2.InvokeRequest(tok=token, args=to_struct(arguments)))
        return from_struct(getattr(answer, "return"))

    assert invoke("gcp:organizations/getProject:getProject")["projectId"] == PROJECT
    assert invoke("gcp:compute/getZones:getZones")["names"][1] == "us-central1-b"
    with pytest.raises(grpc.RpcError, match="does not know the function gcp:kms/getKMSKeyRing:getKMSKeyRing"):
        invoke("gcp:kms/getKMSKeyRing:getKMSKeyRing")
    with pytest.raises(grpc.RpcError, match="there is no project 'other' here"):
        invoke("gcp:organizations/getProject:getProject", projectId="other")


def test_defaults_come_from_the_providers_configuration(engine: Any) -> None:
    arguments = to_struct({"region": "europe-west4", "zone": "europe-west4-a"})
    answer = engine.Configure(provider_pb2.ConfigureRequest(args=arguments))
    assert answer.supportsPreview
    assert not answer.acceptSecrets
    created = create(engine, "gcp:compute/address:Address", {"name": "a"})
    assert created.id == f"projects/{PROJECT}/regions/europe-west4/addresses/a"


def sandbox(folder: Path) -> dict[str, str]:
    record = {
        "name": "t",
        "time_scale": 600,
        "kubernetes": {"endpoint": "127.0.0.1:1", "ca_file": "/none", "kubeconfig": "/none"},
    }
    (folder / "sandbox.json").write_text(json.dumps(record))
    return {**os.environ, "BEAMLINE_SANDBOX": str(folder), "PYTHONPATH": str(CHECKOUT)}


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_program_serves_on_loopback_and_ends_quietly(tmp_path: Path, number: int) -> None:
    command = [sys.executable, "-m", "beamline.sandbox.cloud", "127.0.0.1:1"]
    process = subprocess.Popen(
        command, env=sandbox(tmp_path), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout
    port = int(process.stdout.readline())
    with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
        stub = provider_pb2_grpc.ResourceProviderStub(channel)
        assert stub.GetPluginInfo(empty_pb2.Empty()).version == "10.2.0"
    process.send_signal(number)
    out, err = process.communicate(timeout=30)
    assert (process.returncode, out, err) == (0, "", "")


def test_outside_a_sandbox_the_program_says_what_it_is(tmp_path: Path) -> None:
    environment = {**os.environ, "BEAMLINE_SANDBOX": str(tmp_path / "none"), "PYTHONPATH": str(CHECKOUT)}
    command = [sys.executable, "-m", "beamline.sandbox.cloud", "127.0.0.1:1"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 3
    assert "names no sandbox" in done.stderr
    assert "Traceback" not in done.stderr
