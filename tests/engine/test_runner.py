"""Programs run in process: what they register, how they fail, and that one run leaves nothing for the next."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import traceback
from pathlib import Path

import pulumi
import pytest

from beamline.engine import UNKNOWN, Log, run_program
from stacks.problems import EnvironmentProblem, ProblemsFound
from tests.engine.text_programs import Run, only


def test_a_small_program_gives_this_whole_graph(run: Run) -> None:
    """Full JSON of a graph: unknowns and secrets are marked, secret text is nowhere, integers are integers."""
    graph = run(
        """
        group = Group("group")
        Thing("thing", {"count": 3, "share": 0.5, "token": pulumi.Output.secret("hush")}, ResourceOptions(parent=group))
        pulumi.export("token", pulumi.Output.secret("hush"))
        pulumi.log.warn("look")
        """
    )
    stack, urn = "urn:pulumi:dev::beamline::pulumi:pulumi:Stack::beamline-dev", "urn:pulumi:dev::beamline::test:index:"
    nothing = {
        "inputs": {},
        "registered_outputs": None,
        "custom": True,
        "dependencies": [],
        "property_dependencies": {},
        "provider": "",
        "providers": {},
        "protect": None,
        "ignore_changes": [],
        "replace_on_changes": [],
        "delete_before_replace": None,
        "deleted_with": "",
        "retain_on_delete": None,
        "additional_secret_outputs": [],
        "aliases": [],
        "custom_timeouts": {},
        "import_id": "",
        "version": "",
        "plugin_download_url": "",
    }
    outputs = {"token": {"$secret": True}}
    assert graph.to_json() == {
        "resources": [
            {
                **nothing,
                "urn": stack,
                "type": "pulumi:pulumi:Stack",
                "name": "beamline-dev",
                "parent": "",
                "custom": False,
                "registered_outputs": outputs,
            },
            {
                **nothing,
                "urn": f"{urn}Group$test:index:Thing::thing",
                "type": "test:index:Thing",
                "name": "thing",
                "parent": f"{urn}Group::group",
                "inputs": {"count": 3, "share": 0.5, "token": {"$secret": True}},
            },
            {
                **nothing,
                "urn": f"{urn}Group::group",
                "type": "test:index:Group",
                "name": "group",
                "parent": stack,
                "inputs": {"size": 1},
                "custom": False,
            },
        ],
        "outputs": outputs,
        "reads": [],
        "invokes": [],
        "logs": [{"severity": "warning", "message": "look", "urn": ""}],
    }
    assert "hush" not in repr(graph)


def test_lookups_are_recorded_and_unknown(run: Run) -> None:
    """A plan asks no cloud: what a lookup would answer is unknown."""
    graph = run(
        """
        from pulumi_gcp import compute
        zones = compute.get_zones_output(region="us-central1")
        Thing("thing", {"zone": zones.names[0]})
        """
    )
    assert [(invoke.token, invoke.args) for invoke in graph.invokes] == [
        ("gcp:compute/getZones:getZones", {"region": "us-central1"})
    ]
    assert only(graph, "thing").inputs == {"zone": UNKNOWN}


@pytest.mark.parametrize(
    "body",
    [
        pytest.param("raise PROBLEMS", id="raised"),
        pytest.param(
            "from components.program import problems_reported\nwith problems_reported():\n    raise PROBLEMS",
            id="reported as for the real engine",
        ),
        pytest.param(
            "def fail(_):\n    raise PROBLEMS\nThing('t', {'p': pulumi.Output.from_input('x').apply(fail)})",
            id="raised inside an apply",
        ),
    ],
)
def test_problems_reach_the_caller(run: Run, body: str) -> None:
    """Problems come out as the program raised them, whichever way it raised them."""
    with pytest.raises(ProblemsFound) as caught:
        run(body)
    assert [problem.path for problem in caught.value.problems] == ["pools.g4.local_ssd"]


def test_an_environment_problem_reaches_the_caller(run: Run) -> None:
    with pytest.raises(EnvironmentProblem, match="no kubectl"):
        run(
            """
            from components.program import problems_reported
            with problems_reported():
                raise EnvironmentProblem("no kubectl")
            """
        )


def test_a_defect_keeps_its_traceback(run: Run, tmp_path: Path) -> None:
    """Anything but problems is a defect: the traceback leads to the program's line."""
    with pytest.raises(ZeroDivisionError) as caught:
        run("Thing('t')\n1 / 0")
    frames = traceback.extract_tb(caught.value.__traceback__)
    assert [frame.line for frame in frames if frame.filename == str(tmp_path / "__main__.py")] == ["1 / 0"]


