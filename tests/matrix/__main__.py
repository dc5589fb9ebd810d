"""``make matrix``: print docs/matrix.md as it must be now."""

from __future__ import annotations

import sys

from tests.matrix.page import matrix_page

if __name__ == "__main__":
    sys.stdout.write(matrix_page())
