"""Whether what clients are told is what a stack's rendered objects do: read from the objects and the files alone.

What routers read of a request is typed a second time here, as their own code and runs of them say.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import yaml

from stacks.catalog_files import load_catalog
from stacks.clients import ClientSettings
from stacks.rows import ClientRow
from tests.clients.contents import at, headers_in, parsed
from tests.manifests.cluster_objects import Body, Objects, flag
from tests.manifests.dynamo.graphs import component, container, environment, workers

__all__ = ["disagreements"]

SCHEMES = {"HTTP": ("http", 80), "HTTPS": ("https", 443)}
PICKER_KNOWS = {"x-claude-code-session-id", "x-session-affinity", "session-id"}
PICKER_READS = {"/v1/chat/completions", "/v1/responses", "/v1/messages"}
FRONTEND_KNOWS = {"x-dynamo-session-id", "x-claude-code-session-id", "thread-id", "x-session-id"}
FRONTEND_ANSWERS = {"/v1/chat/completions": None, "/v1/responses": None, "/v1/messages": "enable-anthropic-api"}
PICKERS_BAND_HEADER, FRONTENDS_BAND_HEADER = "x-llm-d-inference-objective", "x-dynamo-meta-policy-class"
PRIORITY_HEADER = "x-dynamo-request-priority"


@dataclass(frozen=True)
class Told:
    """One client's settings, its row, and its file read back."""

    settings: ClientSettings
    row: ClientRow
    document: dict[str, Any]


def disagreements(clients: tuple[ClientSettings, ...], objects: Objects) -> list[str]:
    """Return what does not fit, each with the client's name."""
    rows = load_catalog().clients
    found = []
    for settings in clients:
        document = parsed(settings, rows[settings.client]) if settings.usable else {}
        told = Told(settings, rows[settings.client], document)
        judges = _JUDGES if settings.usable else (_unanswered,)
        found += [f"{settings.client}: {words}" for judge in judges for words in judge(told, objects)]
    return found


def _is_llmd(objects: Objects) -> bool:
    return bool(objects.kind("InferencePool"))


def _servers(objects: Objects) -> list[Body]:
    """Containers that say under which name and with how much context a model is served."""
    return objects.engines() if _is_llmd(objects) else [container(worker) for worker in workers(objects)]


def _picker(objects: Objects) -> dict[str, Any]:
    text = objects.one("ConfigMap", "router-config")["data"]["config.yaml"]
    loaded: dict[str, Any] = yaml.safe_load(text)
    return loaded


def _frontend(objects: Objects) -> Body:
    return container(component(objects, "frontend"))


def _the_way_in(told: Told, objects: Objects) -> Iterator[str]:
    (gateway,), (route,) = objects.kind("Gateway"), objects.kind("HTTPRoute")
    (listener,) = gateway["spec"]["listeners"]
    written = urlsplit(str(at(told.document, told.row.endpoint.base_url)))
    scheme, port = SCHEMES[listener["protocol"]]
    if (written.scheme, written.port or port) != (scheme, listener["port"]):
        yield f"it calls {written.scheme}, port {written.port or port}; {listener['protocol']} is on {listener['port']}"
    (parent,) = route["spec"]["parentRefs"]
    if (parent["name"], parent["sectionName"]) != (gateway["metadata"]["name"], listener["name"]):
        yield f"the route is on {parent['sectionName']}, the listener is {listener['name']}"
    prefixes = [m["path"]["value"] for rule in route["spec"]["rules"] for m in rule["matches"]]
    path = urlsplit(told.settings.request_url).path
    if not any(path == prefix or path.startswith(f"{prefix.rstrip('/')}/") for prefix in prefixes):
        yield f"no route leads to {path}"
    if not told.settings.request_url.startswith(told.settings.base_url):
        yield f"{told.settings.request_url} is not under {told.settings.base_url}"


def _leads_to_engines(objects: Objects) -> bool:
    """Whether the route ends at the pool of engines, or at the Envoy that asks their picker."""
    (route,) = objects.kind("HTTPRoute")
    (behind,) = {(ref["kind"], ref["name"]) for rule in route["spec"]["rules"] for ref in rule["backendRefs"]}
    return behind[0] == "InferencePool" or behind == ("Service", "router")


def _answers(path: str, objects: Objects) -> bool:
    if _is_llmd(objects):
        serves = all(engine["command"][:2] == ["vllm", "serve"] for engine in objects.engines())
        reads = path in PICKER_READS and "requestHandler" not in _picker(objects)
        return _leads_to_engines(objects) and serves and reads
    needed = FRONTEND_ANSWERS.get(path, "no flag does")
    return needed is None or f"--{needed}" in _frontend(objects)["args"]


def _api(told: Told, objects: Objects) -> Iterator[str]:
    if not _answers(told.row.endpoint.asks, objects):
        yield f"nobody answers {told.row.endpoint.asks}"