REFUSED = {
    "exit": ("import sys; sys.exit(0)", RuntimeError, "ended itself with exit code 0"),
    "duplicate": ("Thing('t'); Thing('t')", ValueError, "Duplicate resource URN"),
    "asset": ("Thing('t', {'file': pulumi.StringAsset('x')})", NotImplementedError, "carries an asset"),
    "replace_with": (
        "Thing('t', opts=ResourceOptions(replace_with=[Thing('u')]))",
        NotImplementedError,
        "uses replace_with",
    ),
    "transform": (
        "Thing('t', opts=ResourceOptions(transforms=[lambda a: None]))",
        NotImplementedError,
        "uses transforms",
    ),
    "stack transform": (
        "pulumi.runtime.register_resource_transform(lambda a: None)",
        AttributeError,
        "RegisterStackTransform",
    ),
    "remote component": (
        "ComponentResource('test:index:Remote', 'r', {}, None, remote=True)",
        NotImplementedError,
        "uses remote",
    ),
    "output in text": ("Thing('t', {'p': f'{Thing(\"u\").out}'})", Exception, "__str__"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_a_plan_cannot_show_is_refused(run: Run, case: str) -> None:
    """Nothing is ignored quietly: a feature outside the graph is an error that names it."""
    body, error, message = REFUSED[case]
    with pytest.raises(error, match=message):
        run(body)


def test_a_folder_without_a_program_is_an_environment_problem(tmp_path: Path) -> None:
    with pytest.raises(EnvironmentProblem, match=r"no __main__\.py"):
        run_program(tmp_path, project="beamline", stack="dev", config={})


def test_code_of_two_checkouts_is_never_mixed(run: Run, tmp_path: Path) -> None:
    """The program's own ``stacks`` would be shadowed by the one that is loaded already: refused, not mixed."""
    (tmp_path / "stacks").mkdir()
    (tmp_path / "stacks" / "__init__.py").write_text("")
    with pytest.raises(EnvironmentProblem, match="brings its own 'stacks'"):
        run("")


def test_printed_text_is_a_log_not_output(run: Run, capfd: pytest.CaptureFixture[str]) -> None:
    """Standard output belongs to the command that plans."""
    graph = run("import sys; print('one'); print('two', file=sys.stderr)")
    assert graph.logs == (Log("info", "one"), Log("info", "two"))
    assert capfd.readouterr() == ("", "")


def test_runs_do_not_see_each_other(run: Run, tmp_path: Path) -> None:
    """The same program with other config, and again with the first: equal graphs for equal config, nothing left."""
    (tmp_path / "settings_of_this_test.py").write_text(
        "import pulumi\n\ndef read():\n    return pulumi.Config().get('a')"
    )
    program = """
        import settings_of_this_test
        Thing("thing", {"a": settings_of_this_test.read()})
        pulumi.export("b", pulumi.Config().get("b"))
        """
    try:
        first, second, third = run(program, a="1"), run(program, b="2"), run(program, a="1")
    finally:
        del sys.modules["settings_of_this_test"]
    assert only(first, "thing").inputs == {"a": "1"}
    assert only(second, "thing").inputs == {}
    assert second.outputs == {"b": "2"}
    assert first == third


@pytest.mark.parametrize("body", ["Thing('thing')", "1 / 0", "raise PROBLEMS"])
def test_a_run_leaves_the_process_as_it_was(run: Run, body: str) -> None:
    """Folder, environment, streams, argv and the SDK's own state are those from before, also after a failure."""

    def state() -> tuple[object, ...]:
        return (
            Path.cwd(),
            dict(os.environ),
            list(sys.path),
            list(sys.argv),
            sys.stdout,
            pulumi.runtime.settings.get_monitor(),
            pulumi.runtime.settings.get_root_resource(),
            pulumi.runtime.get_config("beamline:a"),
        )

    def everywhere() -> list[tuple[object, ...]]:
        seen = [state()]
        other = threading.Thread(target=lambda: seen.append(state()))  # a thread starts in a context of its own
        other.start()
        other.join()
        return seen

    before = everywhere()
    with contextlib.suppress(ZeroDivisionError, ProblemsFound):
        run(body, a="1")
    assert everywhere() == before
