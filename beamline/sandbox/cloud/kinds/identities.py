"""Service accounts and members of IAM policies.

A policy member that exists already is no error at Google, and a service account of the project must exist before it
gets a role. Buckets, secrets and registries that no stack made exist as far as the inventory says: by default all do.
"""

import re
from collections.abc import Iterator
from typing import Any

from typing_extensions import override

from beamline.sandbox.cloud.errors import CloudError, already_exists, bad_request, not_found
from beamline.sandbox.cloud.inventory import read_inventory
from beamline.sandbox.cloud.kinds.base import Identity, Inputs, Kind
from beamline.sandbox.cloud.kinds.compute import CLUSTER
from beamline.sandbox.cloud.ledger import Record
from beamline.sandbox.cloud.names import last, number_of, project_problem
from beamline.sandbox.cloud.schema import Failure
from beamline.sandbox.cloud.simulation import Simulation

__all__ = [
    "Account",
    "BucketMember",
    "Member",
    "ProjectMember",
    "RepositoryMember",
    "SecretMember",
    "ServiceAccountMember",
    "check_account",
]

ACCOUNT = "gcp:serviceaccount/account:Account"
BUCKET = "gcp:storage/bucket:Bucket"

_ACCOUNT_ID = re.compile(r"[a-z](?:[-a-z0-9]{4,28}[a-z0-9])")
_ROLE = re.compile(r"(?:(?:projects|organizations)/[^/]+/)?roles/[A-Za-z0-9_.]+")
_MEMBER = re.compile(
    r"allUsers|allAuthenticatedUsers|(?:user|serviceAccount|group|domain|projectOwner|projectEditor|projectViewer"
    r"|principal|principalSet|deleted):.+"
)
_WORKLOAD = re.compile(
    r"serviceAccount:(?P<pool>[^\[\]]+)\.svc\.id\.goog\[(?P<namespace>[^/\]]+)/(?P<account>[^\]]+)\]"
)
_WORKLOAD_PRINCIPAL = re.compile(
    r"principal(?:Set)?://iam\.googleapis\.com/.*/workloadIdentityPools/(?P<pool>[^/]+)\.svc\.id\.goog/"
)


class Account(Kind):
    """A service account."""

    token = ACCOUNT
    title = "ServiceAccount"
    named = False
    create_s, delete_s = 5, 5
    computed = ("email", "member", "name", "project", "uniqueId")

    @override
    def identify(self, inputs: Inputs, simulation: Simulation) -> Identity:
        project = inputs.get("project") or simulation.project
        email = f"{inputs['accountId']}@{project}.iam.gserviceaccount.com"
        return Identity(f"projects/{project}/serviceAccounts/{email}", project, "global", email)

    @override
    def problems(self, inputs: Inputs, simulation: Simulation) -> Iterator[Failure]:
        account = inputs.get("accountId")
        if account is None:
            yield Failure("accountId", "this property is required")
        elif not _ACCOUNT_ID.fullmatch(account):
            yield Failure(
                "accountId",
                f'"accountId" ("{account}") doesn\'t match regexp "^[a-z](?:[-a-z0-9]{{4,28}}[a-z0-9])$": '
                "6 to 30 lower-case letters, digits and hyphens",
            )
        if len(inputs.get("displayName", "")) > 100:  # noqa: PLR2004 - the API's limit
            yield Failure("displayName", "a display name has at most 100 bytes")
        if reason := project_problem(inputs.get("project") or simulation.project):
            yield Failure("project", reason)

    @override
    def exists_already(self, identity: Identity) -> CloudError:
        account = identity.name.partition("@")[0]
        return already_exists(f"Service account {account} already exists within project projects/{identity.project}.")

    @override
    def outputs(self, record: Record, simulation: Simulation) -> dict[str, Any]:
        return {
            "project": record.project,
            "email": record.name,
            "member": f"serviceAccount:{record.name}",
            "name": record.id,
            "uniqueId": number_of(record.id + record.created),
        }


class Member(Kind):
    """One member with one role on one resource."""

    named = False
    shared = True
    create_s, delete_s = 5, 5
    computed = ("etag",)

    @override
    def identify(self, inputs: Inputs, simulation: Simulation) -> Identity:
        project, resource = self.resource(inputs, simulation)
        condition = (inputs.get("condition") or {}).get("title")
        path = f"{resource}/{inputs['role']}/{inputs['member']}" + (f"/{condition}" if condition else "")
        return Identity(path, project, "global", inputs["member"])

    def resource(self, inputs: Inputs, simulation: Simulation) -> tuple[str, str]:
        """Return the project and the path of what the policy belongs to."""
        raise NotImplementedError

    @override
    def problems(self, inputs: Inputs, simulation: Simulation) -> Iterator[Failure]:
        role, member = inputs.get("role"), inputs.get("member")
        if role is not None and not _ROLE.fullmatch(role):
            yield Failure("role", f"{role!r} is no role: write roles/NAME or projects/PROJECT/roles/NAME")
        if member is not None and not _MEMBER.fullmatch(member):
            yield Failure("member", f"{member!r} is no member: write serviceAccount:EMAIL, user:EMAIL, group:EMAIL ...")
        if reason := project_problem(inputs.get("project") or simulation.project):
            yield Failure("project", reason)

    @override
    def before_create(self, identity: Identity, inputs: Inputs, simulation: Simulation) -> None:
        member = str(inputs["member"])
        if workload := _WORKLOAD.fullmatch(member) or _WORKLOAD_PRINCIPAL.match(member):
            _check_pool(workload["pool"], simulation)
        elif member.startswith("serviceAccount:"):
            check_account(member.partition(":")[2], simulation)

    @override
    def outputs(self, record: Record, simulation: Simulation) -> dict[str, Any]:
        return {"etag": f"BwX{number_of(record.id)[:8]}="}


