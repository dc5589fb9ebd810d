"""A real API server takes the definitions and judges by them, the rules written in CEL included."""

from __future__ import annotations

import secrets
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import requests

from beamline.crds import all_definitions, find
from beamline.sandbox.ports import free_ports

from .samples import BAD, GOOD, broken, title

pytestmark = pytest.mark.sandbox


@pytest.fixture(scope="module")
def server(tools: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory) -> Iterator[requests.Session]:
    """Serve an empty cluster that knows the kit's definitions; ``session.get("/path")`` reaches it."""
    folder = tmp_path_factory.mktemp("server")
    client, peer, secure = free_ports(3)
    token = secrets.token_hex()
    (folder / "tokens.csv").write_text(f'{token},admin,admin,"system:masters"\n')
    etcd, url = f"http://127.0.0.1:{client}", f"https://127.0.0.1:{secure}"
    commands = [
        [
            str(tools("etcd")),
            f"--data-dir={folder / 'etcd'}",
            f"--listen-client-urls={etcd}",
            f"--advertise-client-urls={etcd}",
            f"--listen-peer-urls=http://127.0.0.1:{peer}",
            "--unsafe-no-fsync",
        ],
        [
            str(tools("kube-apiserver")),
            f"--etcd-servers={etcd}",
            f"--secure-port={secure}",
            "--bind-address=127.0.0.1",
            "--advertise-address=127.0.0.1",
            "--endpoint-reconciler-type=none",
            f"--cert-dir={folder}",
            f"--service-account-key-file={folder / 'apiserver.key'}",
            f"--service-account-signing-key-file={folder / 'apiserver.key'}",
            "--service-account-issuer=https://kubernetes.default.svc",
            "--service-cluster-ip-range=10.96.0.0/16",
            f"--token-auth-file={folder / 'tokens.csv'}",
            "--authorization-mode=RBAC",
        ],
    ]
    with (folder / "log").open("w") as log:
        running = [subprocess.Popen(command, stdout=log, stderr=log) for command in commands]
        try:
            with Api(url, token, folder / "apiserver.crt") as session:
                session.wait(running[1])
                session.install()
                yield session
        finally:
            for process in reversed(running):
                process.terminate()
                process.wait()


def poll(condition: Callable[[], bool], limit_s: float = 60) -> None:
    deadline = time.monotonic() + limit_s
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


class Api(requests.Session):
    def __init__(self, url: str, token: str, certificate: Path) -> None:
        super().__init__()
        self.trust_env = False
        self.verify = str(certificate)
        self.headers["Authorization"] = f"Bearer {token}"
        self._url = url

    def request(self, method: str, path: str, *args: Any, **kwargs: Any) -> requests.Response:  # type: ignore[override]
        return super().request(method, self._url + path, *args, **kwargs)

    def wait(self, process: subprocess.Popen[bytes]) -> None:
        def ready() -> bool:
            assert process.poll() is None, "the API server ended"
            try:
                return self.get("/readyz").ok
            except (requests.ConnectionError, OSError):
                return False

        poll(ready)

    def install(self) -> None:
        path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
        for definition in all_definitions():
            answer = self.post(f"{path}?fieldValidation=Strict", json=definition.manifest)
            assert answer.ok, answer.text
        for definition in all_definitions():
            for version in definition.manifest["spec"]["versions"]:
                listed = f"/apis/{definition.group}/{version['name']}/{definition.plural}"
                poll(lambda listed=listed: self.get(listed).ok)  # type: ignore[misc]
        for definition in all_definitions():
            found = self.get(f"{path}/{definition.name}").json()["status"]["conditions"]
            assert {c["type"]: c["status"] for c in found}.get("NonStructuralSchema", "False") == "False"


def judge(server: requests.Session, sample: dict[str, Any]) -> str:
    """Return what the server says against a sample; empty when it would take it."""
    definition = find(sample["apiVersion"], sample["kind"])
    assert definition
    folder = "namespaces/default/" if definition.namespaced else ""
    path = f"/apis/{sample['apiVersion']}/{folder}{definition.plural}?dryRun=All&fieldValidation=Strict"
    answer = server.post(path, json=sample)
    return "" if answer.ok else str(answer.json()["message"])


def test_good_samples_are_accepted(server: requests.Session) -> None:
    assert {name: judge(server, sample) for name, sample in GOOD.items() if judge(server, sample)} == {}


def test_bad_samples_are_refused(server: requests.Session) -> None:
    assert [title(row) for row in BAD if row.get("server", True) and not judge(server, broken(row))] == []
