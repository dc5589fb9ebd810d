"""Forks plan: whatever preset goes to whatever hardware, the files say what plan accepts, or problems say why not."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
import yaml

from stacks import ProblemsFound, StackSpec, resolve
from stacks.catalog_files import load_catalog
from stacks.columns import MISSING
from stacks.forking import fork
from stacks.preset_files import compose
from stacks.settings import STACKS_DIR, pulumi_config, read_stack_file
from tests.shipped import BESIDE_LADDERS, TOPS
from tests.stacks.forking.forks import GOLDEN, KEPT, copy_of_stacks, filled, text_of, write

HARDWARE = load_catalog().hardware
LARGEST = sorted(
    {row.gpu.accelerator_type: name for name, row in sorted(HARDWARE.items(), key=lambda i: i[1].gpu.count)}.values()
)
"""One machine type for each accelerator: the one with the most GPUs."""
SHAPES = ["a4x-max-dynamo", "a4x-max-llmd", "g4-llmd", "small-l4"]
"""Prefill apart from decode, replicas over two nodes, one replica a node, one GPU."""
NO_ROOM = {(preset, "g2-standard-96") for preset in SHAPES if preset != "small-l4"}
"""A model of 500 billion parameters on L4s, however many a node has."""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return copy_of_stacks(tmp_path)


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One copy for all that leave its catalog as it is, each with a name of its own."""
    return copy_of_stacks(tmp_path_factory.mktemp("shared"))


def reread(root: Path) -> Path:
    """Return the same files under another path: a catalog is read once from each."""
    again = root.parent / "later" / "stacks"
    again.parent.mkdir()
    return shutil.copytree(root, again)


def planned(name: str, root: Path) -> StackSpec:
    """Resolve the stack that a fork wrote."""
    config = pulumi_config(read_stack_file(root / f"Pulumi.{name}.yaml"))
    return resolve(name, config, where=f"stacks/Pulumi.{name}.yaml", applying=False, root=root)


@pytest.mark.parametrize("machine_type", LARGEST)
@pytest.mark.parametrize("preset", SHAPES)
def test_every_shape_on_every_accelerator_plans_or_says_why_not(preset: str, machine_type: str, shared: Path) -> None:
    """What fork accepts, plan accepts from the files alone, with the same warnings; no GPU is left idle."""
    name = f"f{SHAPES.index(preset)}-{LARGEST.index(machine_type)}"
    if (preset, machine_type) in NO_ROOM:
        with pytest.raises(ProblemsFound) as found:
            fork(preset, name, machine_type, shared)
        assert "fork-does-not-fit" in {problem.rule for problem in found.value.problems}
        return
    made = fork(preset, name, machine_type, shared)
    write(made, shared)
    spec = planned(name, shared)
    assert spec.rows.hardware.machine_type == machine_type
    warnings = [(p.rule, p.path) for p in spec.problems if p.severity == "warning"]
    assert warnings == [(p.rule, p.path) for p in made.problems]
    assert "idle-gpus" not in {rule for rule, _ in warnings}
    assert {f.name for f in spec.features if f.status == "unverified"} == {f.name for f in made.unverified}


@pytest.mark.parametrize("name", KEPT)
def test_golden(name: str) -> None:
    assert text_of(name) == (GOLDEN / f"{name}.txt").read_text(encoding="utf-8"), "if right: make golden"


@pytest.mark.parametrize("preset", [*BESIDE_LADDERS, *TOPS])
def test_on_its_own_hardware_nothing_is_derived_anew(preset: str) -> None:
    """Shipped presets are what the same search would find."""
    own = compose(preset, key="preset", where="")[0]["accelerator_pools"]["main"]["machine_type"]
    assert fork(preset, "same", own).changes == ()


@pytest.mark.parametrize(("preset", "unverified"), [("g4-llmd", []), ("g4-llmd-nvfp4", ["precision:nvfp4"])])
def test_a_copy_plans_and_keeps_its_evidence(preset: str, unverified: list[str], shared: Path) -> None:
    """Without hardware nothing differs but the name; what the preset has no evidence for is accepted by name."""
    name = f"copy-{len(unverified)}"
    made = fork(preset, name, None, shared)
    write(made, shared)
    spec = planned(name, shared)
    assert made.changes == ()
    assert [f.name for f in spec.features if f.status == "unverified"] == unverified
    copied, own = (compose(each, key="", where="", root=shared / "presets")[0] for each in (name, preset))
    assert {**copied, "description": ""} == {**own, "description": ""}


def test_every_change_has_a_reason_and_is_in_the_file() -> None:
    made = fork("a4x-max-dynamo", "forked", "g4-standard-384")
    text = made.files["presets/forked.yaml"]
    assert {"model.checkpoint", "serving.transport.name", "serving.kv_cache.dtype"} < {c.path for c in made.changes}
    for change in made.changes:
        assert change.why
        assert f"#   {change}" in text.splitlines()


def test_a_shorter_context_is_the_last_resort() -> None:
    """No size holds a request of full length on eight H100: the largest that does is taken, with the reason."""
    made = fork("a4x-max-dynamo", "forked", "a3-megagpu-8g")
    (context,) = [change for change in made.changes if change.path == "serving.context_tokens"]
    assert (context.old, context.new) == (1_048_576, 13 * 65_536)
    assert "one request of full length would not fit" in context.why


