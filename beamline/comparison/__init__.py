"""What differs between two stacks, in the words of whoever reads a preset, a flag or a manifest.

Pure functions over plans that were made elsewhere: nothing here plans, and nothing here writes. ``compare`` is the way
in; ``differences`` is what it rests on, and takes any two pieces of JSON-like data.
"""

from __future__ import annotations

from beamline.comparison.compare import Comparison, FeatureChange, NumberChange, compare
from beamline.comparison.differences import differences
from beamline.comparison.embedded import parsed
from beamline.comparison.model import Change, Difference, Opaque, Path, written
from beamline.comparison.resources import ResourceChange

__all__ = [
    "Change",
    "Comparison",
    "Difference",
    "FeatureChange",
    "NumberChange",
    "Opaque",
    "Path",
    "ResourceChange",
    "compare",
    "differences",
    "parsed",
    "written",
]
