"""Envoy beside llm-d's picker: its own judgement of its configuration, and what must hold between it and the rest."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from .cases import PROXIED, spec_of
from .cluster_objects import Objects, flag, objects_of
from .envoy_judge import VERDICTS, every_bootstrap, key_of

SAID: dict[str, Any] = yaml.safe_load(VERDICTS.read_text(encoding="utf-8"))
BY_KEY: dict[str, Any] = {each["sha256"]: each for each in SAID["verdicts"]}
TEXTS = every_bootstrap()


def _manager(bootstrap: dict[str, Any], listener: str) -> dict[str, Any]:
    found: dict[str, Any]
    (found,) = (each for each in bootstrap["static_resources"]["listeners"] if each["name"] == listener)
    manager: dict[str, Any] = found["filter_chains"][0]["filters"][0]["typed_config"]
    return manager


def _filter(bootstrap: dict[str, Any], listener: str, kind: str) -> dict[str, Any]:
    filters = _manager(bootstrap, listener)["http_filters"]
    found: dict[str, Any] = next(f["typed_config"] for f in filters if f["typed_config"]["@type"].endswith(kind))
    return found


def _route(bootstrap: dict[str, Any]) -> dict[str, Any]:
    (host,) = _manager(bootstrap, "requests")["route_config"]["virtual_hosts"]
    (route,) = host["routes"]
    action: dict[str, Any] = route["route"]
    return action


def _cluster(bootstrap: dict[str, Any], name: str) -> dict[str, Any]:
    found: dict[str, Any]
    (found,) = (each for each in bootstrap["static_resources"]["clusters"] if each["name"] == name)
    return found


def _envoy(objects: Objects) -> dict[str, Any]:
    container: dict[str, Any]
    (container,) = objects.pod("router")["initContainers"]
    return container


def _s(text: str) -> int:
    return int(text.removesuffix("s"))


@pytest.mark.parametrize("case", TEXTS)
def test_envoy_has_taken_it(case: str) -> None:
    verdict = BY_KEY.get(key_of(TEXTS[case]))
    assert verdict, f"{case} was not judged as it is now: see CONTRIBUTING.md, verdicts of Envoy"
    assert verdict["result"] == "taken"
    assert len(verdict["refused"]) == 3
    assert "not refused" not in verdict["refused"].values()


def test_no_verdict_is_left_of_what_is_no_longer_rendered() -> None:
    assert BY_KEY.keys() == {key_of(text) for text in TEXTS.values()}


@pytest.mark.parametrize("case", PROXIED)
def test_the_innermost_deadline_ends_first(case: str) -> None:
    """Client, load balancer, Envoy, engine; and what waits at the picker is refused by it, not cut off by Envoy."""
    spec, objects, bootstrap = spec_of(case), objects_of(case), yaml.safe_load(TEXTS[case])
    route = _route(bootstrap)
    whole = _s(route["max_stream_duration"]["max_stream_duration"])
    assert {_s(route["timeout"]), _s(route["idle_timeout"])} == {whole}
    policy = objects.one("GCPBackendPolicy", "router")["spec"]["default"]
    assert spec.derived.engine_drain_s < whole < policy["timeoutSec"] < spec.derived.client_timeout_s
    control = spec.preset.serving.routing.flow_control
    waits = [band.longest_wait_s for band in control.bands.values()] if control else []
    answer = _s(_filter(bootstrap, "requests", "ExternalProcessor")["message_timeout"])
    assert max(waits, default=0) < answer <= whole
    pause = _s(flag(objects.container("router"), "drain-timeout"))
    assert objects.pod("router")["terminationGracePeriodSeconds"] > pause + whole
    assert policy["connectionDraining"]["drainingTimeoutSec"] > pause + whole


@pytest.mark.parametrize("case", PROXIED)
def test_envoy_asks_the_picker_as_it_is_started(case: str) -> None:
    objects, bootstrap = objects_of(case), yaml.safe_load(TEXTS[case])
    router, picker = objects.container("router"), _cluster(bootstrap, "picker")
    (endpoint,) = (e["endpoint"] for e in picker["load_assignment"]["endpoints"][0]["lb_endpoints"])
    assert "transport_socket" not in picker
    assert flag(router, "secure-serving") == "false"
    assert endpoint["address"]["socket_address"] == {
        "address": "127.0.0.1",
        "port_value": int(flag(router, "grpc-port")),
    }
    assert endpoint["health_check_config"]["port_value"] == int(flag(router, "grpc-health-port"))
    (check,) = picker["health_checks"]
    assert check["grpc_health_check"]["service_name"] == router["readinessProbe"]["grpc"]["service"]
    limit = _filter(bootstrap, "requests", "Buffer")["max_request_bytes"]
    assert limit < int(flag(router, "grpc-max-recv-msg-size"))


@pytest.mark.parametrize("case", PROXIED)
def test_who_is_not_ready_gets_nothing(case: str) -> None:
    """The load balancer and the kubelet ask the same, and it is no when the picker beside it says no."""
    objects, bootstrap = objects_of(case), yaml.safe_load(TEXTS[case])
    ready = _filter(bootstrap, "health", "HealthCheck")
    assert ready["cluster_min_healthy_percentages"] == {"picker": {"value": 100}}
    path, ports = ready["headers"][0]["string_match"]["exact"], {p["name"]: p for p in _envoy(objects)["ports"]}
    probe = _envoy(objects)["readinessProbe"]["httpGet"]
    check = objects.one("HealthCheckPolicy", "router")["spec"]["default"]["config"]["httpHealthCheck"]
    assert (probe["path"], ports[probe["port"]]["containerPort"]) == (path, check["port"])
    assert check["requestPath"] == path


@pytest.mark.parametrize("case", PROXIED)
def test_only_the_picker_chooses(case: str) -> None:
    bootstrap = yaml.safe_load(TEXTS[case])
    engines = _cluster(bootstrap, "engines")["original_dst_lb_config"]
    (mutation,) = _manager(bootstrap, "requests")["early_header_mutation_extensions"]
    assert mutation["typed_config"]["mutations"] == [{"remove": engines["http_header_name"]}]
    asked = _filter(bootstrap, "requests", "ExternalProcessor")
    assert asked["failure_mode_allow"] is False
    assert bootstrap["admin"]["address"]["socket_address"]["address"] == "127.0.0.1"


@pytest.mark.parametrize("case", PROXIED)
def test_connections_are_given_up_from_the_outside_in(case: str) -> None:
    """Load balancer, Envoy, engine: whoever sends gives an idle connection up before who listens closes it.

    Of engines whose replicas have roles, the routing proxy listens, which closes after 300 seconds.
    """
    spec, bootstrap = spec_of(case), yaml.safe_load(TEXTS[case])
    google_s = 600
    listens = _s(_manager(bootstrap, "requests")["common_http_protocol_options"]["idle_timeout"])
    (options,) = _cluster(bootstrap, "engines")["typed_extension_protocol_options"].values()
    assert google_s < listens
    closes_s = 300 if len(spec.roles) > 1 else spec.derived.engine_keep_alive_s
    assert _s(options["common_http_protocol_options"]["idle_timeout"]) < closes_s
