"""What clients are told: whole, readable by themselves, and without anything that is secret."""

from __future__ import annotations

import json

import pytest

from stacks.catalog_files import load_catalog
from stacks.clients import SESSION_HEADER, client_settings, session_headers
from tests.clients.cases import ADDRESS, CASES, client_spec
from tests.clients.contents import at, headers_in, parsed
from tests.clients.golden import FOLDER, golden_file, told

ROWS = load_catalog().clients


@pytest.mark.parametrize("case", CASES)
def test_clients_are_told_exactly_what_was_reviewed(case: str) -> None:
    assert told(case) == golden_file(case).read_text(encoding="utf-8"), "if right: make golden"


def test_every_golden_file_belongs_to_a_case() -> None:
    assert {path.name for path in FOLDER.iterdir()} == {golden_file(case).name for case in CASES}


@pytest.mark.parametrize("case", CASES)
def test_a_file_says_to_its_client_what_the_settings_say(case: str) -> None:
    """Read back as the client reads it: address, model, headers and deadlines, where its row has a place for them."""
    for settings in client_settings(client_spec(case), ADDRESS):
        if not settings.usable:
            assert settings.content == ""
            continue
        row = ROWS[settings.client]
        document = parsed(settings, row)
        assert at(document, row.endpoint.base_url) == settings.base_url
        assert [at(document, path) for path in row.model.names] == [
            f"{row.model.prefix}{settings.model}" for _ in row.model.names
        ]
        assert headers_in(document, row) == settings.headers
        units = {"s": 1, "ms": 1000}
        for one in row.deadlines.settings:
            assert int(at(document, one.path)) == settings.timeout_s * units[one.unit]
        for constant in row.file.constants:
            assert at(document, constant.path) == constant.value


@pytest.mark.parametrize("case", CASES)
def test_an_output_is_plain_data_and_names_no_secret(case: str) -> None:
    """Identity-Aware Proxy's OAuth secret stays a Kubernetes Secret, and tokens are the callers' own."""
    outputs = [one.to_output() for one in client_settings(client_spec(case), ADDRESS)]
    text = json.dumps(outputs)
    assert json.loads(text) == outputs
    assert "iap-oauth" not in text


def test_the_header_of_other_clients_is_read_by_every_release() -> None:
    """llm-d's picker is told of it; Dynamo's frontend has to know it."""
    catalog = load_catalog()
    assert [name for name, row in catalog.releases.items() if SESSION_HEADER not in session_headers(row)] == []


def test_agents_that_name_their_conversation_are_understood_by_every_release() -> None:
    releases = load_catalog().releases.items()
    agents = [row for row in ROWS.values() if row.headers.session]
    assert {row.name for row in agents} == {"claude-code", "codex", "opencode"}
    assert [
        (release, row.name)
        for release, known in releases
        for row in agents
        if not set(session_headers(known)) & set(row.headers.session)
    ] == []
