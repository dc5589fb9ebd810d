"""The script that makes a file system of raw local SSDs, run here: first boot, reboot, kills, disks of somebody else.

Disks are files, the tools that need a kernel (mdadm, mkfs.ext4, blkid, mount) are stand-ins that write on them what the
real ones would let others see; the shell, dd and the folders are real.
"""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "manifests" / "shell" / "local-ssd.sh"
RAID = "Raid Level : raid0\n  Name : any:beamline"

# The state of the array is two files: what is on it, and whether the kernel has started it.
STAND_INS = {
    "mdadm": """
case "$1" in
  --examine)
    case "$2" in *"/${UNREADABLE:-none}") exit 137 ;; esac
    grep -a "MBR Magic" "$2" || grep -a -A1 "Raid Level" "$2" ||
      { echo "mdadm: No md superblock detected on $2." >&2; exit 1; } ;;
  --stop) echo "stop $2" >>"$CALLS" ;;
  --create)
    echo create >>"$CALLS"
    for disk; do
      case $disk in
        "$HERE"/disk-*)
          [ "${DIE_AT:-}" = "create" ] && [ "$disk" = "$HERE/disk-2" ] && kill -9 "$PPID" && exit 137
          printf 'Raid Level : raid0\\n  Name : any:beamline\\n' >"$disk" ;;
      esac
    done ;;
  --assemble) echo assemble >>"$CALLS" ;;
esac
""",
    "blkid": """
for device; do :; done
[ -n "${BLKID_ENDS:-}" ] && exit "$BLKID_ENDS"
case $device in
  "$HERE"/disk-*) grep -a -q foreign "$device" && echo TYPE=foreign || exit 2 ;;
  *) [ -s "$HERE/array" ] || exit 2
     sed 's/\\(.*\\):\\(.*\\)/TYPE=\\1 LABEL=\\2/' "$HERE/array" | tr ' ' '\\n' ;;
esac
""",
    "mkfs.ext4": """
[ "${DIE_AT:-}" = "mkfs" ] && kill -9 "$PPID" && exit 137
echo "mkfs $*" >>"$CALLS"
echo ext4:beamline >"$HERE/array"
""",
    "mount": """
echo "mount $*" >>"$CALLS"
for last; do :; done
echo "$HERE/array $last ext4 rw" >>"$MOUNTS"
""",
    "sleep": "exit 1",
}


@dataclass
class Node:
    """A node with four disks."""

    folder: Path

    @property
    def mount(self) -> Path:
        return self.folder / "ssd"

    @property
    def calls(self) -> list[str]:
        """What was done to disks, each kind of step once in a row."""
        log = self.folder / "calls"
        steps = [line.split()[0] for line in log.read_text().splitlines()] if log.exists() else []
        return [step for step, _ in groupby(steps)]

    def hold(self, state: str) -> None:
        """Let the kernel have an array of the disks, as it makes at boot."""
        for number in range(4):
            (self.folder / "blocks" / f"disk-{number}" / "holders" / "md127").mkdir(parents=True)
        (self.folder / "blocks" / "md127" / "md").mkdir(parents=True)
        (self.folder / "blocks" / "md127" / "md" / "array_state").write_text(f"{state}\n")

    def disk(self, number: int) -> Path:
        return self.folder / f"disk-{number}"

    def run(self, *, disks: int = 4, **trouble: str) -> subprocess.CompletedProcess[str]:
        """``trouble`` is what the stand-ins read: DIE_AT, UNREADABLE (a disk), BLKID_ENDS (an exit code)."""
        (self.folder / "calls").unlink(missing_ok=True)
        return subprocess.run(
            ["/bin/sh", "-c", SCRIPT.read_text(encoding="utf-8"), "local-ssd"],
            env={
                "PATH": f"{self.folder / 'bin'}:{os.environ['PATH']}",
                "HERE": str(self.folder),
                "CALLS": str(self.folder / "calls"),
                "DISKS": str(disks),
                "MOUNT": str(self.mount),
                "BY_ID": str(self.folder / "by-id"),
                "BLOCKS": str(self.folder / "blocks"),
                "MOUNTS": str(self.folder / "mounts"),
                "PODS": str(self.folder / "pods"),
                **trouble,
            },
            capture_output=True,
            text=True,
            check=False,
        )

    def reboot(self) -> None:
        """The mount is gone, and the folders with it; disks keep what they hold."""
        (self.folder / "mounts").write_text("")
        self.mount.rename(self.folder / "ssd-unmounted")


@pytest.fixture
def node(tmp_path: Path) -> Node:
    for name in ("bin", "by-id", "blocks", "pods"):
        (tmp_path / name).mkdir()
    for tool, text in STAND_INS.items():
        path = tmp_path / "bin" / tool
        path.write_text(f"#!/bin/sh\n{text}")
        path.chmod(0o755)
    # Real dd would make each disk 256 MiB: the stand-in blanks it.
    dd = tmp_path / "bin" / "dd"
    dd.write_text('#!/bin/sh\necho dd >>"$CALLS"\nfor a; do case $a in of=*) : >"${a#of=}";; esac; done\n')
    dd.chmod(0o755)
    for number in range(4):
        (tmp_path / f"disk-{number}").write_text("")
        (tmp_path / "by-id" / f"google-local-nvme-ssd-block{number}").symlink_to(tmp_path / f"disk-{number}")
    (tmp_path / "by-id" / "google-local-ssd-block0").symlink_to(tmp_path / "disk-0")  # the other name of the first
    (tmp_path / "by-id" / "google-persistent-disk-0").symlink_to(tmp_path / "array")
    (tmp_path / "array").write_text("")
    (tmp_path / "mounts").write_text("")
    return Node(tmp_path)


