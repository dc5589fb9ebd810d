"""Columns of a hardware row: each is known by name, form and place, whatever columns rows get."""

from __future__ import annotations

from stacks.catalog_files import load_catalog
from stacks.columns import Column, hardware_columns, is_unfinished

GROUPS = hardware_columns()
COLUMNS = {column.path: column for group in GROUPS for column in group.columns}
LOOK_IN = load_catalog().hardware_columns


def test_columns_are_those_of_the_rows() -> None:
    """A shipped row has every column without a default, and no other."""
    for row in load_catalog().hardware.values():
        said = row.model_dump(exclude_unset=True)
        paths = {name for name, value in said.items() if not isinstance(value, dict)}
        paths |= {f"{name}.{key}" for name, group in said.items() if isinstance(group, dict) for key in group}
        required = {path for path, column in COLUMNS.items() if column.default is None}
        optional_groups = {path for path, column in COLUMNS.items() if "." not in path and column.default is not None}
        assert required <= paths
        assert {path for path in paths if path.partition(".")[0] not in optional_groups} <= set(COLUMNS)


def test_every_column_has_a_place_and_every_place_a_column() -> None:
    groups = {group.name for group in GROUPS if group.name}
    assert [path for path in COLUMNS if not LOOK_IN.place_of(path)] == []
    assert set(LOOK_IN.look_in) <= groups | set(COLUMNS)


def test_a_column_says_its_unit_and_its_form() -> None:
    assert COLUMNS["machine.network_gbps"] == Column("machine.network_gbps", "", "Gbit/s", "a whole number", None)
    assert COLUMNS["gpu.memory_mib_per_gpu"].unit == "MiB"
    assert COLUMNS["gpu.nccl_p2p_level"].allowed == "PHB or SYS or null"
    assert COLUMNS["gke.known_bad_versions"].default == "{}"
    assert COLUMNS["gke.taints"].allowed == "a list: a taint, key=value:effect"
    assert COLUMNS["throughput.boot_s"].unit == "seconds"


def test_no_shipped_row_is_unfinished() -> None:
    catalog = load_catalog()
    assert catalog.unfinished == {}
    assert not any(is_unfinished(row.model_dump()) for row in catalog.hardware.values())
    assert is_unfinished({"a": [{"b": "<missing>"}]})
