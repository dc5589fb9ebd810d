"""The one shape every finding takes, whoever makes it.

Types, derivations, graph rules, schema checks, the emulated cloud and the cluster's own words all end up as
``Problem``: an engineer reads one kind of message, and CI renders one kind of record.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

import yaml

__all__ = [
    "EnvironmentProblem",
    "Problem",
    "ProblemsFound",
    "Severity",
    "has_errors",
    "ordered",
    "problems_in",
    "to_text",
    "touches",
]

Severity = Literal["error", "warning", "note"]
_RANK: dict[Severity, int] = {"error": 0, "warning": 1, "note": 2}
_SECRETS = re.compile(
    r"(?<=hf_)[A-Za-z0-9]{16,}"  # Hugging Face
    r"|(?<=gh[opsu]_)[A-Za-z0-9]{16,}"  # GitHub
    r"|(?<=ya29\.)[\w.-]{16,}"  # Google access token
    r"|(?<=AIza)[\w-]{16,}"  # Google API key
    r"|(?<=GOCSPX-)[\w-]{16,}"  # secret of an OAuth client
    r"|(?<=-----BEGIN).*"  # a private key, up to the end of the text
    r"|(?<=://)[^/\s@]+:[^/\s@]+(?=@)",  # user and password in an address
    re.DOTALL,
)
_SHOWN_CHARACTERS = 400
"""Longest value in a message: whole sections are values too."""


def _hidden(data: Any) -> Any:
    """``data`` with everything that looks like a credential hidden: messages end up in logs of CI and of Pulumi."""
    if isinstance(data, str):
        return _SECRETS.sub("[hidden]", data)
    if isinstance(data, Mapping):
        return {_hidden(key): _hidden(value) for key, value in data.items()}
    return [_hidden(item) for item in data] if isinstance(data, list | tuple) else data


@dataclass(frozen=True)
class Problem:
    """One finding about one value.

    ``path`` is where the user changes it (``serving.engine.version``), ``value`` what stands there, ``why`` the
    reason it cannot work, ``allowed`` what can, ``remedy`` what to do, ``where`` the file that holds the value,
    ``source`` who says so. Text that looks like a credential is hidden.
    """

    rule: str
    path: str
    why: str
    remedy: str
    value: object = None
    allowed: str = ""
    where: str = ""
    source: str = ""
    severity: Severity = "error"

    def __post_init__(self) -> None:
        for name in ("path", "why", "remedy", "value", "allowed"):
            object.__setattr__(self, name, _hidden(getattr(self, name)))

    def to_json(self) -> dict[str, object]:
        """Return the record as JSON-ready data, keys in declaration order."""
        return asdict(self) | {"value": json.loads(_json(self.value))}


class ProblemsFound(Exception):  # noqa: N818 - it carries findings; it is not one error
    """Raised when a stack cannot be planned; carries every problem, not the first."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = ordered(problems)
        super().__init__(to_text(self.problems))


class EnvironmentProblem(Exception):  # noqa: N818 - read by users as a problem with their machine
    """A tool or service is missing or broken; the text says which and how to get it (exit code 3)."""


def has_errors(problems: Iterable[Problem]) -> bool:
    """Tell whether any problem stops an apply."""
    return any(p.severity == "error" for p in problems)


def touches(path: str, others: Collection[str]) -> bool:
    """Tell whether ``path`` is one of ``others``, inside one of them or around one."""
    return any(path == o or path.startswith(f"{o}.") or o.startswith(f"{path}.") for o in others)


def ordered(problems: Iterable[Problem]) -> list[Problem]:
    """Sort by severity, then path and rule, and drop exact repeats: the same stack always prints the same text."""
    unique = {(_RANK[p.severity], p.path, p.rule, p.why, repr(p.value), p.where): p for p in problems}
    return [unique[key] for key in sorted(unique)]


def _json(value: object) -> str:
    return json.dumps(value, default=str, sort_keys=True, ensure_ascii=False)


def _reads_as_text(value: str) -> bool:
    try:
        return isinstance(yaml.safe_load(value), str)
    except (yaml.YAMLError, ValueError, RecursionError):
        return True


def _shown(value: object) -> str:
    """Write a value as YAML would need it: text that reads like something else keeps its quotes."""
    plain = isinstance(value, str) and value.isprintable() and _reads_as_text(value)
    text = str(value) if plain else _json(value)
    return text if len(text) <= _SHOWN_CHARACTERS else f"{text[:_SHOWN_CHARACTERS]} ..."


def _visible(line: str) -> str:
    """Write out what a terminal would obey or hide: escapes, control characters, marks that turn text round."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in line)


def to_text(problems: Sequence[Problem]) -> str:
    """Render problems as the text that plan, preview and up all print."""
    blocks = []
    for p in problems:
        head = f"{p.severity}[{p.rule}] {p.path}"
        lines = [head if p.value is None else f"{head} = {_shown(p.value)}", f"  why:     {p.why}"]
        lines += [f"  allowed: {p.allowed}"] if p.allowed else []
        lines += [f"  remedy:  {p.remedy}"]
        lines += [f"  where:   {p.where}"] if p.where else []
        lines += [f"  source:  {p.source}"] if p.source else []
        blocks.append("\n".join(map(_visible, lines)))
    return "\n".join(blocks)


_HEAD = re.compile(r"(?P<severity>error|warning|note)\[(?P<rule>[a-z0-9-]+)\] (?P<path>.*?)(?: = (?P<value>.*))?")
_LINE = re.compile(r"  (?P<name>why|allowed|remedy|where|source): +(?P<text>.*)")


def problems_in(text: str) -> list[Problem]:
    """Read problems back out of a text that ``to_text`` wrote, as an engine repeats it."""
    found: list[dict[str, Any]] = []
    for line in text.splitlines():
        if head := _HEAD.fullmatch(line):
            found.append({**head.groupdict(), "value": _read(head["value"]), "why": "", "remedy": ""})
        elif found and (part := _LINE.fullmatch(line)):
            found[-1][part["name"]] = part["text"]
    return [Problem(**fields) for fields in found]


def _read(shown: str | None) -> object:
    try:
        return json.loads(shown) if shown is not None else None
    except ValueError:
        return shown
