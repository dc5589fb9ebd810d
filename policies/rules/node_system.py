"""Settings of kubelet and kernel that Google's API takes, and with which no container starts, or memory is idle."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from beamline.engine.graph import Graph, Resource
from policies.objects import OPAQUE, plain, pod_templates, section
from policies.pools import node_pools
from policies.rule import Finding, Rule
from policies.selection import selected_pools

__all__ = ["RULES"]

_TYPES = ("gcp:container/nodePool:NodePool", "gcp:container/cluster:Cluster")
_UNITS_US = {"us": 1, "µs": 1, "ms": 1_000, "s": 1_000_000}
_PERIOD = re.compile(r"(\d+(?:\.\d+)?)(us|µs|ms|s)")
_SHORTEST_US, _LONGEST_US = 1_000, 1_000_000
"""The kernel's limits of cpu.cfs_period_us; a container is refused outside of them."""


def _described(graph: Graph) -> Iterator[tuple[Resource, str, Mapping[str, Any]]]:
    """Yield pools and clusters, with how findings name them and their nodeConfig."""
    for resource in graph.resources:
        if resource.type in _TYPES:
            config = section(section(plain(dict(resource.inputs))).get("nodeConfig"))
            yield resource, f"{resource.type.rpartition(':')[2]}/{resource.name}.nodeConfig", config


def _periods(graph: Graph) -> Iterator[Finding]:
    for resource, path, config in _described(graph):
        period = section(config.get("kubeletConfig")).get("cpuCfsQuotaPeriod")
        if period in (None, "", OPAQUE):
            continue
        form = _PERIOD.fullmatch(str(period))
        length_us = float(form[1]) * _UNITS_US[form[2]] if form else 0
        if not _SHORTEST_US <= length_us <= _LONGEST_US:
            yield Finding(
                path=f"{path}.kubeletConfig.cpuCfsQuotaPeriod",
                urn=resource.urn,
                value=period,
                detail="the kernel takes periods of 1 ms to 1 s",
                allowed="1ms to 1s; 100ms unless set",
            )


def _huge_pages(config: Mapping[str, Any]) -> Mapping[str, Any]:
    return section(section(config.get("linuxNodeConfig")).get("hugepagesConfig"))


def _gigabyte_pages(graph: Graph) -> Iterator[Finding]:
    for resource, path, config in _described(graph):
        if number := _huge_pages(config).get("hugepageSize1g"):
            yield Finding(
                path=f"{path}.linuxNodeConfig.hugepagesConfig.hugepageSize1g",
                urn=resource.urn,
                value=number,
                detail=f"no row says that a {config.get('machineType')} has pages of 1 GiB",
                allowed="none; hugepageSize2m where a pod asks for hugepages-2Mi",
            )


def _unused_pages(graph: Graph) -> Iterator[Finding]:
    pools = node_pools(graph)
    users = [template for template in pod_templates(graph) if _asks_for_pages(template.containers())]
    used = {pool.name for template in users for pool in selected_pools(template, pools)}
    for resource, path, config in _described(graph):
        name = str(plain(resource.inputs.get("name")) or resource.name)
        number = _huge_pages(config).get("hugepageSize2m")
        if number and name not in used:
            yield Finding(
                path=f"{path}.linuxNodeConfig.hugepagesConfig.hugepageSize2m",
                urn=resource.urn,
                value=number,
                detail="no pod of the stack that may run there asks for hugepages-2Mi",
                allowed="no huge pages here",
            )


def _asks_for_pages(containers: Iterator[tuple[str, Mapping[str, Any]]]) -> bool:
    amounts = [
        section(section(container.get("resources")).get(kind))
        for _, container in containers
        for kind in ("limits", "requests")
    ]
    return any(str(name).startswith("hugepages-2Mi") for found in amounts for name in found)


def _two_counts(graph: Graph) -> Iterator[Finding]:
    for resource in graph.resources:
        autoscaling = section(plain(resource.inputs.get("autoscaling")))
        if resource.type == _TYPES[0] and autoscaling and resource.inputs.get("nodeCount") is not None:
            yield Finding(
                path=f"NodePool/{resource.name}.nodeCount",
                urn=resource.urn,
                value=plain(resource.inputs["nodeCount"]),
                detail="the pool has an autoscaler, which changes the number of nodes",
                allowed="no nodeCount beside autoscaling",
            )


_NODE_SYSTEM = "GKE docs, customizing node system configuration"

RULES = (
    Rule(
        id="cpu-quota-period",
        why="the pool comes up, and the kernel refuses every container with a CPU limit",
        remedy="write milliseconds (100ms), or leave it out",
        source=f"{_NODE_SYSTEM}; hashicorp/terraform-provider-google#9104; kubernetes/kubernetes#112077",
        find=_periods,
    ),
    Rule(
        id="huge-pages-size",
        why="many machine types have none, and Google refuses the pool after the cluster was made",
        remedy="leave them out",
        source=f"{_NODE_SYSTEM}; terraform-google-modules/terraform-google-kubernetes-engine#2223",
        find=_gigabyte_pages,
    ),
    Rule(
        id="huge-pages-idle",
        why="the memory is taken from every node, and nobody can use it as anything else",
        remedy="take the setting out; only pools whose agent asks for huge pages have them",
        source=_NODE_SYSTEM,
        find=_unused_pages,
    ),
    Rule(
        id="node-count-and-autoscaler",
        why="each update takes back what the autoscaler has done, and drains nodes that serve",
        remedy="leave nodeCount out, or autoscaling",
        source="GKE docs, cluster autoscaler; Terraform provider for Google, google_container_node_pool: node_count",
        find=_two_counts,
    ),
)
