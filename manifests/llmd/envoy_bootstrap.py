"""What Envoy in the router's pod is started with: it asks the picker beside it, and sends to the engine that it names.

- The picker is asked over the pod's own loopback, without TLS: its certificate would be self-signed, and nobody could
  check it. It is asked for every request and has to answer: where it cannot, Envoy does not choose by itself.
- Envoy is as well as its picker: ``READY_PATH`` answers only while that is. Requests that still come then are asked
  about all the same (a picker that goes finishes its work; only the load balancer has to know that it goes).
- A request is held until all of it is there, at most ``request_limit_mib``: the picker has to read it as a whole, and a
  slow client then uses up no time of the picker's.
- ``max_stream_duration`` bounds a request from its first byte, waiting at the picker included; a route's own timeout
  begins when the picker has answered. Idle connections are kept longer than the load balancer keeps them, and given up
  before engines close theirs, so that no request meets a closing one.
- A destination that a client names is taken off before anybody reads it.
- Near the end of its memory Envoy refuses requests (503), and is not killed with those it has.

Sources: llm-d-router v0.10.0, chart llm-d-router-standalone, values.yaml (proxy.presets.envoy); Envoy docs: external
processing, health check and buffer filters, original destination, overload manager, timeouts
"""

from __future__ import annotations

from typing import Any

from manifests.chosen import llmd_release
from stacks.derived import MARGIN_S
from stacks.memory import GIB, MIB
from stacks.resolve import StackSpec

__all__ = ["LIVE_PATH", "METRICS_PATH", "READY_PATH", "bootstrap"]

READY_PATH = "/ready"
LIVE_PATH = "/live"
METRICS_PATH = "/stats/prometheus"

_TYPES = "type.googleapis.com/envoy"
_ANYWHERE = "0.0.0.0"  # noqa: S104 - in a pod; policies say who may come
_HERE = "127.0.0.1"
_PICKER, _ENGINES, _ADMIN = "picker", "engines", "admin"
_CHECK_S = 2
"""As often as the kubelet asks the picker."""
_CONNECT_S = 5
_IN_FLIGHT = 10_000
"""Envoy's own 1024 connections and requests to a cluster are fewer than may wait at a picker."""
_REFUSE_AT, _SHRINK_AT = 0.95, 0.9
"""Of the memory it may have."""
_HEAP_SHARE = 0.9
"""Of the container's memory; the rest is what its allocator does not count."""


def bootstrap(spec: StackSpec, *, picker_health: str) -> dict[str, Any]:
    """Return Envoy's whole configuration; ``picker_health`` is what the picker calls being ready (gRPC health)."""
    row = llmd_release(spec).proxy
    return {
        "admin": {"address": _address(_HERE, row.admin_port)},
        "overload_manager": _overload_manager(row.memory_gib),
        "static_resources": {
            "listeners": [
                _listener(row.port, _serving(spec)),
                _listener(row.health_port, _telling()),
                _listener(row.metrics_port, _measuring()),
            ],
            "clusters": [_picker(spec, picker_health), _engines(spec), _admin(row.admin_port)],
        },
    }


def _seconds(value: int) -> str:
    return f"{value}s"


def _address(host: str, port: int) -> dict[str, Any]:
    return {"socket_address": {"address": host, "port_value": port}}


def _typed(kind: str, **fields: Any) -> dict[str, Any]:
    return {"@type": f"{_TYPES}.{kind}", **fields}


def _extension(name: str, kind: str, **fields: Any) -> dict[str, Any]:
    return {"name": name, "typed_config": _typed(kind, **fields)}


def _filter(short: str, message: str, **fields: Any) -> dict[str, Any]:
    return _extension(f"envoy.filters.http.{short}", f"extensions.filters.http.{short}.v3.{message}", **fields)


_ROUTER = _filter("router", "Router", suppress_envoy_headers=True)


