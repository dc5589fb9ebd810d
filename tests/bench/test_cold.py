"""Processes: one that ends otherwise than it should is no measurement."""

from __future__ import annotations

import pytest

from bench.cold import output, python, seconds
from stacks.problems import EnvironmentProblem


def test_output_is_what_the_process_wrote() -> None:
    assert output(python("-c", "print('x')")) == "x\n"


@pytest.mark.parametrize(("code", "expected"), [(1, 0), (0, 1)])
def test_another_exit_code_is_told_with_what_was_said(code: int, expected: int) -> None:
    command = python("-c", f"import sys; sys.stderr.write('because'); sys.exit({code})")
    for run in (seconds, output):
        with pytest.raises(EnvironmentProblem, match=rf"ended with {code} instead of {expected}:\nbecause"):
            run(command, code=expected)


def test_bytecode_is_kept_whatever_the_environment_says() -> None:
    program = "import sys; print(sys.dont_write_bytecode)"
    assert output(python("-c", program), environment={"PYTHONDONTWRITEBYTECODE": "1"}) == "False\n"
