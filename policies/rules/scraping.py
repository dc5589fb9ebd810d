"""What Managed Prometheus takes in one object, and its operator then cannot make jobs of."""

from __future__ import annotations

from collections.abc import Iterator

from beamline.engine.graph import Graph
from policies.objects import entries, key_or_port, registered_objects
from policies.rule import Finding, Rule

__all__ = ["RULES"]

_KINDS = ("PodMonitoring", "ClusterPodMonitoring", "ClusterNodeMonitoring")
_API = "monitoring.googleapis.com/"


def _port_twice(graph: Graph) -> Iterator[Finding]:
    for obj in registered_objects(graph):
        if obj.kind not in _KINDS or not str(obj.body.get("apiVersion")).startswith(_API):
            continue
        seen: set[str | int] = set()
        for index, endpoint in enumerate(entries(obj.at("spec", "endpoints"))):
            port = key_or_port(endpoint.get("port"))
            if port is not None and port in seen:
                yield Finding(
                    path=f"{obj.path}.spec.endpoints[{index}].port",
                    urn=obj.urn,
                    value=port,
                    detail="another endpoint of the object has the same port, and a job is named after object and port",
                    allowed="a port once in an object",
                )
            seen |= {port} if port is not None else set()


RULES = (
    Rule(
        id="scrape-port-twice",
        why="the operator refuses the object as a whole, and nothing of it is scraped",
        remedy="give each path an object of its own, or each endpoint a port name of its own",
        source="GoogleCloudPlatform/prometheus-engine#479, #480",
        find=_port_twice,
    ),
)
