"""The scripts that run on nodes, run here: copying, being killed, resuming, replacing, waiting.

The tools they call (gcloud, hf, df, sleep) are stand-ins; the shell, the locks and the files are real.
"""

from __future__ import annotations

import os
import stat
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

SHELL = Path(__file__).parents[2] / "manifests" / "shell"

COPY = """#!/bin/sh
# Copies what is missing from $ORIGIN to the destination; dies after $DIE_AFTER files, if set.
for last; do :; done
echo "${0##*/} $*" >>"$CALLS"
count=0
for file in "$ORIGIN"/*; do
  name=${file##*/}
  [ -f "$last/$name" ] && continue
  [ "$count" = "${DIE_AFTER:-none}" ] && kill -9 $$
  cp "$file" "$last/$name"
  echo "fetched $name" >>"$CALLS"
  count=$((count + 1))
done
"""
DF = '#!/bin/sh\nset -- $FREE; printf "Avail\\n%s\\n" "$1"\n'
QUIT = "#!/bin/sh\nexit 0\n"


@dataclass
class Node:
    """A node's weights folder, an origin of weights, and the stand-ins for the tools."""

    folder: Path

    @property
    def root(self) -> Path:
        return self.folder / "weights"

    @property
    def calls(self) -> list[str]:
        log = self.folder / "calls"
        return log.read_text().splitlines() if log.exists() else []

    def seed(
        self, key: str, marker: str, *source: str, keep: str = "", **extra: str
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["/bin/sh", str(SHELL / "seed.sh"), *(source or ("bucket", marker))],
            env=self.environment(KEY=key, MARKER=marker, KEEP=keep or key, **extra),
            capture_output=True,
            text=True,
            check=False,
        )

    def environment(self, **extra: str) -> dict[str, str]:
        return {
            "PATH": f"{self.folder / 'bin'}:{os.environ['PATH']}",
            "ROOT": str(self.root),
            "ORIGIN": str(self.folder / "origin"),
            "CALLS": str(self.folder / "calls"),
            "BYTES": "10",
            "FREE": "1000",
            **extra,
        }

    def whole(self, key: str) -> str | None:
        """The marker of a set, if it is complete."""
        marker = self.root / key / ".complete"
        return marker.read_text() if marker.exists() else None

    def files(self, key: str) -> list[str]:
        return sorted(p.name for p in (self.root / key).iterdir())


@pytest.fixture
def node(tmp_path: Path) -> Node:
    (tmp_path / "weights").mkdir()
    (tmp_path / "origin").mkdir()
    for name in ("config.json", "model-1.safetensors", "model-2.safetensors"):
        (tmp_path / "origin" / name).write_text(name)
    (tmp_path / "bin").mkdir()
    for tool, text in {"gcloud": COPY, "hf": COPY, "df": DF, "sleep": QUIT}.items():
        path = tmp_path / "bin" / tool
        path.write_text(text)
        path.chmod(0o755)
    return Node(tmp_path)


def test_a_bucket_is_copied_and_marked(node: Node) -> None:
    done = node.seed("model-1", "gs://bucket/a")
    assert done.returncode == 0, done.stderr
    assert node.whole("model-1") == "gs://bucket/a\n"
    assert node.files("model-1") == [".complete", "config.json", "model-1.safetensors", "model-2.safetensors"]
    assert node.calls[0] == f"gcloud storage rsync --recursive gs://bucket/a {node.root}/model-1"


def test_the_hub_is_asked_for_one_commit_and_leaves_no_bookkeeping(node: Node) -> None:
    (node.root / "model-1" / ".cache").mkdir(parents=True)
    done = node.seed("model-1", "https://huggingface.co/o/m@abc", "huggingface", "o/m", "abc", HF_TOKEN_PATH="/t")
    assert done.returncode == 0, done.stderr
    assert node.calls[0] == f"hf download o/m --revision abc --local-dir {node.root}/model-1"
    assert ".cache" not in node.files("model-1")


def test_what_is_whole_is_not_fetched_again(node: Node) -> None:
    node.seed("model-1", "gs://bucket/a")
    before = node.calls
    assert node.seed("model-1", "gs://bucket/a").returncode == 0
    assert node.calls == before


def test_a_killed_copy_is_not_trusted_and_goes_on_where_it_stopped(node: Node) -> None:
    assert node.seed("model-1", "gs://bucket/a", DIE_AFTER="2").returncode != 0
    assert node.whole("model-1") is None
    assert node.seed("model-1", "gs://bucket/a").returncode == 0
    assert node.whole("model-1") == "gs://bucket/a\n"
    fetched = [line for line in node.calls if line.startswith("fetched")]
    assert fetched == ["fetched config.json", "fetched model-1.safetensors", "fetched model-2.safetensors"]


