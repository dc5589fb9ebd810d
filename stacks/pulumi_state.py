"""How Pulumi writes a state and what cannot be written plainly, for those who read states without its SDK.

Source: pulumi/pulumi, sdk/go/common/resource/properties.go and apitype (3.260).
"""

from __future__ import annotations

__all__ = ["SECRET", "SIGNATURE", "STATE_VERSIONS", "UNKNOWN_TEXT"]

STATE_VERSIONS = (3, 4)
"""Of the exported document, whose resources look the same; 4, since 3.186, adds features that say so by name."""
SIGNATURE = "4dabf18193072939515e22adb298388d"
"""Key of what stands in place of a value that is no plain one: a secret, a file, a reference."""
SECRET = "1b47061264138c4ac30d75fd1eb44270"  # noqa: S105 - Pulumi's mark of a secret, not one
"""What ``SIGNATURE`` says of a secret."""
UNKNOWN_TEXT = "04da6b54-80e4-46f7-96ec-b56ff0331ba9"
"""A value, or the part of a text, that is known only once something else has been applied."""
