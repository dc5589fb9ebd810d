"""Objects as YAML files, for GitOps: what ``beamline render`` writes.

The same objects always give the same bytes. File names have the object's area and its place there, so that applying
the files in order of name respects what each needs first. Nothing of Pulumi is in them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, get_args

import yaml

from manifests.objects import Area, KubernetesObject

__all__ = ["write"]


class _Dumper(yaml.SafeDumper):
    """Block style throughout, texts of several lines as literal blocks, and no anchors."""

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002 - PyYAML's signature
        """Write a value again where it occurs again."""
        return True


def _text(dumper: yaml.SafeDumper, value: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style="|" if "\n" in value else None)


_Dumper.add_representer(str, _text)


def write(objects: Sequence[KubernetesObject]) -> dict[str, str]:
    """Return file texts by file name, one object each, in the order given, which is that of the names too."""
    areas = get_args(Area)
    places: Counter[Area] = Counter()
    files = {}
    for item in objects:
        places[item.area] += 1
        name = f"{areas.index(item.area) + 1}-{item.area}-{places[item.area]:02d}-{item.name}.yaml"
        files[name] = _yaml(item.body)
    return files


def _yaml(body: Mapping[str, Any]) -> str:
    text: str = yaml.dump(dict(body), Dumper=_Dumper, sort_keys=False, width=1000, allow_unicode=True)
    return text
