"""The typed stack: what the user writes, checked and completed. Pure; imports no Pulumi.

``resolve`` turns a stack file's config into a ``StackSpec`` or raises ``ProblemsFound`` with everything that is wrong.
"""

from __future__ import annotations

from stacks.problems import EnvironmentProblem, Problem, ProblemsFound, has_errors, ordered, to_text
from stacks.resolve import StackSpec, resolve

__all__ = [
    "EnvironmentProblem",
    "Problem",
    "ProblemsFound",
    "StackSpec",
    "has_errors",
    "ordered",
    "resolve",
    "to_text",
]
