"""Rows about clients: programs that talk to a stack, where each is told how, and what it sends by itself.

A path names a key of the client's configuration, outermost first; ``{model}`` in it stands for the model's name.
"""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from stacks.forms import DnsLabel, EnvironmentName, FlagName, HeaderName, Text, Version
from stacks.rows.base import NotNegative, Positive, Sourced, Strict

__all__ = ["Api", "ClientRow", "Deadline", "FrontendApis", "KeyPath", "PickerApis", "RouterHeaders", "ServerApis"]

Api = Literal["openai_chat", "openai_responses", "anthropic_messages"]
"""/v1/chat/completions, /v1/responses, /v1/messages."""
KeyPath = Annotated[list[Text], Field(min_length=1)]


class RouterHeaders(Sourced):
    """Which headers of a request a router reads."""

    session: Annotated[list[HeaderName], Field(min_length=1)] = Field(
        description="Name the session; the first that a request has counts. Names with underscores are left out."
    )
    band: HeaderName = Field(description="Names the band of flow control.")
    priority: HeaderName | None = Field(
        description="Has the band's priority as a number, for the engines, which do not hear of bands; null: none does."
    )


class ServerApis(Sourced):
    """Which APIs an engine's own server answers."""

    served: Annotated[list[Api], Field(min_length=1)]


class PickerApis(Sourced):
    """Which requests the endpoint picker understands; others it refuses."""

    read: Annotated[list[Api], Field(min_length=1)]
    tokenized: list[Api] = Field(description="Of these, the ones it has tokenized: for others cache events do nothing.")


class FrontendApis(Sourced):
    """Which APIs a frontend answers."""

    flags: dict[Api, FlagName | None] = Field(description="The flag that turns it on; null: always on.")
    experimental: list[Api] = Field(description="What the release itself calls so.")


class Constant(Strict):
    """What is written for every stack, and why."""

    path: KeyPath
    value: str | int | bool
    why: Text


class ClientFile(Sourced):
    """Where the configuration is."""

    place: Text = Field(description="The user's own file, or words for where it is.")
    also: Text | None = Field(default=None, description="Where else the same is told, in words.")
    format: Literal["json", "toml", "python"]
    call: Text | None = Field(
        default=None, description="python: what takes the keys as keyword arguments, with its module."
    )
    as_text: bool = Field(default=False, description="Whether numbers are written as text.")
    constants: list[Constant] = Field(default_factory=list)


class ClientEndpoint(Sourced):
    """Which API it speaks, and where it is told the address."""

    api: Api
    url_ends_in: Literal["", "/v1"] = Field(description="What its base URL has after the host; it appends the rest.")
    asks: Text = Field(description="Path of its requests, without the query.")
    base_url: KeyPath


class ClientModel(Sourced):
    """Where it is told the model."""

    names: list[KeyPath] = Field(description="Empty: every request names it.")
    prefix: str = Field(default="", description="Before the name of the model.")


class TokenCommand(Strict):
    """Where it is told a command that prints a token."""

    path: KeyPath
    arguments: KeyPath | None = Field(description="Null: the path takes a whole line for the shell.")
    refresh_ms: KeyPath | None = Field(description="After how long it asks again.")


class TokenVariable(Strict):
    """An environment variable that it takes the key from."""

    name: EnvironmentName
    reference: Text | None = Field(description="What stands in the key's place then; null: nothing.")


class ClientKey(Sourced):
    """Where it is told a key."""

    path: KeyPath | None = Field(description="Null: it sends none unless told to, and needs none.")
    command: TokenCommand | None
    variable: TokenVariable | None


class ClientHeaders(Sourced):
    """Which headers it sends by itself, and where it is told others."""

    path: KeyPath | None = Field(description="Null: it takes no others.")
    form: Literal["map", "lines"] = Field(description="lines: one text, a header a line.")
    session: list[HeaderName] = Field(description="On every request, one value a conversation.")
    per_request: bool = Field(description="Whether the program that calls it can give each request its own.")


class Deadline(Strict):
    """One of its timeouts."""

    path: KeyPath
    unit: Literal["ms", "s"]
    covers: Literal["request", "beginning", "silence"] = Field(
        description="The whole request; the time until its answer begins; the time without a byte of it."
    )


class ClientDeadlines(Sourced):
    """After how long it gives a request up."""

    settings: list[Deadline]
    shortest_default_s: Positive = Field(description="Of all its timeouts, where nothing is set.")
    fixed_silence_s: Positive | None = Field(
        description="So long without a byte it waits, whatever is set; null: no such limit."
    )


class ClientContext(Sourced):
    """How it is told how long a conversation may be."""

    path: KeyPath | None
    answer: KeyPath | None = Field(description="How long one answer may be.")
    answer_tokens: Positive | None = Field(description="What it asks for at most; null: it asks for no limit.")
    opening_bytes: NotNegative = Field(
        description="Its first request in an empty folder, nearly all of it instructions and tools."
    )


class ClientRow(Strict):
    """One client; ``version`` is the one whose requests were looked at."""

    schema_file: ClassVar[str] = "client"

    name: DnsLabel
    title: Text
    version: Version
    file: ClientFile
    endpoint: ClientEndpoint
    model: ClientModel
    key: ClientKey
    headers: ClientHeaders
    deadlines: ClientDeadlines
    context: ClientContext

    @property
    def paths(self) -> list[tuple[str, KeyPath]]:
        """Every place in its configuration that is written to, with the column that names it."""
        command = self.key.command
        optional: list[tuple[str, KeyPath | None]] = [
            ("key.path", self.key.path),
            ("key.command.path", command.path if command else None),
            ("key.command.arguments", command.arguments if command else None),
            ("key.command.refresh_ms", command.refresh_ms if command else None),
            ("headers.path", self.headers.path),
            ("context.path", self.context.path),
            ("context.answer", self.context.answer),
        ]
        return [
            *((f"file.constants[{at}].path", constant.path) for at, constant in enumerate(self.file.constants)),
            ("endpoint.base_url", self.endpoint.base_url),
            *((f"model.names[{at}]", path) for at, path in enumerate(self.model.names)),
            *((f"deadlines.settings[{at}].path", one.path) for at, one in enumerate(self.deadlines.settings)),
            *((column, path) for column, path in optional if path),
        ]
