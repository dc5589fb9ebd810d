"""Keys of Cloud KMS: who may use one, and what GKE says when Google's own identities may not.

Keys themselves are not simulated: one that is named exists. GKE's pages about CMEK and application-layer secrets name
the identities and the location; they have no words of the refusals, so the words here are the simulation's.
"""

import re
from collections.abc import Iterator

from typing_extensions import override

from beamline.sandbox.cloud.errors import bad_request
from beamline.sandbox.cloud.inventory import read_inventory
from beamline.sandbox.cloud.kinds.base import Inputs
from beamline.sandbox.cloud.kinds.identities import Member
from beamline.sandbox.cloud.schema import Failure
from beamline.sandbox.cloud.simulation import Simulation

__all__ = ["KeyMember", "check_boot_disk_key", "check_secrets_key", "key_problem"]

_KEY = re.compile(r"projects/[^/]+/locations/(?P<location>[^/]+)/keyRings/[^/]+/cryptoKeys/[^/]+")
_ROLE = "roles/cloudkms.cryptoKeyEncrypterDecrypter"


class KeyMember(Member):
    """A role on a key."""

    token = "gcp:kms/cryptoKeyIAMMember:CryptoKeyIAMMember"  # noqa: S105 - a type token
    title = "KMS crypto key IAM member"

    @override
    def problems(self, inputs: Inputs, simulation: Simulation) -> Iterator[Failure]:
        yield from super().problems(inputs, simulation)
        key = inputs.get("cryptoKeyId")
        if key is not None and not _KEY.fullmatch(key):
            yield Failure("cryptoKeyId", _no_key(key))

    @override
    def resource(self, inputs: Inputs, simulation: Simulation) -> tuple[str, str]:
        return simulation.project, inputs["cryptoKeyId"]


def key_problem(key: str | None, region: str) -> str:
    """Say why GKE would refuse a key for what is in a region; empty when it would not, or when there is none."""
    found = _KEY.fullmatch(key) if key else None
    if key and not found:
        return _no_key(key)
    if found and found["location"] != region:
        return f"the key is in {found['location']}, and the cluster in {region}"
    return ""


def check_secrets_key(key: str | None, simulation: Simulation) -> None:
    """Refuse a key for a cluster's secrets that GKE may not use. Raises CloudError."""
    _check(key, read_inventory(simulation).gke_service_agent, simulation)


def check_boot_disk_key(key: str | None, simulation: Simulation) -> None:
    """Refuse a key for boot disks that Compute Engine may not use. Raises CloudError."""
    number = read_inventory(simulation).number
    _check(key, f"service-{number}@compute-system.iam.gserviceaccount.com", simulation)


def _check(key: str | None, agent: str, simulation: Simulation) -> None:
    wanted = (key, _ROLE, f"serviceAccount:{agent}")
    given = [record.inputs for record in simulation.ledger.of_type(KeyMember.token)]
    if key and wanted not in [(one["cryptoKeyId"], one["role"], one["member"]) for one in given]:
        raise bad_request(f"Cloud KMS: {agent} may not use {key}: it needs {_ROLE} on it.")


def _no_key(key: str) -> str:
    return f"{key!r} is no key: write projects/PROJECT/locations/REGION/keyRings/RING/cryptoKeys/KEY"
