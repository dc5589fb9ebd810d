"""``make blue-green``: take the steps in a sandbox, and write docs/blue-green.md."""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

from beamline import sandbox
from beamline.sandbox.home import CHECKOUT
from bench.made_with import made_with
from tests.blue_green.page import page
from tests.blue_green.sequence import NAME, recordings

PAGE = CHECKOUT / "docs" / "blue-green.md"


def main() -> None:
    """Record, take the sandbox down, write the page."""
    made = made_with()
    with tempfile.TemporaryDirectory(prefix="beamline-blue-green-") as folder:
        os.environ["BEAMLINE_HOME"] = folder
        try:
            found = list(recordings(Path(folder)))
        finally:
            sandbox.down(NAME, force=True)
    PAGE.write_text(page(found, "make blue-green", made), encoding="utf-8")
    sys.stderr.write(f"{PAGE}\n")


if __name__ == "__main__":
    main()