def _overload_manager(memory_gib: int) -> dict[str, Any]:
    heap = "envoy.resource_monitors.fixed_heap"
    limit = int(_HEAP_SHARE * memory_gib * GIB)
    monitor = _extension(heap, "extensions.resource_monitors.fixed_heap.v3.FixedHeapConfig", max_heap_size_bytes=limit)
    return {
        "refresh_interval": "0.25s",
        "resource_monitors": [monitor],
        "actions": [
            {"name": f"envoy.overload_actions.{action}", "triggers": [{"name": heap, "threshold": {"value": share}}]}
            for action, share in (("shrink_heap", _SHRINK_AT), ("stop_accepting_requests", _REFUSE_AT))
        ],
    }


def _listener(port: int, manager: dict[str, Any]) -> dict[str, Any]:
    kind = "extensions.filters.network.http_connection_manager.v3.HttpConnectionManager"
    filters = [_extension("envoy.filters.network.http_connection_manager", kind, **manager)]
    return {
        "name": manager["stat_prefix"],
        "address": _address(_ANYWHERE, port),
        "filter_chains": [{"filters": filters}],
    }


def _health(path: str, **more: Any) -> dict[str, Any]:
    """Answers ``path`` by itself."""
    asked = [{"name": ":path", "string_match": {"exact": path}}]
    return _filter("health_check", "HealthCheck", pass_through_mode=False, headers=asked, **more)


def _routes(cluster: str, match: dict[str, str], **action: Any) -> dict[str, Any]:
    routes = [{"match": match, "route": {"cluster": cluster, **action}}]
    return {"name": cluster, "virtual_hosts": [{"name": cluster, "domains": ["*"], "routes": routes}]}


def _serving(spec: StackSpec) -> dict[str, Any]:
    """Clients' requests, by way of the load balancer."""
    whole = _seconds(spec.derived.proxy_timeout_s or 0)
    limit = (spec.derived.request_limit_mib or 0) * MIB
    no_destination = _extension(
        "envoy.http.early_header_mutation.header_mutation",
        "extensions.http.early_header_mutation.header_mutation.v3.HeaderMutation",
        mutations=[{"remove": llmd_release(spec).proxy.destination_header}],
    )
    return {
        "stat_prefix": "requests",
        "use_remote_address": True,
        "normalize_path": True,
        "merge_slashes": True,
        "path_with_escaped_slashes_action": "UNESCAPE_AND_REDIRECT",
        "server_header_transformation": "PASS_THROUGH",
        "common_http_protocol_options": {
            "headers_with_underscores_action": "REJECT_REQUEST",
            "idle_timeout": _seconds(spec.derived.engine_keep_alive_s),
        },
        "stream_idle_timeout": whole,
        "request_timeout": whole,
        "early_header_mutation_extensions": [no_destination],
        "access_log": [_failures()],
        "route_config": _routes(
            _ENGINES,
            {"prefix": "/"},
            timeout=whole,
            idle_timeout=whole,
            max_stream_duration={"max_stream_duration": whole},
        ),
        "http_filters": [
            _filter("buffer", "Buffer", max_request_bytes=limit),
            _asking(spec),
            _ROUTER,
        ],
    }


def _asking(spec: StackSpec) -> dict[str, Any]:
    """Of bodies each part is sent as it comes, both ways, and what the picker sends back goes on."""
    return _filter(
        "ext_proc",
        "ExternalProcessor",
        failure_mode_allow=False,
        grpc_service={"envoy_grpc": {"cluster_name": _PICKER, "authority": "localhost"}},
        message_timeout=_seconds(spec.derived.proxy_message_timeout_s or 0),
        processing_mode={
            "request_header_mode": "SEND",
            "request_body_mode": "FULL_DUPLEX_STREAMED",
            "request_trailer_mode": "SEND",
            "response_header_mode": "SEND",
            "response_body_mode": "FULL_DUPLEX_STREAMED",
            "response_trailer_mode": "SEND",
        },
    )


