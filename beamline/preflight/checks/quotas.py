"""Whether the quotas leave room for the stack: limit, what is used of it, what the stack adds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import quote

from beamline.preflight.checks.applied import Applied, look_applied
from beamline.preflight.checks.quota_needs import Need, quota_needs
from beamline.preflight.findings import Check, Finding, Standing
from beamline.preflight.google import NotFoundError, UnansweredError
from beamline.preflight.rows import QuotaRow
from beamline.preflight.target import Target
from beamline.preflight.world import World

__all__ = ["QUOTAS", "Room", "judge_quotas"]

_UNLIMITED = -1
_USAGE_WITHIN = timedelta(days=2)
"""Cloud Monitoring samples the usage of a quota at least daily."""


@dataclass(frozen=True)
class Room:
    """A need, the limit and the usage; or why they are not known. ``usage`` is None where nobody recorded one."""

    need: Need
    name: str = "its quota"
    limit: float | None = None
    usage: float | None = 0
    reason: str = ""


@dataclass(frozen=True)
class _Listed:
    """Quotas by name, as Compute Engine lists them."""

    region: Mapping[str, Mapping[str, Any]]
    project: Mapping[str, Mapping[str, Any]]


def _look(target: Target, world: World) -> list[Room]:
    applied: Applied = look_applied(target, world)
    region = world.google.call("compute", "regions.get", project=target.project, region=target.region)
    project = world.google.call("compute", "projects.get", project=target.project)
    listed = _Listed(_quotas(region), _quotas(project))
    return [_room(target, world, need, listed) for need in quota_needs(target, applied)]


def _quotas(answer: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    return {row["metric"]: row for row in answer.get("quotas", []) if "metric" in row}


def _amount(row: Mapping[str, Any], key: str) -> float:
    """Return a number of an answer; Google's JSON leaves out those that are nothing."""
    try:
        return float(row.get(key, 0))
    except (TypeError, ValueError) as error:
        raise UnansweredError(f"its {key} is no number: {row[key]!r}") from error


def _room(target: Target, world: World, need: Need, listed: _Listed) -> Room:
    quota = need.quota
    if quota is None:
        return Room(need, reason="neither the catalog nor beamline/preflight/quotas.yaml says which quota it uses")
    found = (listed.project if quota.scope == "global" else listed.region).get(quota.name)
    if found is None and not quota.metric:
        return Room(need, quota.name, reason="Compute Engine does not list it here")
    name = quota.name if found is not None else f"{quota.metric.rpartition('/')[2].upper()} of {quota.family}"
    try:
        if found is not None:
            return Room(need, name, _amount(found, "limit"), _amount(found, "usage"))
        limit, usage = _family_limit(target, world, quota), _family_usage(target, world, quota)
    except (NotFoundError, UnansweredError) as error:
        return Room(need, name, reason=str(error))
    return Room(need, name, limit, usage, reason="no limit is told" if limit is None else "")


def _family_limit(target: Target, world: World, quota: QuotaRow) -> float | None:
    """Return the limit of the most particular bucket that counts for region and family."""
    name = (
        f"projects/{target.project}/services/compute.googleapis.com/consumerQuotaMetrics/{quote(quota.metric, safe='')}"
    )
    answer = world.google.call(
        "serviceusage", "services.consumerQuotaMetrics.get", version="v1beta1", name=name, view="FULL"
    )
    ours = {"region": target.region, quota.dimension: quota.family}
    buckets = [
        bucket
        for limit in answer.get("consumerQuotaLimits", [])
        for bucket in limit.get("quotaBuckets", [])
        if all(ours.get(key) == value for key, value in bucket.get("dimensions", {}).items())
    ]
    best = max(buckets, key=lambda bucket: len(bucket.get("dimensions", {})), default=None)
    return None if best is None else _amount(best, "effectiveLimit")


def _family_usage(target: Target, world: World, quota: QuotaRow) -> float | None:
    """Return the last usage that Cloud Monitoring has, None when it has none: nobody used the family, or no record.

    A family may have limits for regions and for zones, each with a record of the same usage or of a part of it.
    """
    metric = quota.metric.rpartition("/")[2]
    now: datetime = world.now()
    kind = f'metric.type = "compute.googleapis.com/quota/{metric}/usage"'
    where = f'resource.labels.location = "{target.region}" AND metric.labels.{quota.dimension} = "{quota.family}"'
    answer = world.google.call(
        "monitoring",
        "projects.timeSeries.list",
        name=f"projects/{target.project}",
        filter=f"{kind} AND {where}",
        interval_startTime=(now - _USAGE_WITHIN).strftime("%Y-%m-%dT%H:%M:%SZ"),
        interval_endTime=now.strftime("%Y-%m-%dT%H:%M:%SZ"),
    )
    series = answer.get("timeSeries", [])
    return max((_amount(row["points"][0]["value"], "int64Value") for row in series if row.get("points")), default=None)


def judge_quotas(target: Target, rooms: list[Room]) -> list[Finding]:
    """Tell for each quota whether what is left of it is enough."""
    return [_judged(target, room) for room in rooms]


def _judged(target: Target, room: Room) -> Finding:
    need = room.need
    asked = f"{room.name} leaves {need.amount:,} for {need.what}"
    if room.limit is None:
        return Finding(asked, room.reason, standing=Standing.UNKNOWN, path=need.path,
                       remedy="look at the project's quotas page for the region")  # fmt: skip
    if room.limit == _UNLIMITED:
        return Finding(asked, "no limit", path=need.path)
    used = room.usage or 0
    limit = f"{room.limit:,.0f}"
    found = f"a limit of {limit}; its usage is not told" if room.usage is None else f"{used:,.0f} of {limit} used"
    if used + need.amount <= room.limit:
        if room.usage is None:
            return Finding(asked, found, f"{need.amount:,}", need.path, Standing.UNKNOWN,
                           remedy="look at the project's quotas page for the region: what was never used may have no "
                           "record")  # fmt: skip
        return Finding(asked, found, f"{need.amount:,}", path=need.path)
    return Finding.problem(
        "quota-exceeded",
        need.path,
        asked,
        found=found,
        needed=f"a limit of {used + need.amount:,.0f} or more in {target.region}",
        remedy="ask for more at https://console.cloud.google.com/iam-admin/quotas, or make the stack smaller; another "
        "region has quotas of its own",
    )


QUOTAS: Check[list[Room]] = Check(
    id="quotas",
    asks="the quotas leave room for the stack",
    source="Compute Engine docs, allocation quotas; beamline/preflight/quotas.yaml",
    rules=("quota-exceeded",),
    look=_look,
    judge=judge_quotas,
)
