"""Prometheus' text format."""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["exposition"]

_HELP = {
    "used_bytes": "Allocated bytes below the root, all kinds of files",
    "files": "Block files",
    "other_bytes": "Allocated bytes that are no blocks of the tier and are never removed",
    "disk_free_bytes": "Free bytes of the file system",
    "oldest_use_age_seconds": "Age of the least recently used block: the reuse horizon once the tier is full",
    "scan_seconds": "Duration of the last walk",
    "capacity_bytes": "Bound of used_bytes",
    "high_water_bytes": "Where eviction starts",
    "low_water_bytes": "Where eviction ends",
    "reads_recorded": "1 where the mount records reads; 0: blocks go by the time they were written",
    "heartbeat_age_seconds": "Since the loop last made progress",
    "scans": "Walks over the tree",
    "evicted_files": "Blocks removed",
    "evicted_bytes": "Allocated bytes of blocks removed",
    "skipped": "Files that were due and stayed, by reason",
    "errors": "Failed system calls, by errno",
    "temporary_files_removed": "Files of writers that died",
    "folders_removed": "Folders that were empty for long",
}
_LABELS = {"skipped": "reason", "errors": "errno"}
_PLAIN = ("scans", "evicted_files", "evicted_bytes", "temporary_files_removed", "folders_removed")


def exposition(gauges: Mapping[str, float], counts: Mapping[tuple[str, str], int]) -> str:
    """Prometheus' text format."""
    lines: list[str] = []
    for name, value in gauges.items():
        lines += [*_header(name, "gauge"), f"beamline_kv_evictor_{name} {float(value):.15g}"]
    found = {**{(name, ""): 0 for name in _PLAIN}, **counts}
    for name in sorted({name for name, _ in found}):
        total = f"{name}_total"
        lines += _header(total, "counter")
        for (_, label), value in sorted(item for item in found.items() if item[0][0] == name):
            labels = f'{{{_LABELS[name]}="{label}"}}' if label else ""
            lines.append(f"beamline_kv_evictor_{total}{labels} {value}")
    return "\n".join([*lines, ""])


def _header(name: str, kind: str) -> list[str]:
    full = f"beamline_kv_evictor_{name}"
    return [f"# HELP {full} {_HELP[name.removesuffix('_total')]}.", f"# TYPE {full} {kind}"]
