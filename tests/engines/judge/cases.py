"""A case in the hands of an engine: the same stages for all, each ended by whatever the engine raises."""

from __future__ import annotations

import argparse
import contextlib
import os
from collections.abc import Callable, Iterator, Mapping
from typing import Any

__all__ = ["Verdict", "environment", "exact", "unknown_variables"]

_PLACES = ("_ROOT", "_PATH", "_DIR", "_BASE")
"""Endings of variables that name folders of the container; nothing is written there."""


class Verdict:
    """What was judged of one case, and what was refused."""

    def __init__(self, case: Mapping[str, Any]) -> None:
        self._answer: dict[str, Any] = {"name": case["name"], "flags": 0, "variables": 0, "refused": []}

    def count(self, what: str, number: int) -> None:
        """Remember how much was judged."""
        self._answer[what] = number

    def measure(self, capacity: Any) -> None:
        """Remember what the engine makes of its memory."""
        self._answer["capacity"] = capacity

    def keep_in_host(self, host_tier_tokens: int | None) -> None:
        """Remember what the engine makes of its tier in host memory."""
        self._answer["host_tier_tokens"] = host_tier_tokens

    def refuse(self, stage: str, message: str) -> None:
        """Write a refusal down."""
        self._answer["refused"].append({"stage": stage, "message": " ".join(message.split())[:600]})

    def stage(self, name: str, step: Callable[[], Any]) -> Any:
        """Run one step; None when the engine refuses."""
        try:
            return step()
        except (Exception, SystemExit) as error:  # noqa: BLE001 - engines refuse in every way there is
            self.refuse(name, f"{type(error).__name__}: {error}")
            return None

    def to_json(self) -> dict[str, Any]:
        """The verdict."""
        return self._answer


def exact(parser_class: type[argparse.ArgumentParser]) -> type[argparse.ArgumentParser]:
    """Return a parser that takes no abbreviation of a flag and raises in place of ending the process."""

    class Exact(parser_class):  # type: ignore[misc, valid-type]
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            super().__init__(*args, **{**kwargs, "allow_abbrev": False})

        def error(self, message: str) -> None:
            raise ValueError(message)

    return Exact


@contextlib.contextmanager
def environment(variables: Mapping[str, str], prefixes: tuple[str, ...]) -> Iterator[None]:
    """Set a container's variables of these prefixes, but for those that name its folders."""
    kept = dict(os.environ)
    ours = {k: v for k, v in variables.items() if k.startswith(prefixes) and not k.endswith(_PLACES)}
    os.environ.update(ours)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(kept)


def unknown_variables(variables: Mapping[str, str], prefixes: tuple[str, ...], known: set[str]) -> list[str]:
    """Return the variables of these prefixes that the engine does not know."""
    return sorted(name for name in variables if name.startswith(prefixes) and name not in known)
