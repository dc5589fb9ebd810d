"""How choices about a cluster become arguments of GKE: maintenance, ways to the control plane, a key of one's own.

A key of Cloud KMS encrypts the cluster's secrets and the boot disks of its nodes. Two identities of Google use it,
GKE's own and Compute Engine's in the project; both need the right before anything is made with it, on that key
alone. Local SSD is encrypted by keys that live as long as the node, which nobody can replace.

Maintenance: https://cloud.google.com/kubernetes-engine/docs/concepts/maintenance-windows-and-exclusions
Control plane access: https://cloud.google.com/kubernetes-engine/docs/concepts/network-isolation
Keys: https://cloud.google.com/kubernetes-engine/docs/how-to/encrypting-secrets, .../how-to/using-cmek
"""

from datetime import UTC, date, datetime, timedelta
from typing import Any, NotRequired, TypedDict

import pulumi
from pulumi_gcp import kms, organizations

__all__ = ["ControlPlane", "Exclusion", "IpEndpoint", "Maintenance", "access", "key_rights", "maintenance_policy"]

_DAYS = ("MO", "TU", "WE", "TH", "FR", "SA", "SU")
_FIRST_DAY = date(2026, 1, 1)
"""Windows recur from the first of their days on or after this one."""
_KEY_USERS = {"gke": "container-engine-robot", "compute": "compute-system"}


class Exclusion(TypedDict):
    """A time without some kinds of upgrades."""

    name: str
    """Its name at Google."""
    scope: str
    """NO_UPGRADES, NO_MINOR_UPGRADES or NO_MINOR_OR_NODE_UPGRADES."""
    start: str
    """First day, for example 2026-01-01 (UTC)."""
    end: NotRequired[str]
    """Day it ends; left out, with the support of the minor version."""


class Maintenance(TypedDict):
    """When GKE may upgrade the cluster, and what it must leave alone."""

    days: list[str]
    """Days of the window, MO to SU (UTC)."""
    start_hour_utc: int
    """Hour the window opens, 0 to 23."""
    hours: int
    """How long it is open on each day, 4 to 24."""
    exclusions: list[Exclusion]
    """Times without some kinds of upgrades."""


class IpEndpoint(TypedDict):
    """The control plane at an IP address."""

    public: bool
    """False: an address inside the VPC only."""
    authorized_networks: list[str]
    """Networks that may call it, in CIDR form; nobody else may."""


class ControlPlane(TypedDict):
    """How the Kubernetes API is reached."""

    dns_endpoint: bool
    """By a DNS name, from anywhere; IAM decides before a request gets to Kubernetes."""
    ip_endpoint: NotRequired[IpEndpoint]
    """By an IP address; left out, it has none."""


def maintenance_policy(plan: Maintenance) -> dict[str, Any]:
    """Return GKE's ``maintenancePolicy``."""
    first = next(
        day for day in (_FIRST_DAY + timedelta(days=n) for n in range(7)) if _DAYS[day.weekday()] in plan["days"]
    )
    start = datetime(first.year, first.month, first.day, plan["start_hour_utc"], tzinfo=UTC)
    return {
        "recurring_window": {
            "start_time": _timestamp(start),
            "end_time": _timestamp(start + timedelta(hours=plan["hours"])),
            "recurrence": f"FREQ=WEEKLY;BYDAY={','.join(plan['days'])}",
        },
        "maintenance_exclusions": [_exclusion(exclusion) for exclusion in plan["exclusions"]],
    }


def _timestamp(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def _exclusion(exclusion: Exclusion) -> dict[str, Any]:
    end = exclusion.get("end")
    return {
        "exclusion_name": exclusion["name"],
        "start_time": f"{exclusion['start']}T00:00:00Z",
        **({"end_time": f"{end}T00:00:00Z"} if end else {}),
        "exclusion_options": {
            "scope": exclusion["scope"],
            **({} if end else {"end_time_behavior": "UNTIL_END_OF_SUPPORT"}),
        },
    }


def access(plan: ControlPlane) -> dict[str, Any]:
    """Return the arguments of a cluster that say how its control plane is reached; nodes are private either way."""
    found: dict[str, Any] = {
        "private_cluster_config": {"enable_private_nodes": True},
        "control_plane_endpoints_config": {
            "dns_endpoint_config": {"allow_external_traffic": plan["dns_endpoint"]},
            "ip_endpoints_config": {"enabled": "ip_endpoint" in plan},
        },
    }
    if "ip_endpoint" in plan:
        endpoint = plan["ip_endpoint"]
        found["private_cluster_config"]["enable_private_endpoint"] = not endpoint["public"]
        found["master_authorized_networks_config"] = {
            "cidr_blocks": [{"cidr_block": block} for block in endpoint["authorized_networks"]],
            "gcp_public_cidrs_access_enabled": False,  # any machine at Google would be let in
        }
    return found


def key_rights(parent: pulumi.Resource, name: str, *, project: str, key: str) -> list[pulumi.Resource]:
    """Let GKE and Compute Engine use a key of Cloud KMS, and nobody more; register it as children of ``parent``."""
    number = organizations.get_project_output(project_id=project, opts=pulumi.InvokeOutputOptions(parent=parent)).number
    return [
        kms.CryptoKeyIAMMember(
            f"{name}-key-{user}",
            crypto_key_id=key,
            role="roles/cloudkms.cryptoKeyEncrypterDecrypter",
            member=pulumi.Output.format("serviceAccount:service-{0}@{1}.iam.gserviceaccount.com", number, agent),
            opts=pulumi.ResourceOptions(parent=parent),
        )
        for user, agent in _KEY_USERS.items()
    ]
