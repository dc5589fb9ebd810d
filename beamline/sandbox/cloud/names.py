"""Names and references as Google writes them."""

import hashlib
import re

from beamline.sandbox.cloud.values import UNKNOWN
from stacks.cloud import SANDBOX_PROJECT

__all__ = [
    "COMPUTE",
    "GLOBAL",
    "hashed",
    "last",
    "name_problem",
    "number_of",
    "project_problem",
    "reference",
    "self_link",
]

COMPUTE = "https://www.googleapis.com/compute/v1/"
GLOBAL = "global"

_RFC1035 = re.compile(r"[a-z](?:[-a-z0-9]{0,61}[a-z0-9])?")
_PATH = re.compile(r"(?:https://[^/]+/(?:compute|container)/[^/]+/)?(projects/.+)")


def name_problem(name: str) -> str:
    """Say why Compute Engine would refuse a name; empty when it would not."""
    if _RFC1035.fullmatch(name):
        return ""
    return "Must be a match of regex '(?:[a-z](?:[-a-z0-9]{0,61}[a-z0-9])?)'"


def project_problem(project: str) -> str:
    """Say why a project cannot be used; empty for the simulated one."""
    if project in (SANDBOX_PROJECT, UNKNOWN):
        return ""
    return f"there is no project {project!r} here: the simulated cloud has one project, {SANDBOX_PROJECT}"


def reference(value: str, collection: str, project: str, region: str = "") -> str:
    """Return the full path of a resource named by its name, its path or its link.

    ``collection`` is ``networks``, ``subnetworks``, ``routers`` ...; regional ones need ``region``.
    """
    if found := _PATH.fullmatch(value):
        return found.group(1)
    scope = f"regions/{region}" if region else GLOBAL
    if value.startswith((f"{GLOBAL}/", "regions/")):
        return f"projects/{project}/{value}"
    return f"projects/{project}/{scope}/{collection}/{value}"


def last(path: str) -> str:
    """Return the name at the end of a path or link."""
    return path.rpartition("/")[2]


def self_link(path: str) -> str:
    """Return the link that Compute Engine gives a resource."""
    return COMPUTE + path


def hashed(text: str, length: int) -> str:
    """Return a stable string of lower-case letters and digits for a text."""
    number, digits = int.from_bytes(hashlib.sha256(text.encode()).digest()), ""
    while len(digits) < length:
        number, digit = divmod(number, 36)
        digits += "0123456789abcdefghijklmnopqrstuvwxyz"[digit]
    return digits


def number_of(text: str) -> str:
    """Return a stable number of the length Google gives resources."""
    return str(int.from_bytes(hashlib.sha256(text.encode()).digest()[:7]) + 10**18)