class ProjectMember(Member):
    """A role on the project."""

    token = "gcp:projects/iAMMember:IAMMember"  # noqa: S105 - a type token
    title = "project IAM member"

    @override
    def resource(self, inputs: Inputs, simulation: Simulation) -> tuple[str, str]:
        return inputs["project"], inputs["project"]


class ServiceAccountMember(Member):
    """A role on a service account, such as being it (Workload Identity)."""

    token = "gcp:serviceaccount/iAMMember:IAMMember"  # noqa: S105 - a type token
    title = "service account IAM member"

    @override
    def resource(self, inputs: Inputs, simulation: Simulation) -> tuple[str, str]:
        return simulation.project, inputs["serviceAccountId"]

    @override
    def before_create(self, identity: Identity, inputs: Inputs, simulation: Simulation) -> None:
        account = str(inputs["serviceAccountId"])
        if not account.startswith("projects/"):
            raise bad_request(
                f"{account!r}: serviceAccountId is the account's name, projects/PROJECT/serviceAccounts/EMAIL"
            )
        if simulation.ledger.find(ACCOUNT, account) is None:
            raise not_found(f"Service account {account} does not exist.")
        super().before_create(identity, inputs, simulation)


class BucketMember(Member):
    """A role on a bucket."""

    token = "gcp:storage/bucketIAMMember:BucketIAMMember"  # noqa: S105 - a type token
    title = "storage bucket IAM member"

    @override
    def resource(self, inputs: Inputs, simulation: Simulation) -> tuple[str, str]:
        return simulation.project, f"b/{inputs['bucket'].removeprefix('b/')}"

    @override
    def before_create(self, identity: Identity, inputs: Inputs, simulation: Simulation) -> None:
        name, known = str(inputs["bucket"]).removeprefix("b/"), read_inventory(simulation).buckets
        if known is not None and name not in known and simulation.ledger.find(BUCKET, name) is None:
            raise not_found("The specified bucket does not exist.")
        super().before_create(identity, inputs, simulation)


class SecretMember(Member):
    """A role on a secret of Secret Manager."""

    token = "gcp:secretmanager/secretIamMember:SecretIamMember"  # noqa: S105 - a type token
    title = "secret IAM member"

    @override
    def resource(self, inputs: Inputs, simulation: Simulation) -> tuple[str, str]:
        project = inputs.get("project") or simulation.project
        return project, f"projects/{project}/secrets/{last(inputs['secretId'])}"

    @override
    def before_create(self, identity: Identity, inputs: Inputs, simulation: Simulation) -> None:
        inventory, name = read_inventory(simulation), last(str(inputs["secretId"]))
        if inventory.secrets is not None and name not in inventory.secrets and identity.project == simulation.project:
            raise not_found(f"Secret [projects/{inventory.number}/secrets/{name}] not found or has no versions.")
        super().before_create(identity, inputs, simulation)


class RepositoryMember(Member):
    """A role on a repository of Artifact Registry, which may be another project's."""

    token = "gcp:artifactregistry/repositoryIamMember:RepositoryIamMember"  # noqa: S105 - a type token
    title = "repository IAM member"

    @override
    def problems(self, inputs: Inputs, simulation: Simulation) -> Iterator[Failure]:
        yield from (failure for failure in super().problems(inputs, simulation) if failure.path != "project")

    @override
    def resource(self, inputs: Inputs, simulation: Simulation) -> tuple[str, str]:
        project, location = inputs.get("project") or simulation.project, inputs.get("location") or simulation.region
        return project, f"projects/{project}/locations/{location}/repositories/{last(inputs['repository'])}"

    @override
    def before_create(self, identity: Identity, inputs: Inputs, simulation: Simulation) -> None:
        known, path = read_inventory(simulation).repositories, self.resource(inputs, simulation)[1]
        if known is not None and last(path) not in known and identity.project == simulation.project:
            raise not_found(f"Requested entity was not found. ({path})")
        super().before_create(identity, inputs, simulation)


def check_account(email: str, simulation: Simulation) -> None:
    """Refuse a service account of the simulated project that nobody created. Raises CloudError."""
    if email == "default" or not email.endswith(f"@{simulation.project}.iam.gserviceaccount.com"):
        return  # Google's own accounts and those of other projects are not the ledger's
    if simulation.ledger.find(ACCOUNT, f"projects/{simulation.project}/serviceAccounts/{email}") is None:
        raise bad_request(f"Service account {email} does not exist.")


def _check_pool(project: str, simulation: Simulation) -> None:
    """A project's identity pool comes into being with its first cluster that uses Workload Identity."""
    pools = [
        (cluster.inputs.get("workloadIdentityConfig") or {}).get("workloadPool")
        for cluster in simulation.ledger.of_type(CLUSTER)
    ]
    pool = f"{project}.svc.id.goog"
    if pool not in pools:
        raise bad_request(
            f"Identity Pool does not exist ({pool}). Please check that you specified a valid resource name as "
            "returned in the `name` attribute in the configuration API."
        )
