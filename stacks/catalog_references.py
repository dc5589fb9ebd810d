"""What one catalog row says of another: a name that leads nowhere, or a promise the other row does not keep.

A machine type that lists a transport without having its devices would plan, and then its pods would stay Pending.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from stacks.problems import Problem
from stacks.rows import DynamoRelease, EngineRow, HardwareRow, HelperCharts, HelperImages, LlmdRelease, TransportRow
from stacks.typing_problems import nearest

__all__ = ["loose_ends"]


def loose_ends(rows: Mapping[str, Any]) -> list[Problem]:
    """Return what does not fit between rows; ``rows`` are those of a catalog, by folder and file."""
    return [
        *_transports(rows["hardware"], rows["transports"], rows["helper_images"]),
        *_helpers(rows["hardware"], rows["helper_images"], rows["helper_charts"]),
        *_engines(rows["engines"], rows["llmd_releases"], rows["dynamo_releases"]),
    ]


def _problem(where: str, path: str, value: object, why: str, allowed: str) -> Problem:
    return Problem(
        rule="catalog-reference",
        path=path,
        value=value,
        why=why,
        allowed=allowed,
        remedy="correct this row or the one it names",
        where=f"stacks/catalog/{where}.yaml",
        source="stacks/catalog_references.py",
    )


def _helpers(hardware: Mapping[str, HardwareRow], images: HelperImages, charts: HelperCharts) -> Iterator[Problem]:
    """What runs on every accelerator node, whatever the stack, is built for every accelerator node."""
    everywhere = [("helper-images", "weights_gcs", images.weights_gcs)]
    everywhere += [("helper-charts", "dra_driver.images", item.image) for item in charts.dra_driver.images]
    for where, path, image in everywhere:
        for arch in sorted({row.machine.arch for row in hardware.values()} - set(image.archs)):
            why = f"it runs on accelerator nodes, some of them {arch}"
            yield _problem(
                where, f"{path}.archs", ", ".join(image.archs), why, "every architecture of the hardware rows"
            )


def _transports(
    hardware: Mapping[str, HardwareRow], transports: Mapping[str, TransportRow], images: HelperImages
) -> Iterator[Problem]:
    """What a transport claims, the nodes offer; what it runs there, runs on their processors."""
    for name, row in hardware.items():
        for transport in row.fabric.transports:
            where, path = f"hardware/{name}", "fabric.transports"
            known = transports.get(transport)
            if known is None:
                guess = nearest(transport, list(transports))
                why = "there is no such row" + (f"; did you mean {guess!r}?" if guess else "")
                yield _problem(where, path, transport, why, ", ".join(transports))
                continue
            if known.rdma_device_class and not row.network.rdma_interfaces:
                why = "pods claim RDMA devices for it, and these nodes offer none"
                yield _problem(where, path, transport, why, "a transport without rdma_device_class")
            if known.compute_domain and row.fabric.nvlink_domain_nodes == 1:
                why = "pods claim an NVLink channel for it, and no NVLink leaves these nodes"
                yield _problem(where, path, transport, why, "a transport without compute_domain")
            agent = getattr(images, known.node_agent) if known.node_agent else None
            if agent and row.machine.arch not in agent.archs:
                why = f"its node agent is built for {', '.join(agent.archs)}, these nodes are {row.machine.arch}"
                yield _problem(where, path, transport, why, "a transport whose node agent runs here")


def _engines(
    engines: Mapping[str, EngineRow], llmd: Mapping[str, LlmdRelease], dynamo: Mapping[str, DynamoRelease]
) -> Iterator[Problem]:
    """Every engine has an image somewhere; a release that brings none runs engines that have their own."""
    brought = {
        f"{kind}-{runtime.engine_version}" for release in dynamo.values() for kind, runtime in release.runtimes.items()
    }
    for name, row in engines.items():
        if row.image is None and name not in brought:
            why = "no release brings an image for this version"
            yield _problem(f"engines/{name}", "image", None, why, "an image, or a release that has one")
    for name, release in llmd.items():
        for kind, versions in release.engines.items():
            for version in versions:
                engine = engines.get(f"{kind}-{version}")
                if engine is None or engine.image is None:
                    why = "this engine has no row" if engine is None else "this engine has no image of its own"
                    yield _problem(f"llmd_releases/{name}", f"engines.{kind}", version, why, "versions with an image")
