"""Buckets of Cloud Storage. Names are global; the simulated buckets are empty."""

import re
from collections.abc import Iterator
from typing import Any

from typing_extensions import override

from beamline.sandbox.cloud.errors import CloudError
from beamline.sandbox.cloud.inventory import read_inventory
from beamline.sandbox.cloud.kinds.base import Identity, Inputs, Kind
from beamline.sandbox.cloud.ledger import Record
from beamline.sandbox.cloud.machines import region_of
from beamline.sandbox.cloud.names import project_problem
from beamline.sandbox.cloud.schema import Failure
from beamline.sandbox.cloud.simulation import Simulation

__all__ = ["Bucket"]

_NAME = re.compile(r"[a-z0-9](?:[-_.a-z0-9]{1,61}[a-z0-9])|[a-z0-9](?:[-_.a-z0-9]{1,220}[a-z0-9])")
_MULTI_REGIONS = {"ASIA", "EU", "US", "ASIA1", "EUR4", "EUR5", "EUR7", "EUR8", "NAM4"}
_CLASSES = {"STANDARD", "MULTI_REGIONAL", "REGIONAL", "NEARLINE", "COLDLINE", "ARCHIVE"}
_LONGEST = 63


class Bucket(Kind):
    """A bucket."""

    token = "gcp:storage/bucket:Bucket"  # noqa: S105 - a type token
    title = "Bucket"
    create_s, delete_s = 5, 5
    computed = (
        "effectiveLabels", "project", "projectNumber", "pulumiLabels", "selfLink", "storageClass", "timeCreated", "url",
    )  # fmt: skip

    @override
    def identify(self, inputs: Inputs, simulation: Simulation) -> Identity:
        project = inputs.get("project") or simulation.project
        return Identity(inputs["name"], project, inputs["location"].upper(), inputs["name"])

    @override
    def problems(self, inputs: Inputs, simulation: Simulation) -> Iterator[Failure]:
        name = inputs.get("name", "")
        too_long = any(len(part) > _LONGEST for part in name.split("."))
        if not _NAME.fullmatch(name) or too_long or "goog" in name[:4] or "google" in name:
            yield Failure("name", f"Invalid bucket name: '{name}'")
        location = inputs.get("location")
        if (
            location is not None
            and location.upper() not in _MULTI_REGIONS
            and region_of(location.lower()) != location.lower()
        ):
            yield Failure("location", f"The specified location constraint is not valid: {location}")
        if inputs.get("storageClass", "STANDARD") not in _CLASSES:
            yield Failure("storageClass", f"expected one of {sorted(_CLASSES)}, got {inputs['storageClass']}")
        if inputs.get("publicAccessPrevention", "inherited") not in ("inherited", "enforced"):
            yield Failure("publicAccessPrevention", "expected inherited or enforced")
        if (inputs.get("hierarchicalNamespace") or {}).get("enabled") and not inputs.get("uniformBucketLevelAccess"):
            yield Failure("hierarchicalNamespace", "Hierarchical namespace requires uniform bucket-level access")
        if reason := project_problem(inputs.get("project") or simulation.project):
            yield Failure("project", reason)

    @override
    def exists_already(self, identity: Identity) -> CloudError:
        return CloudError(
            "googleapi: Error 409: Your previous request to create the named bucket succeeded and you already own it., "
            "conflict"
        )

    @override
    def outputs(self, record: Record, simulation: Simulation) -> dict[str, Any]:
        labels = record.inputs.get("labels") or {}
        return {
            "location": record.location,
            "project": record.project,
            "projectNumber": int(read_inventory(simulation).number),
            "selfLink": f"https://www.googleapis.com/storage/v1/b/{record.name}",
            "storageClass": record.inputs.get("storageClass", "STANDARD"),
            "timeCreated": record.created,
            "url": f"gs://{record.name}",
            "pulumiLabels": labels,
            "effectiveLabels": {**labels, "goog-pulumi-provisioned": "true"},
        }
