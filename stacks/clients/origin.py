"""Where a stack answers: scheme and address of its load balancer, which is known once it is applied."""

from __future__ import annotations

from stacks.resolve import StackSpec

__all__ = ["NO_ADDRESS", "origin"]

NO_ADDRESS = "ADDRESS"
"""Stands for an address that is not known."""


def origin(spec: StackSpec, address: str) -> str:
    """Return the URL up to the path. HTTPS where there is a certificate, on the scheme's own port either way."""
    scheme = "https" if spec.preset.serving.router.gateway.certificate else "http"
    return f"{scheme}://{address}"
