"""End-to-end tests use sandboxes of their own, as the sandbox's tests do."""

from __future__ import annotations

from tests.sandbox.conftest import sandboxes

__all__ = ["sandboxes"]
