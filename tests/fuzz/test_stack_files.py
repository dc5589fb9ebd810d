"""Whatever a user writes into a stack file, the answer is a stack that works or problems that help."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hypothesis import example, given, note
from hypothesis import strategies as st

from beamline.checks import graph_problems
from beamline.engine import run_program
from stacks import ProblemsFound, StackSpec
from stacks.settings import STACKS_DIR, pulumi_config
from tests.fuzz.edits import misspelt
from tests.fuzz.judging import is_sound
from tests.fuzz.keys import PRESET, fitting, paths
from tests.fuzz.sound import COMPOSED, SETTINGS, settings_for
from tests.fuzz.stack_files import answer_to, base_of, config_of, overrides_of, stack_files
from tests.fuzz.tally import Tally, inputs
from tests.fuzz.writing import FILE_TRAPS, written

_FULLEST = "g4-llmd-d2"
FULL = COMPOSED[_FULLEST]
"""Nearly every section there is."""


def _file(folder: Path, config: dict[str, Any], trap: str = "as it is") -> Path:
    file = folder / "Pulumi.g4.yaml"
    text = FILE_TRAPS[trap](written({"config": config}))
    note(text)
    file.write_text(text, encoding="utf-8", newline="")
    return file


def _judged(file: Path, tally: Tally) -> None:
    answer, config = answer_to(file), config_of(file)
    tally.count(answer)
    is_sound(answer, overrides_of(config), base_of(config))


def test_an_edited_stack_file(tmp_path: Path, tally: Tally) -> None:
    """Stack files with edits and mistakes: a good share plans, and what plans is what was asked for."""

    @inputs(0.35)
    @given(config=stack_files())
    @example(config={**SETTINGS, "beamline:overrides": {"serving": {"kv_cache": {"offload": {"kind": {"a": 1}}}}}})
    @example(
        config={
            **SETTINGS,
            "beamline:overrides": {
                "model": {"weights": {"kind": "bucket", "bucket": {"bucket": 1}, "prefix": ".."}},
            },
        }
    )
    def fuzz(config: dict[str, Any]) -> None:
        _judged(_file(tmp_path, config), tally)

    fuzz()
    assert tally.share_planned > 0.2, "too few inputs reach what comes after the types"
    assert tally.share_planned < 0.8, "too few inputs are wrong"
    assert len(tally.rules) > 15, "the inputs trip too few rules"


def test_a_damaged_stack_file(tmp_path: Path, tally: Tally) -> None:
    """Stack files damaged as a whole: line ends, tabs, a second copy, an end that is missing."""

    @inputs(0.05)
    @given(config=stack_files(), trap=st.sampled_from(sorted(FILE_TRAPS)))
    def fuzz(config: dict[str, Any], trap: str) -> None:
        _judged(_file(tmp_path, config, trap), tally)

    fuzz()


def test_what_the_schema_accepts(tmp_path: Path, tally: Tally) -> None:
    """Overrides an editor finds right: every value has the right type, and numbers at their limits break nothing."""

    @inputs(0.15)
    @given(preset=st.sampled_from(sorted(COMPOSED)), overrides=fitting(PRESET))
    def fuzz(preset: str, overrides: dict[str, Any]) -> None:
        for key in ("description", "evidence"):
            overrides.pop(key, None)
        file = _file(
            tmp_path,
            {**settings_for(COMPOSED[preset], overrides), "beamline:preset": preset, "beamline:overrides": overrides},
        )
        answer = answer_to(file)
        tally.count(answer)
        is_sound(answer, overrides, COMPOSED[preset])
        shape = ("wrong-value", "wrong-kind", "unknown-key", "wrong-key")
        assert [p for p in answer.problems if p.rule in shape] == []

    fuzz()


def test_a_misspelt_key(tmp_path: Path, tally: Tally) -> None:
    """One slip in one key: the problem names the key that was meant."""

    @inputs(0.1)
    @given(path=st.sampled_from([p for p in paths(FULL) if _is_key(p)]), data=st.data())
    def fuzz(path: tuple[str, ...], data: st.DataObject) -> None:
        slip = misspelt(data.draw, path[-1])
        if slip == path[-1]:
            return
        overrides: Any = 1
        for key in reversed([*path[:-1], slip]):
            overrides = {key: overrides}
        answer = answer_to(_file(tmp_path, {**SETTINGS, "beamline:preset": _FULLEST, "beamline:overrides": overrides}))
        tally.count(answer)
        assert isinstance(answer, ProblemsFound)
        (problem,) = [p for p in answer.problems if p.rule == "unknown-key"]
        assert problem.path == ".".join((*path[:-1], slip))
        assert repr(path[-1]) in problem.remedy

    fuzz()


def _is_key(path: tuple[str, ...]) -> bool:
    """Whether the last part is a key of ours: pools and bands have names of the user's own."""
    return path[0] not in ("evidence", "description") and path[-2:-1] not in (("accelerator_pools",), ("bands",))


def test_the_graph_of_an_edited_stack_file(tmp_path: Path, tally: Tally) -> None:
    """Stack files that plan, run through the program: no input of an SDK, no schema and no rule refuses the graph."""

    @inputs(0.025)
    @given(config=stack_files())
    def fuzz(config: dict[str, Any]) -> None:
        file = _file(tmp_path, config)
        answer = answer_to(file)
        tally.count(answer)
        if not isinstance(answer, StackSpec):
            return
        read = pulumi_config({**(config_of(file) or {}), "beamline:accept_unverified": _accepted(answer)})
        graph = run_program(STACKS_DIR.parent, project="beamline", stack="g4", config=read)
        found = graph_problems(graph, answer.preset.cluster.version)
        assert [p for p in found if p.severity != "note"] == []

    fuzz()
    assert tally.planned > 10, "too few inputs plan"


def _accepted(spec: StackSpec) -> list[str]:
    return [feature.name for feature in spec.features if feature.status == "unverified"]
