"""Forms of text: what an id, a range or a version looks like, in a pattern for machines and in words for people.

A form is checked when a stack is read and stands in the JSON Schemas, so an editor and ``beamline plan`` agree. Known
mistakes (a scheme before a registry, a zone where a region belongs) get an answer of their own.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import Field, GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

from stacks.cloud import SANDBOX_PROJECT

__all__ = [
    "ApiVersion",
    "BucketName",
    "CertificateName",
    "Cidr",
    "ColumnPath",
    "ComputeCapability",
    "CudaVersion",
    "DiskImage",
    "DnsLabel",
    "DriverVersion",
    "EnvironmentName",
    "FeatureName",
    "FlagName",
    "Form",
    "GkeMinor",
    "GkeVersion",
    "HeaderName",
    "HelmValue",
    "HubRepository",
    "HubRevision",
    "KmsKey",
    "LabelKey",
    "LabelValue",
    "Mirror",
    "Namespace",
    "NetworkProfile",
    "OauthClientId",
    "ObjectPrefix",
    "PoolName",
    "ProjectId",
    "QuotaMetric",
    "Region",
    "ReservationName",
    "ResourceName",
    "SecretId",
    "Taint",
    "Text",
    "Topology",
    "Version",
    "Zone",
    "ZoneLetter",
]


@dataclass(frozen=True)
class Form:
    """Metadata of an annotated ``str``: the whole text must match ``pattern``, which ``words`` says in English.

    ``hints`` maps the pattern of a known mistake to what to do about it; the first match wins.
    """

    pattern: str
    words: str
    hints: tuple[tuple[str, str], ...] = ()

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_after_validator_function(self.checked, handler(source))

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return handler(schema) | {"pattern": f"^({self.pattern})$", "patternErrorMessage": f"expected {self.words}"}

    def checked(self, text: str) -> str:
        """Return ``text``; raises ``PydanticCustomError`` of type ``form`` with what is allowed and the remedy."""
        if re.fullmatch(self.pattern, text, re.ASCII):
            return text
        hint = next((say for mistake, say in self.hints if re.fullmatch(mistake, text, re.DOTALL)), None)
        raise PydanticCustomError(
            "form",
            "{why}",
            {
                "why": "nothing is written here" if not text else "the text does not have the form that is needed here",
                "allowed": self.words,
                "remedy": hint or "write it in the allowed form",
            },
        )


_LABEL = r"[a-z]([a-z0-9-]{0,61}[a-z0-9])?"
_HOST = r"[a-z0-9]([a-z0-9-]*[a-z0-9])?"
_PORT = r":(6553[0-5]|655[0-2][0-9]|65[0-4][0-9]{2}|6[0-4][0-9]{3}|[1-5][0-9]{4}|[1-9][0-9]{0,3})"
_REGION = r"[a-z]+-[a-z]+[0-9]+"
_ZONE = rf"{_REGION}-(ai[0-9]+)?[a-z]"

Text = Annotated[str, Field(min_length=1)]
ProjectId = Annotated[
    str,
    Form(
        rf"[a-z][a-z0-9-]{{4,28}}[a-z0-9]|{SANDBOX_PROJECT}",
        "a project id: 6 to 30 lower-case letters, digits and hyphens, a letter first, no hyphen last",
        (
            (r"[0-9]+", "this is a project number; write the project id"),
            (r".*[A-Z].*", "project ids are lower-case; the display name is not the id"),
        ),
    ),
]
Region = Annotated[
    str,
    Form(
        _REGION,
        "a region, such as us-central1",
        ((_ZONE, "this is a zone; the region is the part before its last hyphen"),),
    ),
]
Zone = Annotated[
    str,
    Form(_ZONE, "a zone, such as us-central1-b", ((_REGION, "this is a region; add the letter of one of its zones"),)),
]
Mirror = Annotated[
    str,
    Form(
        rf"(localhost|{_HOST}(\.{_HOST})+|{_HOST}(?=:))({_PORT})?(/[a-z0-9]+([._-]+[a-z0-9]+)*)*",
        "a registry's host with its port and a path where it has them, such as mirror.example.com:5000/team",
        (
            (r"[A-Za-z]+://.*", "leave the scheme out: image references start with the host"),
            (r".*@sha256:.*", "this names an image; write the registry and path that all images are under"),
            (r".*@.*", "leave the credentials out: nodes pull with their own service account"),
            (r".*/", "leave the slash at the end out"),
            (r".*[A-Z].*", "registry paths are lower-case"),
            (r".*/[^:]*:[^/]*", "this names an image with its tag; write the registry and path all images are under"),
            (r".*:[0-9]+(/.*)?", "a port is between 1 and 65535"),
            (r"[a-z0-9-]+(/.*)?", "a host needs a dot or a port, or the name is read as a Docker Hub account"),
        ),
    ),
]
Cidr = Annotated[
    str,
    Form(
        r"([0-9]{1,3}\.){3}[0-9]{1,3}/[0-9]{1,2}",
        "an IPv4 network, such as 10.0.0.0/20",
        (
            (r"([0-9]{1,3}\.){3}[0-9]{1,3}", "add the prefix length, such as /20"),
            (r"[0-9a-fA-F:]*:[0-9a-fA-F:.]*(/[0-9]*)?", "this is an IPv6 network; the stack's ranges are IPv4"),
        ),
    ),
]
DnsLabel = Annotated[str, Form(_LABEL, "a DNS label: lower-case letters, digits and hyphens, a letter first")]
PoolName = Annotated[
    str,
    Form(
        r"(?!system$)[a-z][a-z0-9]{0,14}",
        "a pool's name: at most 15 lower-case letters and digits, a letter first, not system",
        (
            (r"system", "that is the pool of routers and operators; choose another name"),
            (r"[a-z][a-z0-9-]*", "leave hyphens out, or shorten it: at GKE it is beamline-<stack>-<pool>"),
        ),
    ),
]
"""Without hyphens, so that two stacks in one cluster never make pools of one name."""
Namespace = Annotated[
    str,
    Form(
        r"[a-z]([a-z0-9-]{0,53}[a-z0-9])?",
        "a namespace: at most 55 lower-case letters, digits and hyphens, a letter first",
        ((r".{56,}", "shorten it: the stack adds -weights to it, and a DNS label ends at 63 characters"),),
    ),
]
GkeVersion = Annotated[
    str,
    Form(
        r"[0-9]+\.[0-9]+\.[0-9]+-gke\.[0-9]+",
        "an exact GKE version, such as 1.35.8-gke.1036000",
        (
            (r"v.*", "leave the v out"),
            (r"[0-9.]+", "a Kubernetes version alone moves with the channel; add GKE's part, -gke.n"),
            (r"latest|-", "a moving name would change the cluster under you; write an exact version"),
        ),
    ),
]
GkeMinor = Annotated[str, Form(r"[0-9]+\.[0-9]+", 'a minor version in quotes, such as "1.35"')]
Version = Annotated[
    str,
    Form(
        r"[0-9]+\.[0-9]+\.[0-9]+([a-z0-9.+-]*[a-z0-9])?",
        "an exact version of three numbers, such as 0.33.0",
        (
            (r"v[0-9].*", "leave the v out"),
            (r"[0-9]+(\.[0-9]+)?", "write all three numbers, in quotes if YAML would read a number"),
            (r"latest|nightly|main|stable", "a moving name is not a version; write the version you tested"),
        ),
    ),
]
ComputeCapability = Annotated[str, Form(r"[0-9]+\.[0-9]", 'a compute capability in quotes, such as "12.0"')]
CudaVersion = Annotated[
    str,
    Form(
        r"[0-9]{2}\.[0-9]",
        'a CUDA version in quotes, such as "13.0"',
        ((r"[0-9]{2}\.[0-9]\.[0-9]+", "leave the patch out: images of one minor run alike"),),
    ),
]
DriverVersion = Annotated[
    str,
    Form(
        r"[0-9]{3}(\.[0-9]{2,3}(\.[0-9]{2})?)?",
        'an NVIDIA driver, such as 580.95.05, or its branch in quotes, such as "580"',
        ((r"[Rr][0-9]{3}.*", "leave the R out"),),
    ),
]
QuotaMetric = Annotated[
    str,
    Form(
        r"[A-Z][A-Z0-9_]*",
        "a quota as Compute Engine's regions list it, such as NVIDIA_B200_GPUS",
        (
            (r"compute\.googleapis\.com/.*", "write the last part, in capitals"),
            (r"[A-Za-z0-9-]+", "this is a quota id; write the metric, with underscores and without per-project-region"),
        ),
    ),
]
NetworkProfile = Annotated[
    str, Form(r"\{zone\}(-[a-z0-9]+)+", "a network profile with {zone} for the zone, such as {zone}-vpc-roce")
]
ZoneLetter = Annotated[
    str, Form(r"(ai[0-9]+)?[a-z]", "the last part of a zone, such as b", ((r"[a-z]+-.*", "leave the region out"),))
]
Taint = Annotated[
    str, Form(r"[a-z0-9./-]+=[A-Za-z0-9._-]*:(NoSchedule|PreferNoSchedule|NoExecute)", "a taint, key=value:effect")
]
BucketName = Annotated[
    str,
    Form(
        r"(?![0-9]+(\.[0-9]+){3}$)(?!.*(\.\.|\.-|-\.))[a-z0-9][a-z0-9._-]{1,61}[a-z0-9]",
        "a bucket's name: 3 to 63 lower-case letters, digits, dots, hyphens and underscores, no dot beside another dot "
        "or a hyphen, not an IP address",
        (
            (r"gs://.*", "leave gs:// out; the path inside the bucket goes into prefix"),
            (r".*/.*", "the path inside the bucket goes into prefix"),
        ),
    ),
]
ObjectPrefix = Annotated[
    str,
    Form(
        r"(?!\.)[A-Za-z0-9._-]+(/(?!\.)[A-Za-z0-9._-]+)*",
        "a folder inside the bucket, such as beam/fp8: no slash first or last, no empty part, no part that starts "
        "with a dot",
        ((r"gs://.*", "only the part after the bucket's name"), (r"/.*|.*/", "leave the outer slashes out")),
    ),
]
HubRepository = Annotated[
    str,
    Form(
        r"(?!\.)[A-Za-z0-9._-]+/(?!\.)[A-Za-z0-9._-]+",
        "a repository, owner/name",
        ((r"(hf|https?)://.*", "only the owner/name at the end of the address"),),
    ),
]
HubRevision = Annotated[
    str,
    Form(
        r"[0-9a-f]{40}",
        "a commit: 40 hexadecimal digits",
        ((r"[0-9a-f]{7,39}", "write all 40 digits"), (r".*", "a branch or a tag can move; write the commit")),
    ),
]
SecretId = Annotated[
    str,
    Form(
        r"(?!hf_[A-Za-z0-9]{16,}$)[A-Za-z0-9_-]{1,255}",
        "the name of a Secret Manager secret of the project",
        (
            (r"hf_.*", "this is the token itself; put it into Secret Manager, write the secret's name, revoke it"),
            (r"projects/.*", "only the secret's name; its latest enabled version is used"),
        ),
    ),
]
CertificateName = Annotated[str, Form(_LABEL, "the name of a regional SSL certificate of the project")]
OauthClientId = Annotated[
    str,
    Form(
        r"[0-9]+-[a-z0-9]+\.apps\.googleusercontent\.com",
        "an OAuth client's id, such as 123456789012-abc123.apps.googleusercontent.com",
        ((r"GOCSPX-.*", "this is the client's secret; keep it in the cluster's Secret, and make a new one"),),
    ),
]
ReservationName = Annotated[
    str,
    Form(
        rf"(projects/[a-z][a-z0-9-]+/reservations/)?{_LABEL}(/reservationBlocks/{_LABEL}(/reservationSubBlocks/{_LABEL})?)?",
        "a reservation's name, or projects/<project>/reservations/<name> for a shared one, with "
        "/reservationBlocks/<block>/reservationSubBlocks/<sub-block> for a part of it",
        ((r"https?://.*", "start at projects/"),),
    ),
]
KmsKey = Annotated[
    str,
    Form(
        r"projects/[a-z][a-z0-9:.-]+/locations/[a-z0-9-]+/keyRings/[A-Za-z0-9_-]{1,63}/cryptoKeys/[A-Za-z0-9_-]{1,63}",
        "a key of Cloud KMS, projects/<project>/locations/<region>/keyRings/<ring>/cryptoKeys/<key>",
        ((r".*/cryptoKeyVersions/.*", "leave the version out: the primary one is used"),),
    ),
]
DiskImage = Annotated[
    str,
    Form(
        r"projects/[a-z][a-z0-9:.-]+/global/images/[a-z]([a-z0-9-]{0,61}[a-z0-9])?",
        "an image of Compute Engine, projects/<project>/global/images/<name>",
        ((r"https?://.*", "start at projects/"),),
    ),
]
ResourceName = Annotated[
    str,
    Form(
        _LABEL,
        "the name of an existing resource: lower-case letters, digits and hyphens, a letter first",
        ((r".*/.*", "only the name at the end of the path"),),
    ),
]
Topology = Annotated[
    str, Form(r"[1-9][0-9]{0,3}(x[1-9][0-9]{0,3})+", "GPUs of one placement, such as 1x72: one NVLink domain of 72")
]
LabelKey = Annotated[str, Form(r"([a-z0-9.-]+/)?[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?", "a label's key")]
LabelValue = Annotated[str, Form(r"([A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?)?", "a label's value")]
FlagName = Annotated[
    str,
    Form(
        r"[a-z][a-z0-9]*(-[a-z0-9]+)*",
        "a flag by its name, such as max-num-seqs",
        ((r"--.*", "leave the dashes in front out"), (r".*_.*", "write it with hyphens")),
    ),
]
EnvironmentName = Annotated[str, Form(r"[A-Z_][A-Z0-9_]*", "the name of an environment variable, in capitals")]
HeaderName = Annotated[
    str,
    Form(
        r"[a-z0-9]+(-[a-z0-9]+)*",
        "an HTTP header in lower case, such as x-session-id",
        ((r".*_.*", "leave it out: proxies may drop or refuse headers with underscores"),),
    ),
]
ApiVersion = Annotated[
    str,
    Form(
        r"[a-z0-9]([a-z0-9.-]*[a-z0-9])?/v[1-9][0-9]*((alpha|beta)[1-9][0-9]*)?",
        "group and version of a Kubernetes API, such as example.com/v1beta1",
    ),
]
ColumnPath = Annotated[str, Form(r"[a-z0-9_]+(\.[a-z0-9_]+)?", "a group of a hardware row, or group.column")]
HelmValue = Annotated[
    str, Form(r"[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*", "a path into a chart's values, such as image.repository")
]
FeatureName = Annotated[
    str,
    Form(
        r"(engine|precision|parallelism|router|router-proxy|gateway|replicas|kv-cache|kv-offload|kv-pool|speculation"
        r"|provisioning|disaggregation|transport|local-ssd|image-cache|host-maintenance|authentication|security-policy|weights|routing"
        r"|scaling)"
        r":[a-z0-9][a-z0-9_.+-]*",
        "a feature as plan names it, such as precision:fp8 or kv-offload:host_dram",
    ),
]
