"""What the simulated cloud answers when it refuses, in the words of Google's APIs and of its Terraform provider."""

from collections.abc import Mapping, Sequence
from typing import Any

__all__ = ["CloudError", "CreatedButFailedError", "already_exists", "bad_request", "in_use", "not_found"]


class CloudError(Exception):
    """An operation the simulated cloud refused; the text is shown to the user as it is."""


class CreatedButFailedError(CloudError):
    """The resource exists but is not well: Pulumi must keep it in its state to repair or remove it."""

    def __init__(self, reason: str, resource_id: str, inputs: Mapping[str, Any], outputs: Mapping[str, Any]) -> None:
        self.resource_id, self.inputs, self.outputs = resource_id, dict(inputs), dict(outputs)
        super().__init__(reason)


def bad_request(text: str, reason: str = "badRequest") -> CloudError:
    """400: the request can never work as it stands."""
    return CloudError(f"googleapi: Error 400: {text}, {reason}")


def not_found(text: str) -> CloudError:
    """404: something the request names does not exist."""
    return CloudError(f"googleapi: Error 404: {text}, notFound")


def already_exists(text: str) -> CloudError:
    """409: there is one of that name."""
    return CloudError(f"googleapi: Error 409: {text}, alreadyExists")


def in_use(kind: str, name: str, users: Sequence[str]) -> CloudError:
    """400 of Compute Engine: others still use the resource."""
    text = f"The {kind} resource '{name}' is already being used by '{users[0]}'"
    return bad_request(text, "resourceInUseByAnotherResource")
