"""Whether the gateway's certificate is there, in the region, and still valid."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from beamline.preflight.findings import Check, Finding
from beamline.preflight.google import NotFoundError
from beamline.preflight.target import Target
from beamline.preflight.world import World

__all__ = ["CERTIFICATE", "Certificate", "judge_certificate"]

_PATH = "serving.router.gateway.certificate"


@dataclass(frozen=True)
class Certificate:
    """A certificate, and the moment it was asked for. ``expires`` is None where Google does not say."""

    exists: bool
    asked_at: datetime
    expires: datetime | None = None


def _name(target: Target) -> str | None:
    return target.spec.preset.serving.router.gateway.certificate


def _look(target: Target, world: World) -> Certificate:
    try:
        found = world.google.call(
            "compute",
            "regionSslCertificates.get",
            project=target.project,
            region=target.region,
            sslCertificate=str(_name(target)),
        )
    except NotFoundError:
        return Certificate(exists=False, asked_at=world.now())
    expires = found.get("expireTime")
    return Certificate(exists=True, asked_at=world.now(), expires=datetime.fromisoformat(expires) if expires else None)


def judge_certificate(target: Target, certificate: Certificate) -> list[Finding]:
    """Tell whether clients could be served with it today."""
    name = _name(target)
    asked = f"the certificate {name} is in {target.region} and valid"
    if not certificate.exists:
        return [
            Finding.problem(
                "certificate-missing",
                _PATH,
                asked,
                found=f"{target.region} has no SSL certificate of this name",
                needed="a regional certificate of Compute Engine",
                remedy=f"gcloud compute ssl-certificates create {name} --region {target.region} "
                "--certificate FILE --private-key FILE",
            )
        ]
    if certificate.expires and certificate.expires <= certificate.asked_at:
        return [
            Finding.problem(
                "certificate-expired",
                _PATH,
                asked,
                found=f"it expired on {certificate.expires:%Y-%m-%d}",
                needed="a certificate that is valid",
                remedy="make a new one under another name, and name it",
            )
        ]
    until = f"until {certificate.expires:%Y-%m-%d}" if certificate.expires else "its end is not told"
    return [Finding(asked, until, path=_PATH)]


CERTIFICATE: Check[Certificate] = Check(
    id="certificate",
    asks="the gateway's certificate is there",
    source="Compute Engine API, regionSslCertificates.get",
    rules=("certificate-missing", "certificate-expired"),
    look=_look,
    judge=judge_certificate,
    applies=lambda target: _name(target) is not None,
)
