"""`beamline lock` against a registry that speaks the real protocol: what it proves, and what it does with faults."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from beamline.registry import Entry, RegistryClient, catalog_images, client, refresh, write_lock
from stacks.catalog_files import load_catalog
from stacks.images import read_lock
from stacks.problems import EnvironmentProblem, to_text
from stacks.rows import ImageRow
from tests.registry.fake_registry import FakeRegistry, served

ENGINE, ROUTER = "vllm/engine", "llm-d/router"
OLD = "sha256:" + "0" * 64


@pytest.fixture(autouse=True)
def proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    """A proxy for the outside world, which must not see loopback traffic."""
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")


@pytest.fixture
def registry() -> Iterator[FakeRegistry]:
    with served(FakeRegistry()) as running:
        running.add_index(f"{ENGINE}:v1", "amd64", "arm64")
        running.add_image(f"{ROUTER}:v2", "amd64")
        yield running


def _row(registry: FakeRegistry, repository: str, tag: str, archs: tuple[str, ...] = ("amd64",)) -> ImageRow:
    return ImageRow(
        registry=registry.host, repository=repository, tag=tag, archs=list(archs), source="test", as_of=date(2026, 1, 1)
    )


def _rows(registry: FakeRegistry) -> list[ImageRow]:
    return [_row(registry, ENGINE, "v1", ("amd64", "arm64")), _row(registry, ROUTER, "v2")]


def _outcome(registry: FakeRegistry, rows: list[ImageRow], locked: dict[str, str], **options: Any) -> tuple[Any, str]:
    """Return entries as (name without host, digest, standing), and the problems' text without the host."""
    locked = {f"{registry.host}/{name}": digest for name, digest in locked.items()}
    result = refresh(rows, locked, RegistryClient(**options))
    entries = [(e.image.removeprefix(f"{registry.host}/"), e.digest, e.standing) for e in result.entries]
    return entries, to_text(result.problems).replace(registry.host, "HOST")


def test_digests_are_resolved_through_the_token_flow_and_verified(registry: FakeRegistry) -> None:
    """One token per repository; HEAD for the digest, then the manifest by digest, then the config of a single image."""
    engine, router = registry.tags[f"{ENGINE}:v1"], registry.tags[f"{ROUTER}:v2"]
    entries, problems = _outcome(registry, _rows(registry), {})
    assert entries == [(f"{ROUTER}:v2", router, "new"), (f"{ENGINE}:v1", engine, "new")]
    assert problems == ""
    config = next(d for d in registry.blobs if d not in (engine, router))
    assert registry.requests == [
        f"HEAD /v2/{ENGINE}/manifests/v1",
        "GET /token?service=fake&scope=repository%3Avllm%2Fengine%3Apull",
        f"HEAD /v2/{ENGINE}/manifests/v1",
        f"GET /v2/{ENGINE}/manifests/{engine}",
        f"HEAD /v2/{ROUTER}/manifests/v2",
        "GET /token?service=fake&scope=repository%3Allm-d%2Frouter%3Apull",
        f"HEAD /v2/{ROUTER}/manifests/v2",
        f"GET /v2/{ROUTER}/manifests/{router}",
        f"GET /v2/{ROUTER}/blobs/{config}",
    ]


def test_a_known_digest_costs_no_pull_and_a_moved_tag_is_said(registry: FakeRegistry) -> None:
    known = {f"{ENGINE}:v1": registry.tags[f"{ENGINE}:v1"], f"{ROUTER}:v2": OLD, "gone/image:v3": OLD}
    entries, problems = _outcome(registry, _rows(registry), known)
    assert entries == [
        ("gone/image:v3", OLD, "removed"),
        (f"{ROUTER}:v2", registry.tags[f"{ROUTER}:v2"], "moved"),
        (f"{ENGINE}:v1", registry.tags[f"{ENGINE}:v1"], "unchanged"),
    ]
    assert problems == ""
    assert not any(request.startswith(f"GET /v2/{ENGINE}") for request in registry.requests)


def test_a_registry_that_names_no_digest_is_taken_at_its_bytes(registry: FakeRegistry) -> None:
    registry.claimed[f"{ENGINE}:v1"] = None
    entries, problems = _outcome(registry, _rows(registry)[:1], {})
    assert (entries, problems) == ([(f"{ENGINE}:v1", registry.tags[f"{ENGINE}:v1"], "new")], "")


