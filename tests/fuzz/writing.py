"""Writes drawn data as YAML: text in quotes, traps of YAML exactly as they are."""

from __future__ import annotations

import re
from typing import Any

import yaml
from hypothesis import strategies as st

__all__ = ["FILE_TRAPS", "TRAPS", "AsIs", "written"]


class AsIs(str):
    """Text that goes into the file as it is: YAML decides what it means."""

    __slots__ = ()

    def __repr__(self) -> str:
        """Show it as something else than the same text in quotes."""
        return f"AsIs({str(self)!r})"


_WORDS = "yes off On y ~ null NULL TRUE truE 012 0o17 0x1F 0b11 1_000 +7 -0 1e3 1E400 8. .5 1.30 1.35.8 12:30:45"
_BEYOND = ".inf -.INF .nan .NaN NaN Infinity 9223372036854775808 2026-1-1 2026-02-30 2026-11-01T00:00:00Z"
_PHRASES = (
    *("", "1" + "0" * 400, "2026-11-01 24:00:00", "8 # eight", "8#eight", "a: b", "- 8", "|\n  8", "\t8"),
    *("!!str 8", "!!int '8'", "!!float x", "!!binary aGk=", "!!python/name:os.system", "!!set {a}", "!x 1"),
    *("&a [*a]", "*gone", "{<<: {kind: none}}", "{<<: 1}", "{? [a] : b}", "{1: a}", "{a: 1, a: 2}"),
    *("[1, 2", "{a: 1", "'", "%", "@", "${env:HOME}", "[secret]", "{secure: AAAA}"),
    *('"\\ud800"', '"\\u0007"', '"\\x9b31m"', '"\\u202e"', '"\\0"', "\x07"),
)
TRAPS = tuple(map(AsIs, (*_WORDS.split(), *_BEYOND.split(), *_PHRASES)))
"""What YAML 1.1, YAML 1.2, Go and Python read differently, and what no reader should take."""

FILE_TRAPS = {
    "as it is": lambda text: text,
    "Windows line ends": lambda text: text.replace("\n", "\r\n"),
    "byte order mark": lambda text: "\ufeff" + text,
    "two documents": lambda text: f"{text}---\n{text}",
    "tabs": lambda text: text.replace("    ", "\t"),
    "cut off": lambda text: text[: len(text) * 2 // 3],
    "said twice": lambda text: text + text,
    "control character": lambda text: text + "\x1b[31m",
    "empty": lambda _: "",
}
"""What may happen to a whole file."""


class _Quoting(yaml.SafeDumper):
    """Puts all text in quotes: PyYAML leaves bare what it takes for text, and YAML 1.2 for a number."""

    def ignore_aliases(self, _data: Any) -> bool:
        """Write what stands in two places twice: an alias is a trap of its own."""
        return True


_Quoting.add_representer(str, lambda dumper, text: dumper.represent_scalar("tag:yaml.org,2002:str", text, style='"'))
_Quoting.add_representer(
    AsIs, lambda dumper, text: dumper.represent_scalar("tag:yaml.org,2002:str", f"as-is-{TRAPS.index(text)}", style='"')
)


def written(data: Any) -> str:
    """Return ``data`` as YAML text."""
    text = yaml.dump(data, Dumper=_Quoting, sort_keys=False, allow_unicode=True)
    return re.sub(r'"as-is-(\d+)"', lambda found: TRAPS[int(found[1])], text)


SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(10**30), 10**30),
    st.integers(-2, 40),
    st.floats(),
    st.dates(),
    st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=12),
    st.sampled_from(TRAPS),
)
"""Any single value."""
