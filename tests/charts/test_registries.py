"""The registries answer as the OCI distribution API and Helm repositories do, behind a proxy that ends their TLS."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterator

import pytest
import requests
import yaml

from beamline.sandbox.charts.answers import answer
from beamline.sandbox.charts.catalog import charts, hosts
from beamline.sandbox.charts.certificates import issue
from beamline.sandbox.charts.packages import packed
from beamline.sandbox.charts.proxy import Proxy

LWS = next(chart for chart in charts() if chart.name == "lws")
DYNAMO = next(chart for chart in charts() if chart.name == "dynamo-platform")


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[requests.Session]:
    """A client that is told of the proxy and of the CA, and of nothing else."""
    ca_file = tmp_path_factory.mktemp("charts") / "ca.crt"
    with Proxy(0, hosts(), issue(hosts(), ca_file)) as proxy, requests.Session() as session:
        threading.Thread(target=proxy.serve_forever, daemon=True).start()
        session.trust_env = False
        session.proxies = {"https": f"http://127.0.0.1:{proxy.server_port}"}
        session.verify = str(ca_file)
        yield session
        proxy.shutdown()


def test_a_chart_is_pulled_from_an_oci_registry(client: requests.Session) -> None:
    root = f"https://registry.k8s.io/v2/{LWS.path}"
    assert client.get(f"{root}/tags/list").json()["tags"] == ["0.9.0"]
    manifest = client.get(f"{root}/manifests/0.9.0")
    digest = f"sha256:{hashlib.sha256(manifest.content).hexdigest()}"
    assert manifest.headers["Docker-Content-Digest"] == digest
    assert client.get(f"{root}/manifests/{digest}").content == manifest.content
    head = client.head(f"{root}/manifests/0.9.0")
    assert (head.content, head.headers["Content-Length"]) == (b"", str(len(manifest.content)))
    (layer,) = manifest.json()["layers"]
    assert client.get(f"{root}/blobs/{layer['digest']}").content == packed(LWS, "0.9.0")


def test_a_chart_is_found_in_a_classic_repository(client: requests.Session) -> None:
    index = yaml.safe_load(client.get(f"{DYNAMO.reference}/index.yaml").content)
    entries = index["entries"]["dynamo-platform"]
    assert [entry["version"] for entry in entries] == ["1.6.1", "1.7.0"]
    for entry in entries:
        archive = client.get(entry["urls"][0]).content
        assert hashlib.sha256(archive).hexdigest() == entry["digest"]


def test_what_there_is_no_stand_in_for_is_said() -> None:
    found = answer("registry.k8s.io", "/v2/lws/charts/lws/manifests/0.8.0")
    assert found.status == 404
    assert b"oci://registry.k8s.io/lws/charts/lws 0.9.0" in found.body
    assert answer("helm.ngc.nvidia.com", "/v2/lws/charts/lws/manifests/0.9.0").status == 404


@pytest.mark.parametrize("address", ["https://example.com/", "https://registry.k8s.io:8443/v2/"])
def test_other_hosts_are_out_of_reach(client: requests.Session, address: str) -> None:
    with pytest.raises(
        requests.exceptions.ProxyError, match=r"stand-in charts of helm.ngc.nvidia.com, registry.k8s.io"
    ):
        client.get(address)


def test_nobody_else_trusts_the_certificates(client: requests.Session) -> None:
    with requests.Session() as other:
        other.trust_env = False
        other.proxies = client.proxies
        with pytest.raises(requests.exceptions.SSLError):
            other.get("https://registry.k8s.io/v2/")
