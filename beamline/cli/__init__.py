"""The command line: one file per verb, over rooms that do the work.

stdout is a verb's result, problems included; stderr is progress and what is wrong with the machine. Exit codes: 0 fine,
1 problems, 2 wrong usage, 3 environment. Verbs that need no Pulumi import none, so they start at once.
"""

from __future__ import annotations

from beamline.cli.app import app, main

__all__ = ["app", "main"]
