"""What Google's client library makes of answers that are none, and that it is used for reading only."""

from __future__ import annotations

import json
from typing import Any

import pytest

from beamline.preflight import CHECKS, Google, Standing, from_credentials, run_checks
from beamline.preflight.google import DeniedError, NotFoundError, UnansweredError
from stacks.problems import EnvironmentProblem
from tests.preflight.scripted import Script, scripted
from tests.preflight.targets import target, world

ZONE = {"project": "p", "zone": "us-central1-b", "reservation": "r"}


def refusal(message: str, **more: Any) -> str:
    return json.dumps({"error": {"message": message, **more}})


ANSWERS: dict[str, tuple[Script, type[Exception], str]] = {
    "not there": (Script(404, refusal("not found")), NotFoundError, "404: not found"),
    "no permission": (Script(403, refusal("Required 'x' permission")), DeniedError, "403: Required 'x' permission"),
    "the API is off": (
        Script(403, refusal("has not been used", details=[{"reason": "SERVICE_DISABLED"}])),
        DeniedError,
        "is not enabled in the project",
    ),
    "not logged in": (Script(401, refusal("invalid credentials")), UnansweredError, "401: invalid credentials"),
    "a wrong question": (Script(400, refusal("Invalid value")), UnansweredError, "400: Invalid value"),
    "broken": (Script(500, refusal("Internal error")), UnansweredError, "500: Internal error"),
    "busy": (Script(429, refusal("Quota exceeded for reads")), UnansweredError, "429: Quota exceeded for reads"),
    "garbage": (Script(200, "<html>hotel login</html>"), UnansweredError, "no answer of this API"),
    "another kind of JSON": (Script(200, "[]"), UnansweredError, "no answer of this API"),
    "garbage in an error": (Script(502, "<html>"), UnansweredError, "502"),
    "silence": (Script(silent=True), UnansweredError, "did not answer within 0 s"),
}


@pytest.mark.parametrize("name", ANSWERS)
def test_an_answer_that_is_none_says_why(name: str) -> None:
    script, error, words = ANSWERS[name]
    with scripted(script):
        google = Google(endpoint=script.endpoint, retries=0, timeout_s=0.2 if script.silent else 15)
        with pytest.raises(error) as raised:
            google.call("compute", "reservations.get", **ZONE)
    assert type(raised.value) is error
    assert words in str(raised.value)


def test_nobody_there() -> None:
    with scripted(Script()) as script:
        gone = script.endpoint
    with pytest.raises(UnansweredError, match="cannot be reached"):
        Google(endpoint=gone, retries=0).call("compute", "reservations.get", **ZONE)


def test_the_request_is_googles_own_with_each_api_under_its_host() -> None:
    with scripted(Script()) as script:
        google = Google(endpoint=script.endpoint, retries=0)
        google.call("compute", "reservations.get", **ZONE)
        google.call("cloudresourcemanager", "projects.getIamPolicy", resource="projects/p", body={})
    assert script.asked == [
        "GET /compute.googleapis.com/compute/v1/projects/p/zones/us-central1-b/reservations/r?alt=json",
        "POST /cloudresourcemanager.googleapis.com/v3/projects/p:getIamPolicy?alt=json",
    ]


@pytest.mark.parametrize(
    ("api", "method", "arguments"),
    [
        ("compute", "networks.insert", {"project": "p", "body": {}}),
        ("compute", "reservations.delete", ZONE),
        ("cloudresourcemanager", "projects.setIamPolicy", {"resource": "projects/p", "body": {}}),
    ],
)
def test_what_writes_is_never_sent(api: str, method: str, arguments: Any) -> None:
    with scripted(Script()) as script, pytest.raises(ValueError, match="does more than read"):
        Google(endpoint=script.endpoint).call(api, method, **arguments)
    assert script.asked == []


def test_an_endpoint_and_credentials_exclude_each_other() -> None:
    for arguments in ({}, {"endpoint": "http://127.0.0.1:1", "credentials": object()}):
        with pytest.raises(ValueError, match="either credentials"):
            Google(**arguments)


def test_no_credentials_is_trouble_with_the_machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    monkeypatch.setenv("CLOUDSDK_CONFIG", str(tmp_path))
    monkeypatch.setenv("NO_GCE_CHECK", "true")
    monkeypatch.delenv("GOOGLE_APPLICATION_CREDENTIALS", raising=False)
    with pytest.raises(EnvironmentProblem, match="gcloud auth application-default login"):
        from_credentials("p")


@pytest.mark.parametrize("script", [Script(500, "{}"), Script(200, "[]"), Script(200, "{}")], ids=["500", "list", "{}"])
def test_whatever_is_answered_no_check_ends_in_a_traceback_or_all_is_well(script: Script) -> None:
    """With an empty answer some checks find problems; those that asked Google are never all fine."""
    asked = target()
    with scripted(script):
        report = run_checks(CHECKS, asked, world(script.endpoint))
    fine = {check for check, found in report.findings.items() if all(f.standing is Standing.OK for f in found)}
    assert fine <= {"programs", "ranges"}