def test_blank_disks_become_one_file_system(node: Node) -> None:
    done = node.run()
    assert done.returncode == 0, done.stderr
    assert node.calls == ["dd", "create", "mkfs", "mount"]
    assert sorted(path.name for path in node.mount.iterdir()) == ["kv-tier", "weights"]
    assert (node.mount / "kv-tier").stat().st_mode & 0o777 == 0o777


def test_a_second_run_changes_nothing(node: Node) -> None:
    node.run()
    (node.mount / "weights" / "file").write_text("kept")
    done = node.run()
    assert (done.returncode, node.calls) == (0, ["assemble"])
    assert (node.mount / "weights" / "file").read_text() == "kept"


def test_after_a_reboot_the_file_system_is_mounted_again(node: Node) -> None:
    """It is not formatted, and until it is mounted there is no folder that a pod could start on."""
    node.run()
    node.reboot()
    assert not node.mount.exists()
    done = node.run()
    assert (done.returncode, node.calls) == (0, ["assemble", "mount"])


def test_an_array_that_the_kernel_started_is_used_as_it_is(node: Node) -> None:
    node.run()
    node.reboot()
    node.hold("clean")
    assert node.run().returncode == 0
    assert node.calls == ["mount"]
    log = (node.folder / "calls").read_text()
    assert "/dev/md127" in log


@pytest.mark.parametrize(
    ("step", "after"), [("create", ["dd", "create", "mkfs", "mount"]), ("mkfs", ["assemble", "mkfs", "mount"])]
)
def test_killed_in_a_step_the_next_run_ends_it(node: Node, step: str, after: list[str]) -> None:
    assert node.run(DIE_AT=step).returncode != 0
    done = node.run()
    assert (done.returncode, node.calls) == (0, after)


def test_a_new_disk_means_a_new_file_system(node: Node) -> None:
    """Google replaced one of the disks: a quarter of each file is gone, and a new array begins blank."""
    node.run()
    node.reboot()
    node.disk(3).write_text("")
    (node.folder / "array").write_text("")  # what the zeroes leave of the old file system
    done = node.run()
    assert (done.returncode, node.calls) == (0, ["dd", "create", "mkfs", "mount"])


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("foreign", "holds something that is not the kit's"),
        ("   MBR Magic : aa55\n", "holds something that is not the kit's"),
        ("Raid Level : raid0\n  Name : host:other\n", "is part of another array"),
    ],
)
def test_a_disk_of_somebody_else_is_left_alone(node: Node, content: str, says: str) -> None:
    node.disk(1).write_text(content)
    done = node.run()
    assert done.returncode == 1
    assert f"{node.disk(1)} {says}" in done.stderr
    assert node.disk(1).read_text() == content
    assert node.calls == []


@pytest.mark.parametrize("trouble", [{"UNREADABLE": "disk-1"}, {"BLKID_ENDS": "8"}, {"BLKID_ENDS": "137"}])
def test_a_disk_that_cannot_be_looked_at_is_not_taken_for_blank(node: Node, trouble: dict[str, str]) -> None:
    done = node.run(**trouble)
    assert done.returncode == 1
    assert "cannot be looked at" in done.stderr
    assert node.calls == []


def test_a_file_system_that_cannot_be_looked_at_is_not_formatted(node: Node) -> None:
    node.run()
    done = node.run(BLKID_ENDS="8")
    assert done.returncode == 1
    assert node.calls == ["assemble"]


def test_disks_in_use_are_left_alone(node: Node) -> None:
    """A member that lost its superblock under a running array: its file system may still be read."""
    node.run()
    node.hold("clean")
    node.disk(1).write_text("")
    (node.folder / "mounts").write_text("")
    done = node.run()
    assert "is in use by md127; not touched" in done.stderr
    assert node.calls == []


def test_a_mounted_file_system_is_left_alone(node: Node) -> None:
    node.run()
    node.disk(1).write_text("")
    done = node.run()
    assert "is mounted, and yet its disks look blank" in done.stderr
    assert node.calls == []


def test_an_array_that_lacks_a_disk_is_taken_apart_and_made_anew(node: Node) -> None:
    """After a disk was replaced, the kernel holds the others for an array that can never start."""
    node.run()
    node.reboot()
    node.hold("inactive")
    node.disk(3).write_text("")
    (node.folder / "array").write_text("")
    done = node.run()
    assert (done.returncode, node.calls[:3]) == (0, ["stop", "dd", "create"])


@pytest.mark.parametrize("held", ["xfs:beamline", "ext4:other"])
def test_another_file_system_on_the_array_is_left_alone(node: Node, held: str) -> None:
    node.run()
    (node.folder / "array").write_text(f"{held}\n")
    done = node.run()
    assert done.returncode == 1
    assert "not touched" in done.stderr
    assert node.calls == ["assemble"]


def test_a_missing_disk_stops_everything(node: Node) -> None:
    done = node.run(disks=5)
    assert done.returncode == 1
    assert "the node has 4 local SSDs of 5" in done.stderr
    assert node.calls == []


def test_only_tiers_of_pods_that_are_gone_are_removed(node: Node) -> None:
    node.run()
    for uid in ("here", "gone"):
        (node.mount / "kv-tier" / uid).mkdir()
    (node.folder / "pods" / "here").mkdir()
    done = node.run()
    assert "pod gone" in done.stdout
    assert [path.name for path in (node.mount / "kv-tier").iterdir()] == ["here"]


def test_without_the_list_of_pods_no_tier_is_removed(node: Node) -> None:
    node.run()
    (node.mount / "kv-tier" / "here").mkdir()
    (node.folder / "pods").rmdir()
    done = node.run()
    assert (done.returncode, [path.name for path in (node.mount / "kv-tier").iterdir()]) == (1, ["here"])