def _wrong_digest(registry: FakeRegistry) -> None:
    registry.blobs[OLD] = registry.blobs[registry.tags[f"{ENGINE}:v1"]]
    registry.types[OLD] = registry.types[registry.tags[f"{ENGINE}:v1"]]
    registry.tags[f"{ENGINE}:v1"] = OLD


FAULTS: dict[str, tuple[Any, tuple[str, str, str]]] = {
    "no such tag": (
        lambda r: r.tags.pop(f"{ENGINE}:v1"),
        (
            "image-not-found",
            "the registry has no such tag or repository (404 Not Found)",
            "correct the tag in the catalog row",
        ),
    ),
    "bytes that are not what the digest says": (
        _wrong_digest,
        (
            "registry-digest",
            f"the registry names the digest {OLD}, but what it sent has TRUE",
            "ask again later, and the registry's owner if it stays; the bytes are not what they claim to be",
        ),
    ),
    "an architecture the row promises is missing": (
        lambda r: r.add_index(f"{ENGINE}:v1", "amd64"),
        (
            "image-architecture",
            "the catalog row promises amd64, arm64, the image is for amd64",
            "choose a tag that has them, or correct archs in the catalog row",
        ),
    ),
    "no anonymous pulls": (
        lambda r: setattr(r, "anonymous_tokens", False),
        ("registry-login", "HOST gave no token", "run `beamline lock` again later"),
    ),
    "a page instead of a manifest": (
        lambda r: r.add_bytes(f"{ENGINE}:v1", b"<html>login</html>"),
        (
            "registry-answer",
            "the registry sent something that is not a manifest",
            "check registry and repository in the catalog row",
        ),
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_refusal_is_a_problem_and_keeps_the_entry(registry: FakeRegistry, fault: str) -> None:
    break_it, (rule, why, remedy) = FAULTS[fault]
    true_digest = registry.tags[f"{ENGINE}:v1"]
    break_it(registry)
    known = {f"{ENGINE}:v1": "sha256:" + "1" * 64}
    entries, problems = _outcome(registry, _rows(registry)[:1], known)
    assert entries == [(f"{ENGINE}:v1", known[f"{ENGINE}:v1"], "kept")]
    assert problems.replace(true_digest, "TRUE") == (
        f"error[{rule}] HOST/vllm/engine:v1\n"
        f"  why:     {why}; the entry stays as it was\n"
        f"  remedy:  {remedy}\n"
        "  where:   stacks/catalog\n"
        "  source:  test"
    )


def test_one_unreachable_registry_keeps_its_entries_and_the_others_go_on(registry: FakeRegistry) -> None:
    registry.broken.add(ENGINE)
    entries, problems = _outcome(registry, _rows(registry), {f"{ENGINE}:v1": OLD})
    assert entries == [(f"{ROUTER}:v2", registry.tags[f"{ROUTER}:v2"], "new"), (f"{ENGINE}:v1", OLD, "kept")]
    assert problems == (
        "error[registry-unreachable] HOST/vllm/engine:v1\n"
        "  why:     HOST answered 500 Internal Server Error; the entry stays as it was\n"
        "  remedy:  run `beamline lock` again when the registry can be reached\n"
        "  where:   stacks/catalog\n"
        "  source:  test"
    )


def test_a_busy_registry_is_waited_for_as_long_as_it_asks(registry: FakeRegistry) -> None:
    registry.busy = ["7", "Thu, 01 Jan 1970 00:00:00 GMT"]
    waits: list[float] = []
    entries, problems = _outcome(registry, _rows(registry)[:1], {}, sleep=waits.append)
    assert (waits, problems, entries[0][2]) == ([7.0, 0.0], "", "new")


@pytest.mark.parametrize(("busy", "waited"), [(["7", "8", "9"], [7.0, 8.0]), (["3600"], [])])
def test_a_registry_that_stays_busy_counts_as_unreachable(
    registry: FakeRegistry, busy: list[str], waited: list[float]
) -> None:
    registry.busy = list(busy)
    waits: list[float] = []
    entries, problems = _outcome(registry, _rows(registry), {}, sleep=waits.append)
    assert (waits, entries[1]) == (waited, (f"{ENGINE}:v1", None, "unresolved"))
    assert f"HOST is busy and asks to wait {busy[-1]} s (429 Too Many Requests)" in problems


def test_a_silent_registry_counts_as_unreachable(registry: FakeRegistry, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "_TIMEOUT_S", (5.0, 0.2))
    registry.silent.add(ENGINE)
    entries, problems = _outcome(registry, _rows(registry), {f"{ENGINE}:v1": OLD})
    assert entries[1] == (f"{ENGINE}:v1", OLD, "kept")
    assert "why:     HOST did not answer in time; the entry stays as it was" in problems


def test_without_any_network_nothing_is_learnt_and_the_machine_is_named() -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        dead = FakeRegistry()
        dead.host = f"127.0.0.1:{closed.getsockname()[1]}"
        with pytest.raises(EnvironmentProblem) as raised:
            refresh(_rows(dead), {}, RegistryClient())
    assert str(raised.value).replace(dead.host, "HOST") == (
        "no registry could be reached, so nothing was changed: HOST cannot be reached: [Errno 111] Connection refused. "
        "Run `beamline lock` on a machine that reaches the registries (a proxy is taken from HTTPS_PROXY)"
    )


@pytest.mark.parametrize(
    "challenge",
    ['Basic realm="x"', 'Bearer realm="http://tokens.example/token"', ""],
    ids=["a password", "tokens without TLS from elsewhere", "no challenge"],
)
def test_no_other_login_is_attempted(challenge: str) -> None:
    """A challenge that anonymous pulls over TLS cannot answer is refused, not followed."""
    with pytest.raises(client.RefusedError) as raised:
        RegistryClient()._token(challenge, "some/image")
    assert raised.value.rule == "registry-login"


def test_progress_is_reported_after_each_image(registry: FakeRegistry) -> None:
    seen: list[Entry] = []
    refresh(_rows(registry), {}, RegistryClient(), seen.append)
    assert [entry.image for entry in seen] == [f"{registry.host}/{ENGINE}:v1", f"{registry.host}/{ROUTER}:v2"]


def test_the_lock_file_reads_back_and_does_not_depend_on_order(tmp_path: Path) -> None:
    digests = {"ghcr.io/b:1": OLD, "docker.io/a:2": OLD}
    file = tmp_path / "images.lock.yaml"
    write_lock(file, digests)
    first = file.read_bytes()
    write_lock(file, dict(reversed(digests.items())))
    assert (file.read_bytes(), read_lock(file)) == (first, digests)
    assert [path.name for path in tmp_path.iterdir()] == ["images.lock.yaml"]


def test_an_empty_lock_file_is_the_one_that_is_shipped(tmp_path: Path) -> None:
    write_lock(tmp_path / "images.lock.yaml", {})
    shipped = Path("stacks/images.lock.yaml").read_text(encoding="utf-8")
    assert shipped.startswith((tmp_path / "images.lock.yaml").read_text(encoding="utf-8").partition("images:")[0])


def test_a_file_that_cannot_be_written_names_the_machine(tmp_path: Path) -> None:
    (tmp_path / "images.lock.yaml").mkdir()
    with pytest.raises(EnvironmentProblem, match=r"images\.lock\.yaml cannot be written: Is a directory"):
        write_lock(tmp_path / "images.lock.yaml", {})
    assert [path.name for path in tmp_path.iterdir()] == ["images.lock.yaml"]


def test_every_image_of_the_catalog_is_found() -> None:
    """Whatever row kind it stands in; an image that lock forgets would stay unresolved for ever."""
    catalog = load_catalog()
    dynamo, helpers = catalog.dynamo_releases.values(), catalog.helper_charts
    charts = [helpers.dra_driver, helpers.leader_worker_set, *(row.platform for row in dynamo)]
    expected = {row.image.repository for row in catalog.engines.values() if row.image}
    expected |= {row.router_image.repository for row in catalog.llmd_releases.values()}
    expected |= {row.routing_sidecar.image.repository for row in catalog.llmd_releases.values()}
    expected |= {row.proxy.image.repository for row in catalog.llmd_releases.values()}
    expected |= {runtime.image.repository for row in dynamo for runtime in row.runtimes.values()}
    expected |= {item.image.repository for chart in charts for item in chart.images}
    expected |= {catalog.helper_images.weights_gcs.repository, catalog.helper_images.asapd_lite.repository}
    assert {row.repository for row in catalog_images(catalog)} == expected