def test_a_folder_marked_by_something_else_is_filled_anew(node: Node) -> None:
    (node.root / "model-1").mkdir()
    (node.root / "model-1" / ".complete").write_text("gs://elsewhere\n")
    assert node.seed("model-1", "gs://bucket/a").returncode == 0
    assert node.whole("model-1") == "gs://bucket/a\n"


def test_an_old_revision_goes_only_when_the_new_one_is_whole(node: Node) -> None:
    node.seed("model-1", "gs://bucket/a")
    node.seed("model-2", "gs://bucket/b", DIE_AFTER="1")
    assert node.whole("model-1") == "gs://bucket/a\n"
    node.seed("model-2", "gs://bucket/b")
    assert node.whole("model-2") == "gs://bucket/b\n"
    assert not (node.root / "model-1").exists()


def test_an_old_revision_stays_until_every_set_of_the_new_one_is_whole(node: Node) -> None:
    node.seed("model-1", "gs://bucket/a")
    node.seed("model-2", "gs://bucket/b", keep="model-2 drafter-2")
    assert (node.root / "model-1").exists()
    node.seed("drafter-2", "gs://bucket/d", keep="model-2 drafter-2")
    assert sorted(p.name for p in node.root.iterdir() if not p.name.startswith(".")) == ["drafter-2", "model-2"]


def test_a_full_disk_is_said_and_costs_the_old_revision_first(node: Node) -> None:
    node.seed("model-1", "gs://bucket/a")
    done = node.seed("model-2", "gs://bucket/b", BYTES="100000000", FREE="10")
    assert done.returncode == 1
    assert "are missing and only 10 are free on the node's local SSD" in done.stderr
    assert not (node.root / "model-1").exists()
    assert node.whole("model-2") is None


def test_an_empty_source_is_no_checkpoint(node: Node) -> None:
    for path in (node.folder / "origin").iterdir():
        path.unlink()
    (node.folder / "origin" / "README").write_text("")
    done = node.seed("model-1", "gs://bucket/a")
    assert done.returncode == 1
    assert "model-1: no config.json in gs://bucket/a: this is no checkpoint" in done.stderr
    assert node.whole("model-1") is None


def test_another_user_may_read_what_was_fetched(node: Node) -> None:
    for path in (node.folder / "origin").iterdir():
        path.chmod(0o600)
    node.seed("model-1", "gs://bucket/a")
    modes = {p.name: stat.S_IMODE(p.stat().st_mode) for p in (node.root / "model-1").iterdir()}
    assert {name for name, mode in modes.items() if not mode & stat.S_IROTH} == set()


def test_a_second_seeder_waits_for_the_first(node: Node) -> None:
    """The first one's tool stops in the middle until the second runs; then only one has fetched."""
    gate = node.folder / "gate"
    os.mkfifo(gate)
    tool = node.folder / "bin" / "gcloud"
    tool.write_text(COPY.replace("count=0", f'count=0; cat "{gate}" >/dev/null'))
    environment = node.environment(KEY="model-1", MARKER="gs://bucket/a", KEEP="model-1")
    command = ["/bin/sh", str(SHELL / "seed.sh"), "bucket", "gs://bucket/a"]
    with subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL) as first:
        opened = gate.open("w")  # returns when the first one's tool is there
        with subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL) as second:
            opened.close()
            assert (first.wait(), second.wait()) == (0, 0)
    assert len([line for line in node.calls if line.startswith("gcloud")]) == 1


def test_an_engine_waits_until_every_set_is_whole(node: Node) -> None:
    """``sleep`` stands for the time in which a seeder finishes: each call completes one more set."""
    for key in ("model-1", "drafter-1"):
        (node.root / key).mkdir()
    (node.root / "model-1" / ".complete").write_text("gs://elsewhere\n")
    finish = (
        f"#!/bin/sh\ncd {node.root}\nif [ -f .one ]; then echo gs://d >drafter-1/.complete; "
        "else touch .one; echo gs://m >model-1/.complete; fi\n"
    )
    (node.folder / "bin" / "sleep").write_text(finish)
    done = subprocess.run(
        [
            *("/bin/sh", "-c", (SHELL / "await-weights.sh").read_text(), "await-weights"),
            *(str(node.root / "model-1"), "gs://m", str(node.root / "drafter-1"), "gs://d"),
        ],
        env=node.environment(),
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.splitlines() == ["waiting for gs://m", "waiting for gs://d"]
