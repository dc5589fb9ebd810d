"""Whatever a user writes, the answer is a stack or problems that help; never anything else.

Hypothesis writes stack files: sound ones with damage in random places, and nonsense.
"""

from __future__ import annotations

import copy
import math
from pathlib import Path
from typing import Any

import yaml
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from stacks import ProblemsFound, StackSpec, resolve
from stacks.json_schemas import all_schemas
from stacks.preset_files import compose, preset_names
from stacks.settings import pulumi_config, read_stack_file
from tests.failures.test_failures import JARGON

SOUND = {
    "beamline:preset": "g4-llmd",
    "beamline:project": "acme-inference",
    "beamline:region": "us-central1",
    "beamline:zone": "us-central1-b",
}
FUZZ = settings(
    deadline=None,
    derandomize=True,  # the same examples on every machine: a red build is about the change, not about luck
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=12)
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(10**30), 10**30),
    st.integers(-2, 40),
    st.floats(),
    st.dates(),
    TEXT,
    st.sampled_from(
        ["yes", "1.30", "1e3", "0x10", "latest", "none", "auto", "fp8", "spot", "", "[secret]", "{", "a.b"]
    ),
)
ANYTHING = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(TEXT | st.sampled_from(["kind", "secure"]), inner, max_size=3)
    ),
    max_leaves=6,
)


