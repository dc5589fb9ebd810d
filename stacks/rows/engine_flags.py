"""What an engine's command line and environment may hold, as its own code says: read off by ``make engine-flags``.

These files are made by running the engine's parser, not written by hand; ``make test-engines`` makes them again and
compares. They let ``beamline check`` judge a container without the engine.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Literal

from pydantic import Field

from stacks.forms import Text, Version
from stacks.rows.base import Sourced, Strict

__all__ = ["Choice", "Document", "EngineFlags", "Flag", "FlagKind", "Key", "KeyKind", "Program"]

FlagKind = Literal["switch", "integer", "size", "number", "json", "text"]
"""``size``: an integer that may be written 4k or 1M. ``text`` takes anything, ``json`` a JSON object."""
_FORMS: Mapping[FlagKind, tuple[str, str]] = {
    "integer": (r"[+-]?\d+", "a whole number"),
    "size": (r"[+-]?\d+(\.\d+)?[kKmMgGtT]?|auto", "a whole number, or one like 4k and 1M"),
    "number": (r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", "a number"),
}
KeyKind = Literal["switch", "integer", "number", "text", "object", "list", "any"]


class Flag(Strict):
    """One flag, named without its dashes."""

    kind: FlagKind
    choices: list[str] = Field(default_factory=list, description="The words it takes; none: any.")
    values: Literal["one", "optional", "many"] = Field(default="one", description="How many values it takes.")
    aliases: list[str] = Field(default_factory=list, description="Other names of it, with their dashes.")
    off: list[str] = Field(default_factory=list, description="Of a switch: names that turn it off.")
    document: Text | None = Field(default=None, description="Of json: the document that its value is.")

    def form_missed(self, text: str) -> str:
        """Return in words the form that a value of this kind has, where ``text`` has not; else nothing."""
        pattern, words = _FORMS.get(self.kind, ("(?s).*", ""))
        return "" if re.fullmatch(pattern, text) else words

    def hidden_off(self, name: str) -> list[str]:
        """Return names with dashes that still turn the switch ``name`` off, and of which the parser's help is silent.

        vLLM 0.33.0, utils/argparse_utils.py: where --enable-x and --disable-x are a pair, --no-enable-x is one too.
        """
        start, _, rest = name.partition("-")
        other = {"enable": "--disable-", "disable": "--enable-"}.get(start)
        paired = other is not None and f"{other}{rest}" in (*self.off, *self.aliases)
        return [f"--no-{name}"] if self.kind == "switch" and paired else []


class Key(Strict):
    """One key of a JSON document."""

    kind: KeyKind
    choices: list[str] = Field(default_factory=list, description="The words it takes; none: any.")
    document: Text | None = Field(default=None, description="The document that its value, or each item of it, is.")


class Choice(Strict):
    """Further keys, which depend on the value of one."""

    by: Text
    default: Text | None = Field(default=None, description="What holds where that key is left out.")
    inside: Text | None = Field(default=None, description="The key that holds the further ones; null: they are beside.")
    documents: Mapping[str, str] = Field(description="By value of that key; a value that is missing is open.")


class Document(Strict):
    """The keys of a JSON document."""

    keys: Mapping[str, Key]
    choice: Choice | None = None
    only_with: Mapping[str, str] = Field(
        default_factory=dict, description="Flags and the values with which its keys are these; with others it is open."
    )


class Program(Strict):
    """What one program takes."""

    flags: Mapping[str, Flag]
    engine: Literal["vllm", "sglang"] | None = Field(
        default=None, description="The engine whose own flags it takes besides."
    )
    engine_by: Text | None = Field(default=None, description="The flag whose value names that engine.")
    engine_takes: Mapping[str, list[str]] = Field(
        default_factory=dict, description="With engine_by: by engine, the flags it takes; none: all of the engine's."
    )
    model_first: bool = Field(default=False, description="Whether one word may be no flag: the model.")


class EngineFlags(Sourced):
    """One version of one package."""

    kind: Literal["vllm", "sglang", "dynamo"]
    version: Version
    stands_for: list[Version] = Field(default_factory=list, description="Versions that could not be read.")
    underscores: bool = Field(description="Whether --a_b is --a-b.")
    dotted: bool = Field(description="Whether --a.b=c sets a key of the JSON that --a takes.")
    engine_flags: Mapping[str, Flag] = Field(default_factory=dict, description="Flags of the engine itself.")
    programs: Mapping[str, Program]
    documents: Mapping[str, Document] = Field(default_factory=dict)
    prefixes: list[str] = Field(description="How names of its variables begin.")
    variables: list[str]
    variables_in_binary: list[str] = Field(
        default_factory=list, description="Texts of compiled code that begin like variables; some run on."
    )
