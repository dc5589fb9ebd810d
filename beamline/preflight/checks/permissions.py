"""Whether whoever runs Pulumi may make what the stack has, and may hand out the roles it hands out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from beamline.engine.values import value_to_json
from beamline.preflight.checks.needs import needed_permissions, unlisted_types
from beamline.preflight.findings import Check, Finding, Standing
from beamline.preflight.google import NotFoundError, UnansweredError
from beamline.preflight.target import Target
from beamline.preflight.world import World

__all__ = ["PERMISSIONS", "Place", "places"]

_MOST_AT_ONCE = 100
"""testIamPermissions takes no more."""
_BUCKETS = "gcp:storage/bucketIAMMember:BucketIAMMember"
_SECRETS = "gcp:secretmanager/secretIamMember:SecretIamMember"
_KEYS = "gcp:kms/cryptoKeyIAMMember:CryptoKeyIAMMember"
_REPOSITORIES = "gcp:artifactregistry/repositoryIamMember:RepositoryIamMember"


@dataclass(frozen=True)
class Place:
    """Where permissions are tested: the project, or one thing whose readers the stack changes."""

    kind: str
    name: str
    path: str

    @property
    def asked(self) -> str:
        """The question, for people."""
        return f"you may make and change what the stack has in {self.kind} {self.name}"


def places(target: Target) -> list[Place]:
    """Return every place the stack's resources need permissions in."""
    found = [Place("project", target.project, "project")]
    for kind, resource_type, keys, path in (
        ("bucket", _BUCKETS, ("bucket",), "model.weights.bucket"),
        ("secret", _SECRETS, ("secretId",), "model.weights.token_secret"),
        ("key", _KEYS, ("cryptoKeyId",), "cluster.encryption_key"),
        ("repository", _REPOSITORIES, ("project", "location", "repository"), "mirror"),
    ):
        for resource in target.resources(resource_type):
            inputs = {key: value_to_json(value) for key, value in resource.inputs.items()}
            found.append(Place(kind, "/".join(str(inputs[key]) for key in keys), path))
    return list(dict.fromkeys(found))


Held = Mapping[Place, frozenset[str] | str]
"""What is held in each place, or why that could not be learnt."""


def _look(target: Target, world: World) -> Held:
    return {place: _held(target, world, place) for place in places(target)}


def _held(target: Target, world: World, place: Place) -> frozenset[str] | str:
    wanted = sorted(needed_permissions(target, place.kind))
    held: set[str] = set()
    try:
        for start in range(0, len(wanted), _MOST_AT_ONCE):
            held |= _tested(target, world, place, wanted[start : start + _MOST_AT_ONCE])
    except (NotFoundError, UnansweredError) as error:
        return str(error)
    return frozenset(held)


def _tested(target: Target, world: World, place: Place, wanted: list[str]) -> set[str]:
    google, body = world.google, {"permissions": wanted}
    match place.kind:
        case "bucket":
            answer = google.call("storage", "buckets.testIamPermissions", bucket=place.name, permissions=wanted)
        case "secret":
            name = f"projects/{target.project}/secrets/{place.name}"
            answer = google.call("secretmanager", "projects.secrets.testIamPermissions", resource=name, body=body)
        case "key":
            answer = google.call(
                "cloudkms", "projects.locations.keyRings.cryptoKeys.testIamPermissions", resource=place.name, body=body
            )
        case "repository":
            project, location, repository = place.name.split("/")
            name = f"projects/{project}/locations/{location}/repositories/{repository}"
            answer = google.call(
                "artifactregistry", "projects.locations.repositories.testIamPermissions", resource=name, body=body
            )
        case _:
            answer = google.call(
                "cloudresourcemanager", "projects.testIamPermissions", resource=f"projects/{target.project}", body=body
            )
    return set(answer.get("permissions", []))


def judge_permissions(target: Target, held: Held) -> list[Finding]:
    """Compare what is held in each place with what the stack's resources take."""
    return [*_unlisted(target), *(_judged(target, place, answer) for place, answer in held.items())]


def _judged(target: Target, place: Place, held: frozenset[str] | str) -> Finding:
    if isinstance(held, str):
        return Finding.unknown(place.asked, held, "let somebody who may look run preflight", place.path)
    needed = needed_permissions(target, place.kind)
    missing = sorted(needed - held)
    if not missing:
        return Finding(place.asked, f"all {len(needed)} permissions", path=place.path)
    return Finding.problem(
        "permission-missing",
        place.path,
        place.asked,
        found=f"missing: {', '.join(missing)}",
        needed=f"{len(needed)} permissions of beamline/preflight/resources.yaml",
        remedy="ask whoever owns it for roles that hold them; gcloud iam roles describe ROLE lists what a role holds",
    )


def _unlisted(target: Target) -> Iterator[Finding]:
    for kind in unlisted_types(target):
        yield Finding(
            asked=f"you may make {kind}",
            found="beamline/preflight/resources.yaml does not say what it takes",
            standing=Standing.UNKNOWN,
            remedy="add a row for the type",
        )


PERMISSIONS: Check[Held] = Check(
    id="permissions",
    asks="you may make what the stack has",
    source="IAM docs, permissions reference; beamline/preflight/resources.yaml",
    rules=("permission-missing",),
    look=_look,
    judge=judge_permissions,
)
