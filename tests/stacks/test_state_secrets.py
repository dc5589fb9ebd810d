"""What a stack file and the environment say of the state's secrets, and what they cannot."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from stacks.cloud import SANDBOX_PROJECT
from stacks.state_secrets import state_secrets_problems

SALT = {"encryptionsalt": "v1:abc="}
CASES: dict[str, tuple[dict[str, Any], dict[str, str], str | None]] = {
    "an empty passphrase": (SALT, {"PULUMI_CONFIG_PASSPHRASE": ""}, "passphrase-empty"),
    "an empty passphrase, the provider named": (
        {**SALT, "secretsprovider": "passphrase"},
        {"PULUMI_CONFIG_PASSPHRASE": ""},
        "passphrase-empty",
    ),
    "a passphrase": (SALT, {"PULUMI_CONFIG_PASSPHRASE": "correct horse"}, None),
    "a passphrase that Pulumi will ask for": (SALT, {}, None),
    "a variable that wins over the file": (
        SALT,
        {"PULUMI_CONFIG_PASSPHRASE": "correct horse", "PULUMI_CONFIG_PASSPHRASE_FILE": "empty"},
        None,
    ),
    "an empty file": (SALT, {"PULUMI_CONFIG_PASSPHRASE_FILE": "empty"}, "passphrase-empty"),
    "a file": (SALT, {"PULUMI_CONFIG_PASSPHRASE_FILE": "full"}, None),
    "a file that is not there": (SALT, {"PULUMI_CONFIG_PASSPHRASE_FILE": "missing"}, None),
    "a key service": (
        {"secretsprovider": "gcpkms://projects/p/locations/l/keyRings/r/cryptoKeys/k", "encryptedkey": "abc="},
        {"PULUMI_CONFIG_PASSPHRASE": ""},
        None,
    ),
    "no provider: Pulumi Cloud, or a stack to come": ({}, {"PULUMI_CONFIG_PASSPHRASE": ""}, None),
    "a provider that does not exist": ({"secretsprovider": "plaintext"}, {}, "secrets-provider"),
    "a key service misspelt": ({"secretsprovider": "gcpkm://projects/p"}, {}, "secrets-provider"),
}


@pytest.mark.parametrize("name", CASES)
def test_what_is_said_of_the_state(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "empty").write_text("\n")
    (tmp_path / "full").write_text("correct horse\n")
    monkeypatch.chdir(tmp_path)
    file, environ, rule = CASES[name]
    found = state_secrets_problems(file, environ, project="acme", applying=True, where="stacks/Pulumi.x.yaml")
    assert [problem.rule for problem in found] == ([rule] if rule else [])
    assert all(problem.severity == "error" and problem.remedy for problem in found)


def test_while_planning_nothing_is_stored_yet_and_in_the_sandbox_nothing_is_anybodys() -> None:
    def said(**of: Any) -> list[str]:
        found = state_secrets_problems(SALT, {"PULUMI_CONFIG_PASSPHRASE": ""}, **{"where": "x", "applying": True, **of})
        return [problem.severity for problem in found]

    assert said(project="acme", applying=False) == ["note"]
    assert said(project=SANDBOX_PROJECT) == []
