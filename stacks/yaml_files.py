"""Reading YAML the strict way: duplicate keys are errors, and a broken file is a problem with its line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from stacks.problems import Problem, ProblemsFound

__all__ = ["read_yaml"]


class _StrictLoader(yaml.SafeLoader):
    """SafeLoader that refuses a key written twice, where PyYAML would silently keep the last."""


def _mapping(loader: _StrictLoader, node: yaml.MappingNode) -> dict[Any, Any]:
    loader.flatten_mapping(node)
    seen: set[Any] = set()
    for key_node, _ in node.value:
        key = loader.construct_object(key_node, deep=True)
        if key in seen:
            raise yaml.constructor.ConstructorError(None, None, f"key {key!r} is written twice", key_node.start_mark)
        seen.add(key)
    return loader.construct_mapping(node, deep=True)


_StrictLoader.add_constructor(yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, _mapping)


def read_yaml(path: Path) -> dict[str, Any]:
    """Read one YAML mapping; raises ``ProblemsFound`` for a missing, unreadable or non-mapping file."""
    try:
        data = yaml.load(path.read_text(encoding="utf-8"), Loader=_StrictLoader)  # noqa: S506 - a SafeLoader
    except OSError as error:
        raise ProblemsFound([_problem(path, f"the file cannot be read: {error.strerror}")]) from error
    except UnicodeDecodeError as error:
        raise ProblemsFound([_problem(path, f"the file is not UTF-8 text: {error.reason}")]) from error
    except yaml.YAMLError as error:
        raise ProblemsFound([_problem(path, f"not valid YAML: {' '.join(str(error).split())}")]) from error
    if not isinstance(data, dict):
        raise ProblemsFound([_problem(path, f"expected a mapping at the top level, found {type(data).__name__}")])
    return data


def _problem(path: Path, why: str) -> Problem:
    return Problem(rule="yaml", path=path.name, why=why, remedy="correct the file and run again", where=str(path))
