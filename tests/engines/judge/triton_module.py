"""A stand-in for Triton: SGLang imports it wherever a kernel is, and judging arguments runs none of them.

The real one is a gigabyte. PyTorch must not see the stand-in, so it looks for Triton first and remembers the answer.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import sys
import types
from typing import Any

__all__ = ["stand_in"]


class _Anything(types.ModuleType):
    """A module that has every name: classes for capitalized ones, else further modules that can be called."""

    __path__: list[str] = []  # noqa: RUF012 - what makes it a package
    __version__ = "0"

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        found: Any = type(name, (), {}) if name[:1].isupper() else _Anything(f"{self.__name__}.{name}")
        setattr(self, name, found)
        return found

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """As a decorator it leaves the function as it is."""
        return args[0] if len(args) == 1 and callable(args[0]) and not kwargs else self

    def __getitem__(self, key: Any) -> Any:
        return self

    def __or__(self, other: Any) -> Any:
        return self


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(self, name: str, *_: Any) -> importlib.machinery.ModuleSpec | None:
        if name.split(".", maxsplit=1)[0] != "triton":
            return None
        return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType:
        return _Anything(spec.name)

    def exec_module(self, module: types.ModuleType) -> None:
        """Nothing is in it."""


def stand_in() -> None:
    """Let every import of Triton that follows find the stand-in."""
    import functorch.compile
    import torch.utils._triton
    import torch.utils.flop_counter

    del functorch
    torch.utils._triton.has_triton_package()
    sys.meta_path.insert(0, _Finder())
