"""Rows about what an engine refuses, or takes and does not do: arguments and variables, by value and circumstance."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from stacks.forms import EnvironmentName, FlagName, Text
from stacks.rows.base import Strict

__all__ = ["Circumstance", "Precision", "Refused", "RewrittenPair"]

Precision = Literal["bf16", "fp8", "nvfp4"]
Circumstance = Literal["speculation", "attention_ranks", "blocks_in_files", "step_below_context"]
"""speculation: a drafter. attention_ranks: several in a replica. blocks_in_files: a tier that names files by hashes of
what they hold. step_below_context: a step takes fewer tokens than a request may have."""


class Refused(Strict):
    """Why an argument or a variable is no good, which values of it are, and when it does not matter."""

    why: Text
    values: list[str | int | float | bool] = Field(
        default_factory=list, description="The values that are refused; none: all that are not taken."
    )
    taken: list[str | int | float | bool] = Field(default_factory=list, description="Values that are all right.")
    taken_with: dict[Precision, list[str]] = Field(
        default_factory=dict, description="Further values, by the precision of the weights."
    )
    only_with: list[Circumstance] = Field(
        default_factory=list, description="Refused where all of these are so; none: always."
    )
    unless_variable: EnvironmentName | None = Field(
        default=None, description="All right where the preset sets this variable."
    )


class RewrittenPair(Strict):
    """Two arguments with values that the engine does not keep."""

    defaults: dict[FlagName, str] = Field(description="Both, with the engine's own values.")
    values: dict[FlagName, str] = Field(description="Both, as they are not kept.")
    becomes: Text = Field(description="Which one becomes what, as it is written.")
