"""What `beamline check` found, in the formats that CI systems read: SARIF, JUnit, GitHub's annotations.

Each is a pure function from verdicts to text. Text for people and the kit's own JSON are the command line's.
"""

from __future__ import annotations

from beamline.check_formats.annotations import to_annotations
from beamline.check_formats.baseline import beside, gone, read_baseline
from beamline.check_formats.junit import to_junit
from beamline.check_formats.sarif import to_sarif
from beamline.check_formats.verdicts import Verdict

__all__ = ["Verdict", "beside", "gone", "read_baseline", "to_annotations", "to_junit", "to_sarif"]