def _failures() -> dict[str, Any]:
    """Requests that ended in an error of the server's. Google's load balancer logs all."""
    told = ("START_TIME", "REQ(:METHOD)", "RESPONSE_CODE", "RESPONSE_CODE_DETAILS", "RESPONSE_FLAGS", "DURATION",
            "UPSTREAM_HOST")  # fmt: skip
    log = _extension(
        "envoy.access_loggers.stdout",
        "extensions.access_loggers.stream.v3.StdoutAccessLog",
        log_format={"json_format": {name.partition("(")[0].lower(): f"%{name}%" for name in told}},
    )
    from_500 = {"op": "GE", "value": {"default_value": 500, "runtime_key": "access_log.least_status"}}
    return {**log, "filter": {"status_code_filter": {"comparison": from_500}}}


def _telling() -> dict[str, Any]:
    """Who asks how it is: kubelet and load balancer. Not where clients ask, since the picker reads every answer."""
    return {
        "stat_prefix": "health",
        "route_config": {"name": "none"},
        "http_filters": [
            _health(READY_PATH, cluster_min_healthy_percentages={_PICKER: {"value": 100}}),
            _health(LIVE_PATH),
            _ROUTER,
        ],
    }


def _measuring() -> dict[str, Any]:
    """Metrics. The rest of what the admin port can do stays in the pod."""
    return {
        "stat_prefix": "metrics",
        "route_config": _routes(_ADMIN, {"path": METRICS_PATH}),
        "http_filters": [_ROUTER],
    }


def _cluster(name: str, kind: str, **fields: Any) -> dict[str, Any]:
    most = {"max_connections": _IN_FLIGHT, "max_pending_requests": _IN_FLIGHT, "max_requests": _IN_FLIGHT}
    breakers = {"circuit_breakers": {"thresholds": [most]}}
    return {"name": name, "type": kind, "connect_timeout": _seconds(_CONNECT_S), **breakers, **fields}


def _at(name: str, port: int, **more: Any) -> dict[str, Any]:
    endpoint = {"address": _address(_HERE, port), **more}
    return {"cluster_name": name, "endpoints": [{"lb_endpoints": [{"endpoint": endpoint}]}]}


def _protocol(**fields: Any) -> dict[str, Any]:
    kind = "extensions.upstreams.http.v3.HttpProtocolOptions"
    return {f"{_TYPES}.{kind}".partition("/")[2]: _typed(kind, **fields)}


def _picker(spec: StackSpec, service: str) -> dict[str, Any]:
    ports = llmd_release(spec).ports
    every = _seconds(_CHECK_S)
    check = {
        "timeout": every,
        "interval": every,
        "no_traffic_interval": every,
        "no_traffic_healthy_interval": every,
        "unhealthy_threshold": 2,
        "healthy_threshold": 1,
        "grpc_health_check": {"service_name": service},
    }
    return _cluster(
        _PICKER,
        "STATIC",
        health_checks=[check],
        typed_extension_protocol_options=_protocol(explicit_http_config={"http2_protocol_options": {}}),
        load_assignment=_at(_PICKER, ports.ext_proc, health_check_config={"port_value": ports.health}),
    )


def _engines(spec: StackSpec) -> dict[str, Any]:
    release = llmd_release(spec)
    proxied = len(spec.roles) > 1  # by what stands before decode engines
    closes_s = release.routing_sidecar.idle_close_s if proxied else spec.derived.engine_keep_alive_s
    return _cluster(
        _ENGINES,
        "ORIGINAL_DST",
        lb_policy="CLUSTER_PROVIDED",
        original_dst_lb_config={
            "use_http_header": True,
            "http_header_name": release.proxy.destination_header,
        },
        typed_extension_protocol_options=_protocol(
            common_http_protocol_options={"idle_timeout": _seconds(closes_s - MARGIN_S)},
            explicit_http_config={"http_protocol_options": {}},
        ),
    )


def _admin(port: int) -> dict[str, Any]:
    return _cluster(_ADMIN, "STATIC", load_assignment=_at(_ADMIN, port))
