"""Rewrites everything that is generated and committed: ``make golden``. Read the difference before you commit it."""

from __future__ import annotations

import runpy
import sys

from tests.docs.clients_page import CLIENTS, clients_page
from tests.docs.component_pages import COMPONENTS, components_page
from tests.docs.hardware_page import HARDWARE, hardware_page
from tests.docs.kv_blocks_page import KV_BLOCKS, kv_blocks_page
from tests.docs.pages import LADDER, OWNERSHIP, README, ladder_page, ownership_page, readme
from tests.docs.preflight_page import PREFLIGHT, preflight_page
from tests.docs.security_page import SECURITY, security_page
from tests.matrix.page import MATRIX, matrix_page

WRITERS = (
    "stacks.json_schemas",
    "tests.stacks.goldens",
    "tests.stacks.forking.forks",
    "tests.manifests.regenerate",
    "tests.components.goldens",
    "tests.clients.golden",
    "tests.ladder.golden",
    "tests.cli.golden",
)
"""Modules whose ``python -m`` rewrites their own files, in an order that needs no second round."""

if __name__ == "__main__":
    for module in WRITERS:
        sys.stderr.write(f"{module}\n")
        runpy.run_module(module, run_name="__main__")
    COMPONENTS.write_text(components_page())
    CLIENTS.write_text(clients_page())
    HARDWARE.write_text(hardware_page())
    KV_BLOCKS.write_text(kv_blocks_page())
    OWNERSHIP.write_text(ownership_page())
    SECURITY.write_text(security_page())
    MATRIX.write_text(matrix_page())
    PREFLIGHT.write_text(preflight_page())
    LADDER.write_text(ladder_page(LADDER.read_text()))
    README.write_text(readme(README.read_text()))
