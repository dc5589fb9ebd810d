"""A stack file's settings: read with their namespace, taken one by one, the rest told apart."""

from __future__ import annotations

from pathlib import Path

import pytest

from stacks import ProblemsFound
from stacks.settings import STACKS_DIR, parse_config, read_stack_file, stack_file

CONFIG = {
    "beamline:preset": "g4-llmd",
    "beamline:project": "acme-inference",
    "beamline:region": "us-central1",
    "beamline:zone": "us-central1-b",
    "beamline:mirror": "m.example.com",
    "beamline:accept_unverified": '["kv-cache:fp8"]',
    "beamline:overrides": '{"production":false}',
}
VALUES = {
    "preset": "g4-llmd",
    "project": "acme-inference",
    "region": "us-central1",
    "zone": "us-central1-b",
    "mirror": "m.example.com",
    "accept_unverified": ["kv-cache:fp8"],
    "overrides": {"production": False},
}
WHERE = "stacks/Pulumi.g4.yaml"


def test_sound_settings() -> None:
    """Texts as they are, structures from their JSON."""
    assert parse_config(CONFIG, WHERE) == (VALUES, [])


@pytest.mark.parametrize("key", CONFIG)
def test_a_wrong_setting_is_left_out_and_the_rest_stays(key: str) -> None:
    """One problem for the wrong one, at its path; every other setting can still be checked."""
    values, problems = parse_config(CONFIG | {key: "["}, WHERE)
    name = key.removeprefix("beamline:")
    if name == "preset":  # any text may be a preset's name; whether it exists is known to preset_files
        assert (values, problems) == (VALUES | {"preset": "["}, [])
        return
    assert values == {k: v for k, v in VALUES.items() if k != name}
    assert [(p.rule, p.path, p.where) for p in problems] == [("wrong-value", name, WHERE)]


def test_nesting_without_end_is_a_problem() -> None:
    """JSON too deep to be walked is refused, whatever it holds; as deep as anybody needs it is read."""
    for depth in (51, 400, 100_000):
        text = '{"a":' * depth + "1" + "}" * depth
        _, problems = parse_config(CONFIG | {"beamline:overrides": text}, WHERE)
        assert [(p.rule, p.path) for p in problems] == [("wrong-value", "overrides")]
    values, problems = parse_config(CONFIG | {"beamline:overrides": '{"a":' * 30 + "1" + "}" * 30}, WHERE)
    assert problems == []
    assert "overrides" in values


def test_missing_settings_say_how_to_set_them() -> None:
    """The remedy is a command that can be copied."""
    _, problems = parse_config({}, WHERE)
    assert [p.remedy for p in problems if p.path == "project"] == [
        "add beamline:project to the stack file, or: pulumi config set beamline:project <value>"
    ]


def test_the_shipped_stack_file() -> None:
    """It says where it runs with a placeholder, and nothing that a reader must know to leave alone."""
    assert stack_file("g4") == STACKS_DIR / "Pulumi.g4.yaml"
    assert read_stack_file(stack_file("g4")) == {
        "beamline:preset": "g4-llmd",
        "beamline:project": "your-project-id",
        "beamline:region": "us-central1",
        "beamline:zone": "us-central1-b",
    }


def test_what_pulumi_writes_itself_is_no_problem(tmp_path: Path) -> None:
    """Salt, key and provider of secrets are Pulumi's."""
    path = tmp_path / "Pulumi.x.yaml"
    path.write_text(
        "secretsprovider: passphrase\nencryptionsalt: v1:x\nencryptedkey: k\nenvironment: [dev]\nconfig: {zone: a}",
        encoding="utf-8",
    )
    assert read_stack_file(path) == {"beamline:zone": "a"}


def test_a_stack_without_settings_has_none(tmp_path: Path) -> None:
    """What pulumi stack init leaves is an empty section."""
    path = tmp_path / "Pulumi.x.yaml"
    path.write_text("encryptionsalt: v1:x\n", encoding="utf-8")
    assert read_stack_file(path) == {}
    with pytest.raises(ProblemsFound):
        read_stack_file(tmp_path / "Pulumi.none.yaml")
