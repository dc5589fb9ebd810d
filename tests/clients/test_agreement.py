"""Clients are told what the rendered gateway, router and engines do; whatever is changed in these is noticed."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from stacks.clients import client_settings
from tests.clients.agreement import disagreements
from tests.manifests.cases import EVERY, spec_of
from tests.manifests.cluster_objects import Body, Objects, objects_of
from tests.manifests.dynamo.graphs import component, container, workers


@pytest.mark.parametrize("case", EVERY)
def test_clients_and_rendered_objects_agree(case: str) -> None:
    assert disagreements(client_settings(spec_of(case), "10.0.0.9"), objects_of(case)) == []


def replaced(main: Body, old: str, new: str | None) -> None:
    """Change or take away the argument that begins with ``old``."""
    (at,) = (number for number, argument in enumerate(main["args"]) if argument.startswith(old))
    main["args"][at : at + 1] = [] if new is None else [new]


def _served_under_another_name(objects: Objects) -> None:
    replaced(objects.container("engine"), "--served-model-name=", "--served-model-name=beam")


def _workers_serve_another_name(objects: Objects) -> None:
    for worker in workers(objects):
        replaced(container(worker), "--served-model-name=", "--served-model-name=beam")


def _no_anthropic_api(objects: Objects) -> None:
    replaced(container(component(objects, "frontend")), "--enable-anthropic-api", None)


def _https(objects: Objects) -> None:
    objects.kind("Gateway")[0]["spec"]["listeners"][0].update(protocol="HTTPS", port=443)


def _another_port(objects: Objects) -> None:
    objects.kind("Gateway")[0]["spec"]["listeners"][0]["port"] = 8080


def _another_listener(objects: Objects) -> None:
    objects.kind("HTTPRoute")[0]["spec"]["parentRefs"][0]["sectionName"] = "https"


def _a_narrower_route(objects: Objects) -> None:
    objects.kind("HTTPRoute")[0]["spec"]["rules"][0]["matches"][0]["path"]["value"] = "/v1/chat"


def _a_route_past_the_envoy(objects: Objects) -> None:
    objects.kind("HTTPRoute")[0]["spec"]["rules"][0]["backendRefs"][0]["name"] = "engine"


def _an_own_choice_of_parsers(objects: Objects) -> None:
    data = objects.one("ConfigMap", "router-config")["data"]
    data["config.yaml"] += "requestHandler: {parsers: [{pluginRef: openai-parser}]}\n"


def _less_context(objects: Objects) -> None:
    replaced(objects.container("engine"), "--max-model-len=", "--max-model-len=65536")


def _an_impatient_load_balancer(objects: Objects) -> None:
    objects.kind("GCPBackendPolicy")[0]["spec"]["default"]["timeoutSec"] = 300


def _a_patient_load_balancer(objects: Objects) -> None:
    objects.kind("GCPBackendPolicy")[0]["spec"]["default"]["timeoutSec"] = 1830


def _a_band_less(objects: Objects) -> None:
    objects.remove(objects.one("InferenceObjective", "agents"))


def _engines_that_keep_no_order(objects: Objects) -> None:
    for worker in workers(objects):
        container(worker)["args"].remove("--scheduling-policy=priority")


def _another_session_header(objects: Objects) -> None:
    data = objects.one("ConfigMap", "router-config")["data"]
    data["config.yaml"] = data["config.yaml"].replace("x-session-id", "x-conversation")


EVERYONE = ("claude-code", "cline", "codex", "openai-python", "opencode")
BEAM = "reflection/Beam-1.0-501B-A23B"

CHANGES: dict[str, tuple[str, Callable[[Objects], None], dict[str, str]]] = {
    "served under another name": (
        "g4-llmd",
        _served_under_another_name,
        dict.fromkeys(EVERYONE, f"it asks for {BEAM}; served is beam"),
    ),
    "workers serve another name": (
        "a4x-max-dynamo",
        _workers_serve_another_name,
        dict.fromkeys(EVERYONE, f"it asks for {BEAM}; served is beam"),
    ),
    "no Anthropic API": ("g4-dynamo", _no_anthropic_api, {"claude-code": "nobody answers /v1/messages"}),
    "HTTPS": ("g4-llmd", _https, dict.fromkeys(EVERYONE, "it calls http, port 443; HTTPS is on 443")),
    "another port": ("g4-llmd", _another_port, dict.fromkeys(EVERYONE, "it calls http, port 80; HTTP is on 8080")),
    "another listener": (
        "g4-dynamo",
        _another_listener,
        dict.fromkeys(EVERYONE, "the route is on https, the listener is http"),
    ),
    "a narrower route": (
        "g4-llmd",
        _a_narrower_route,
        {"claude-code": "no route leads to /v1/messages", "codex": "no route leads to /v1/responses"},
    ),
    "a route past the Envoy": (
        "proxied",
        _a_route_past_the_envoy,
        {
            "claude-code": "nobody answers /v1/messages",
            "cline": "nobody answers /v1/chat/completions",
            "codex": "nobody answers /v1/responses",
            "openai-python": "nobody answers /v1/chat/completions",
            "opencode": "nobody answers /v1/chat/completions",
        },
    ),
    "an own choice of parsers": (
        "g4-llmd",
        _an_own_choice_of_parsers,
        {
            "claude-code": "nobody answers /v1/messages",
            "cline": "nobody answers /v1/chat/completions",
            "codex": "nobody answers /v1/responses",
            "openai-python": "nobody answers /v1/chat/completions",
            "opencode": "nobody answers /v1/chat/completions",
        },
    ),
    "less context": (
        "g4-llmd",
        _less_context,
        dict.fromkeys(EVERYONE, "it counts with 1048576 tokens of context, served are {65536}"),
    ),
    "an impatient load balancer": (
        "g4-llmd",
        _an_impatient_load_balancer,
        dict.fromkeys(EVERYONE, "the load balancer gives up after 300 s, a request in an engine may take 1800"),
    ),
    "a patient load balancer": (
        "g4-llmd",
        _a_patient_load_balancer,
        dict.fromkeys(
            ("claude-code", "codex", "openai-python", "opencode"),
            "it gives up after 1830 s, the load balancer after 1830",
        ),
    ),
    "a band less": (
        "bands",
        _a_band_less,
        dict.fromkeys(EVERYONE, "it is told of the bands ['agents', 'rest']; there are ['rest']"),
    ),
    "engines that keep no order": (
        "dynamo-vllm-bands",
        _engines_that_keep_no_order,
        dict.fromkeys(EVERYONE, "x-dynamo-request-priority: 0 chooses nothing"),
    ),
    "another session header": (
        "sessions",
        _another_session_header,
        dict.fromkeys(("openai-python", "opencode"), "the router does not read x-session-id"),
    ),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_in_rendered_objects_is_noticed(change: str) -> None:
    """By every client that it concerns, and by no other."""
    case, alter, expected = CHANGES[change]
    objects = objects_of(case)
    alter(objects)
    found = disagreements(client_settings(spec_of(case), "10.0.0.9"), objects)
    assert sorted(set(found)) == sorted(f"{client}: {words}" for client, words in expected.items())
