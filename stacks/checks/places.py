"""Where the nodes are: the zone is in the region, and it has the machines as far as anybody knows."""

from __future__ import annotations

from collections.abc import Iterator

from stacks.checks.candidate import Candidate
from stacks.problems import Problem

__all__ = ["CHECKS"]


def zone_known(c: Candidate) -> Iterator[Problem]:
    """Which zones have a machine type changes, so what the catalog knows is only a hint; preflight asks the project."""
    zone = c.settings.get("zone")
    for name, row in {row.machine_type: row for row in c.rows.pools.values()}.items():
        if zone and not row.locations.offers(zone):
            yield Problem(
                rule="zone-without-machine",
                path="zone",
                value=zone,
                why=f"{name} was not seen there on {row.locations.as_of}; without it there is no pool",
                allowed=", ".join(row.locations.names()),
                remedy="choose one of these zones, or ask: gcloud compute machine-types list --zones",
                source=row.locations.source,
                severity="warning",
            )


def zone_in_region(c: Candidate) -> Iterator[Problem]:
    """GPU nodes live in one zone of the stack's region."""
    region, zone = c.settings.get("region"), c.settings.get("zone")
    if region and zone and not zone.startswith(f"{region}-"):
        yield Problem(
            rule="zone-region",
            path="zone",
            value=zone,
            why=f"the zone is not in region {region}; subnet and nodes would be in different places",
            allowed=f"{region}-a, {region}-b, ...",
            remedy="change zone or region in the stack file",
            source="Compute Engine docs, regions and zones",
        )


CHECKS = (zone_in_region, zone_known)
