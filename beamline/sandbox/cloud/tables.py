"""The simulated cloud's own tables: YAML files beside this one."""

from pathlib import Path
from typing import Any

import yaml

__all__ = ["table"]


def table(name: str) -> Any:
    """Read one table. On libyaml: the provider is started anew by each Pulumi command, and reads all of them."""
    return yaml.load((Path(__file__).parent / name).read_text(encoding="utf-8"), Loader=yaml.CSafeLoader)