def _unanswered(told: Told, objects: Objects) -> Iterator[str]:
    if _answers(told.row.endpoint.asks, objects):
        yield f"{told.row.endpoint.asks} is answered, and it is called unusable"


def _name(told: Told, objects: Objects) -> Iterator[str]:
    served = {str(flag(server, "served-model-name")) for server in _servers(objects)}
    asked = {told.settings.model} | {
        str(at(told.document, path)).removeprefix(told.row.model.prefix) for path in told.row.model.names
    }
    if served != asked:
        yield f"it asks for {', '.join(sorted(asked))}; served is {', '.join(sorted(served))}"


def _context(told: Told, objects: Objects) -> Iterator[str]:
    served = {int(flag(s, "max-model-len") or flag(s, "context-length")) for s in _servers(objects)}
    written = [at(told.document, path, told.settings.model) for path in [told.row.context.path] if path]
    for tokens in [told.settings.context_tokens, *written]:
        if {int(tokens)} != served:
            yield f"it counts with {tokens} tokens of context, served are {served}"


def _sessions(told: Told, objects: Objects) -> Iterator[str]:
    header = told.settings.session_header
    if header is None:
        return
    if not _is_llmd(objects):
        known = FRONTEND_KNOWS
    else:
        identity = [p for p in _picker(objects)["plugins"] if p["type"] == "agent-identity"]
        if not identity:
            return
        known = PICKER_KNOWS | set(identity[0]["parameters"]["additionalSessionHeaders"])
    if header not in known:
        yield f"the router does not read {header}"


def _bands(told: Told, objects: Objects) -> Iterator[str]:
    if _is_llmd(objects):
        named = {o["metadata"]["name"] for o in objects.kind("InferenceObjective")}
    else:
        named = {c["policy_family"] for c in _policy(objects).get("policy_classes", [])}
    if set(told.settings.bands) != named:
        yield f"it is told of the bands {sorted(told.settings.bands)}; there are {sorted(named)}"
    header = PICKERS_BAND_HEADER if _is_llmd(objects) else FRONTENDS_BAND_HEADER
    ordered = _engines_order(objects)
    for name, value in headers_in(told.document, told.row).items():
        if (name != header or value not in named) and not (name == PRIORITY_HEADER and ordered):
            yield f"{name}: {value} chooses nothing"
    for band, headers in told.settings.bands.items():
        if headers.get(header) != band:
            yield f"the headers of band {band} do not name it"
        if ordered and PRIORITY_HEADER not in headers:
            yield f"engines order by a priority, and the headers of band {band} have none"


def _engines_order(objects: Objects) -> bool:
    """Whether engines order what waits in them by a priority; llm-d's picker passes none on."""
    if _is_llmd(objects):
        return False
    asked = [container(worker)["args"] for worker in workers(objects)]
    return all("--enable-priority-scheduling" in words or "--scheduling-policy=priority" in words for words in asked)


def _policy(objects: Objects) -> dict[str, Any]:
    texts = [b["data"]["policy.yaml"] for b in objects.kind("ConfigMap") if "policy.yaml" in b["data"]]
    return yaml.safe_load(texts[0]) if texts else {}


def _deadlines(told: Told, objects: Objects) -> Iterator[str]:
    """Client, then load balancer, then router and engine: the innermost fires first, so that its answer arrives."""
    (policy,) = objects.kind("GCPBackendPolicy")
    gateway_s = policy["spec"]["default"]["timeoutSec"]
    units = {"s": 1, "ms": 1000}
    for one in told.row.deadlines.settings:
        client_s = int(at(told.document, one.path)) / units[one.unit]
        if client_s <= gateway_s:
            yield f"it gives up after {client_s:g} s, the load balancer after {gateway_s}"
    for what, inner_s in _behind_s(objects).items():
        if inner_s >= gateway_s:
            yield f"the load balancer gives up after {gateway_s} s, {what} may take {inner_s}"


def _behind_s(objects: Objects) -> dict[str, int]:
    if _is_llmd(objects):
        waiting = _picker(objects).get("flowControl", {}).get("defaultRequestTTL", "0s")
        drains = [int(flag(engine, "shutdown-timeout")) for engine in objects.engines()]
        return {"waiting at the router": int(waiting.removesuffix("s")), "a request in an engine": max(drains)}
    values = environment(component(objects, "frontend"))
    names = ("DYN_HTTP_GRACEFUL_SHUTDOWN_TIMEOUT_SECS", "DYN_ROUTER_ACTIVE_REQUEST_EXPIRY_SECS")
    return {name: int(values[name]) for name in names if name in values}


_JUDGES: tuple[Callable[[Told, Objects], Iterator[str]], ...] = (
    _the_way_in,
    _api,
    _name,
    _context,
    _sessions,
    _bands,
    _deadlines,
)