def _paths(data: Any, at: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    below = (
        [path for key, value in data.items() for path in _paths(value, (*at, key))] if isinstance(data, dict) else []
    )
    return [at, *below] if at else below


PRESETS = {name: compose(name, key="preset", where="")[0] for name in preset_names()}
PATHS = sorted({path for preset in PRESETS.values() for path in _paths(preset)})


@st.composite
def _overrides(draw: st.DrawFn) -> Any:
    """Overrides that touch real keys, with real values, damaged ones, and keys nobody knows."""
    data: dict[str, Any] = {}
    for path in draw(st.lists(st.sampled_from(PATHS), max_size=4)):
        *sections, key = path
        place = data
        for section in sections:
            below = place.setdefault(section, {})
            if not isinstance(below, dict):
                break
            place = below
        else:
            place[draw(st.sampled_from([key, key, key, f"{key}x"]))] = draw(ANYTHING)
    return data


CONFIGS = st.fixed_dictionaries(
    {},
    optional={
        "beamline:preset": st.sampled_from(list(PRESETS)) | ANYTHING,
        "beamline:project": ANYTHING,
        "beamline:region": ANYTHING,
        "beamline:zone": ANYTHING,
        "beamline:mirror": st.sampled_from(["m.example.com:5000/x", "https://m"]) | ANYTHING,
        "beamline:accept_unverified": st.lists(st.sampled_from(["precision:nvfp4", "kv-cache:fp8"])) | ANYTHING,
        "beamline:overrides": _overrides() | ANYTHING,
        "beamlin:project": ANYTHING,
        "gcp:zone": ANYTHING,
    },
)


OVERRIDES = all_schemas()["stack.schema.json"]


def _fitting(schema: dict[str, Any]) -> st.SearchStrategy[Any]:
    """What a schema accepts: names, kinds, and numbers at and between their limits."""
    if "$ref" in schema:
        return _fitting(OVERRIDES["$defs"][schema["$ref"].rpartition("/")[2]])
    if "anyOf" in schema:
        return st.one_of([_fitting(member) for member in schema["anyOf"]])
    if "const" in schema or "enum" in schema:
        return st.sampled_from(schema.get("enum", [schema.get("const")]))
    return FITTING[schema["type"]](schema)


def _fitting_section(schema: dict[str, Any]) -> st.SearchStrategy[Any]:
    fields = {key: _fitting(field) for key, field in schema["properties"].items()}
    chosen = {key: fields.pop(key) for key in ["kind"] if key in fields}
    return st.fixed_dictionaries(chosen, optional=fields)


def _fitting_count(schema: dict[str, Any]) -> st.SearchStrategy[Any]:
    low = schema.get("minimum", schema.get("exclusiveMinimum", -1) + 1)
    return st.sampled_from([low, schema["maximum"]]) | st.integers(low, min(schema["maximum"], low + 64))


FITTING = {
    "object": _fitting_section,
    "integer": _fitting_count,
    "number": lambda _: st.sampled_from([0.01, 0.5, 0.9, 0.99]),
    "string": lambda schema: st.from_regex(schema["pattern"], fullmatch=True) if "pattern" in schema else st.just("x"),
    "boolean": lambda _: st.booleans(),
    "null": lambda _: st.none(),
}


class _Quoting(yaml.SafeDumper):
    """Puts all text in quotes: PyYAML leaves bare what it takes for text, and YAML 1.2 for a number."""


_Quoting.add_representer(str, lambda dumper, text: dumper.represent_scalar("tag:yaml.org,2002:str", text, style='"'))


def _resolved(config: dict[str, Any], folder: Path) -> StackSpec | ProblemsFound:
    file = folder / "Pulumi.g4.yaml"
    file.write_text(yaml.dump({"config": config}, Dumper=_Quoting), encoding="utf-8")
    try:
        return resolve("g4", pulumi_config(read_stack_file(file)), where="stacks/Pulumi.g4.yaml", applying=False)
    except ProblemsFound as problems:
        return problems


def _is_sound(outcome: StackSpec | ProblemsFound) -> None:
    if isinstance(outcome, ProblemsFound):
        assert any(p.severity == "error" for p in outcome.problems)
    for problem in outcome.problems:
        assert problem.path
        assert problem.why
        assert problem.remedy
        assert problem.where
        said = f"{problem.why} {problem.remedy}".lower()
        assert not [word for word in JARGON if word in said]
        assert not [v for v in problem.to_json().values() if isinstance(v, float) and math.isnan(v)]


@settings(FUZZ, max_examples=300)
@given(config=CONFIGS)
@example(config={"beamline:overrides": {"serving": {"kv_cache": {"offload": {"kind": {"a": 1}}}}}})
@example(
    config={"beamline:overrides": {"model": {"weights": {"kind": "bucket", "bucket": {"bucket": 1}, "prefix": ".."}}}}
)
def test_anything_gives_a_stack_or_problems(config: dict[str, Any], tmp_path: Path) -> None:
    """Nonsense in any setting: problems that say path, reason, remedy and file, in words of the field."""
    _is_sound(_resolved(SOUND | config, tmp_path))


@settings(FUZZ, max_examples=150)
@given(preset=st.sampled_from(sorted(PRESETS)), overrides=_fitting(OVERRIDES["$defs"]["Overrides"]))
def test_what_the_schema_accepts_has_the_right_type(preset: str, overrides: dict[str, Any], tmp_path: Path) -> None:
    """Overrides an editor finds right are right for plan; numbers at their limits break no derivation or check."""
    outcome = _resolved(SOUND | {"beamline:preset": preset, "beamline:overrides": overrides}, tmp_path)
    _is_sound(outcome)
    shape = [p for p in outcome.problems if p.rule in ("wrong-value", "wrong-kind", "unknown-key", "wrong-key")]
    assert shape == []


@settings(FUZZ, max_examples=100)
@given(path=st.sampled_from(PATHS), word=st.from_regex(r"[a-z]{3,10}", fullmatch=True), value=ANYTHING)
def test_no_unknown_key_is_silently_accepted(path: tuple[str, ...], word: str, value: Any, tmp_path: Path) -> None:
    """A key that no model has, anywhere in the overrides, is an error at that place."""
    overrides: dict[str, Any] = {}
    place = overrides
    for section in path[:-1]:
        place = place.setdefault(section, {})
    place[f"{word}_zz"] = copy.deepcopy(value)
    outcome = _resolved(SOUND | {"beamline:overrides": overrides}, tmp_path)
    assert isinstance(outcome, ProblemsFound)
    errors = {(p.rule, p.path) for p in outcome.problems if p.severity == "error"}
    key = ".".join((*path[:-1], f"{word}_zz"))
    accepted_reports = {("unknown-key", key), ("encrypted-setting", "overrides"), ("not-overridable", path[0])}
    assert errors & (accepted_reports | {("yaml", "Pulumi.g4.yaml")})
