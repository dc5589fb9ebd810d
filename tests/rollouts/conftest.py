"""A sandbox of their own, as the sandbox's tests have."""

from __future__ import annotations

from tests.sandbox.conftest import sandboxes

__all__ = ["sandboxes"]