def test_what_does_not_fit_names_all_that_was_tried() -> None:
    """Each checkpoint and size is spoken against by a check's own problem."""
    with pytest.raises(ProblemsFound) as found:
        fork("g4-llmd", "forked", "g2-standard-96")
    problems = {problem.rule: problem for problem in found.value.problems}
    tried = problems["fork-does-not-fit"].why
    for checkpoint in ("fp8", "bf16", "nvfp4"):
        assert f"{checkpoint} tp1, tp2, tp4, tp8, tp16" in tried
    assert {p.value for p in found.value.problems if p.rule == "weights-do-not-fit"} == {"bf16", "fp8", "nvfp4"}
    assert "nvfp4 tp1, tp2, tp4, tp8, tp16" in problems["precision-on-gpu"].why


UNKNOWN = "a5-future-8g"
ROW = f"catalog/hardware/{UNKNOWN}.yaml"


def test_unknown_hardware_is_a_row_to_fill_in_and_then_a_fork_like_any_other(root: Path) -> None:
    """The skeleton lists every column; only stacks on it are refused, column by column; filled in, the fork plans."""
    waiting = fork("g4-llmd", "a5-llmd", UNKNOWN, root)
    assert list(waiting.files) == [ROW, "presets/a5-llmd.yaml"]
    write(waiting, root)
    root = reread(root)
    config = {"preset": "a5-llmd", "project": "acme-inference", "region": "us-central1", "zone": "us-central1-b"}
    with pytest.raises(ProblemsFound) as found:
        resolve("a5", pulumi_config(config), where="here", applying=False, root=root)
    problems = found.value.problems
    assert {(p.rule, p.where) for p in problems} == {("hardware-column-missing", f"stacks/{ROW}")}
    assert len({p.path for p in problems}) == len(problems) == waiting.files[ROW].count(f": {MISSING}  #")
    assert all("look in " in p.remedy and p.allowed for p in problems)
    assert sorted(waiting.problems, key=lambda p: p.path) == problems
    resolve("g4", pulumi_config({**config, "preset": "g4-llmd"}), where="here", applying=False, root=root)
    other = fork("g4-llmd", "other", UNKNOWN, root)
    assert (list(other.files), other.problems) == (["presets/other.yaml"], waiting.problems)

    like = yaml.safe_load((STACKS_DIR / "catalog/hardware/g4-standard-384.yaml").read_text(encoding="utf-8"))
    (root / ROW).write_text(filled(waiting.files[ROW], like), encoding="utf-8")
    root = reread(root)
    made = fork("g4-llmd", "a5-llmd", UNKNOWN, root)
    write(made, root)
    assert planned("a5-llmd", root).rows.hardware.machine_type == UNKNOWN


def test_a_waiting_preset_that_somebody_changed_is_not_replaced(root: Path) -> None:
    write(fork("g4-llmd", "a5-llmd", UNKNOWN, root), root)
    root = reread(root)
    with (root / "presets" / "a5-llmd.yaml").open("a", encoding="utf-8") as file:
        file.write("production: false\n")
    with pytest.raises(ProblemsFound) as found:
        fork("g4-llmd", "a5-llmd", UNKNOWN, root)
    (problem,) = found.value.problems
    assert (problem.rule, problem.source) == ("fork-exists", "stacks/presets/a5-llmd.yaml")


def test_a_column_that_is_filled_in_wrongly_is_told_beside_those_that_lack(root: Path) -> None:
    text = fork("g4-llmd", "a5-llmd", UNKNOWN, root).files[ROW]
    (root / ROW).write_text(text.replace(f"vcpus: {MISSING}", "vcpus: many"), encoding="utf-8")
    problems = load_catalog(reread(root) / "catalog").unfinished[UNKNOWN]
    assert [p.rule for p in problems if p.path == "machine.vcpus"] == ["wrong-value"]
    assert sum(p.rule == "hardware-column-missing" for p in problems) == len(problems) - 1


@pytest.mark.parametrize(
    ("preset", "name", "hardware", "said"),
    [
        ("g4-lmd", "mine", None, [("unknown-preset", "PRESET")]),
        ("g4-llmd", "g4-llmd", None, [("fork-exists", "NAME")]),
        ("small-l4", "g4", None, [("fork-exists", "NAME")]),
        ("g4-llmd", "../mine", None, [("fork-name", "NAME")]),
        ("g4-llmd", "Mine", "g4_384", [("fork-hardware", "--hardware"), ("fork-name", "NAME")]),
        ("g4-llmd", "a-name-of-14-c", None, [("fork-name", "NAME")]),
        ("g4-llmd", "mine", "g4-standrad-384", [("fork-hardware", "--hardware")]),
        ("g4-llmd", "mine", "n4-standard-8", [("fork-hardware", "--hardware")]),
        ("g4-lmd", "", "a b", [("fork-hardware", "--hardware"), ("fork-name", "NAME"), ("unknown-preset", "PRESET")]),
    ],
)
def test_bad_words_are_told_all_at_once(
    preset: str, name: str, hardware: str | None, said: list[tuple[str, str]]
) -> None:
    with pytest.raises(ProblemsFound) as found:
        fork(preset, name, hardware)
    assert [(p.rule, p.path) for p in found.value.problems] == said
    assert all(p.why and p.remedy and p.allowed and p.where for p in found.value.problems)


def test_another_size_of_known_hardware_gets_a_row_and_a_warning(root: Path) -> None:
    """Digits differ between machines; a slip of the pen is told, and does not stop."""
    made = fork("g4-llmd", "mine", "g4-standard-768", root)
    (warning,) = [p for p in made.problems if p.severity == "warning"]
    assert (warning.rule, "g4-standard-" in warning.why) == ("fork-hardware", True)
