"""Rules over the captured resource graph: what types cannot say and a cluster would only say after money was spent.

A rule is a pure function from a graph to findings. ``beamline check`` and the tests run them; nothing here talks to a
cloud, a cluster or the engine.
"""

from __future__ import annotations

from policies.rule import Finding, Rule
from policies.rules import RULES, rule_problems

__all__ = ["RULES", "Finding", "Rule", "rule_problems"]
