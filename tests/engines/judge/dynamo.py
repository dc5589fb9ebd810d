"""Dynamo's own argument groups and variables; its workers take the engine's flags besides."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

from dynamo import common
from dynamo.common.configuration.arg_group import ArgGroup
from dynamo.common.configuration.groups.router_args import register_worker_router_help
from dynamo.common.configuration.groups.runtime_args import DynamoRuntimeArgGroup
from dynamo.frontend.frontend_args import FrontendArgGroup, FrontendConfig

from tests.engines.judge.cases import Verdict, exact, unknown_variables
from tests.engines.judge.flags import flags_of

__all__ = [
    "DYNAMO",
    "dynamo_flags",
    "group_flags",
    "judge_dynamo_variables",
    "judge_frontend",
    "judge_hand_over",
    "judge_vllm_worker",
    "own_words",
]

DYNAMO = ("dynamo.vllm", "dynamo.sglang", "dynamo.frontend")
_ROOT = Path(common.__file__).parent.parent
_VARIABLE = re.compile(r"DYN_[A-Z0-9_]+")
_TEXT = re.compile(r"""["'](DYN_[A-Z0-9_]+)["']""")
_SHORTEST = len("DYN_X")
_OF_FRONTEND = ("tool-call-parser", "reasoning-parser", "chat-template")
"""The flags of SGLang's that a frontend takes (dynamo/frontend/main.py)."""


def dynamo_flags() -> dict[str, Any]:
    """Return what is Dynamo's own, but for its SGLang worker: that is read beside SGLang."""
    from dynamo.vllm.backend_args import DynamoVllmArgGroup

    python, binary = _variables()
    return {
        "underscores": False,
        "dotted": False,
        "programs": {
            "dynamo.frontend": {
                "flags": group_flags(FrontendArgGroup()),
                "engine_by": "dyn-chat-processor",
                "engine_takes": {"vllm": [], "sglang": sorted(_OF_FRONTEND)},
            },
            "dynamo.vllm": {"flags": group_flags(DynamoRuntimeArgGroup(), DynamoVllmArgGroup()), "engine": "vllm"},
        },
        "prefixes": ["DYN_"],
        "variables": python,
        "variables_in_binary": binary,
    }


def group_flags(*groups: ArgGroup) -> dict[str, Any]:
    """Return the flags of argument groups, and of a worker those that advertise how to route to it."""
    parser = argparse.ArgumentParser()
    for group in groups:
        group.add_arguments(parser)
    if len(groups) > 1:
        register_worker_router_help(parser)
    return flags_of([action for group in parser._action_groups for action in group._group_actions], {})


@cache
def _variables() -> tuple[list[str], list[str]]:
    """Names that the Python code has as texts, and names in the compiled part: there, texts may run into each other."""
    python = {
        name
        for file in _ROOT.rglob("*.py")
        if "tests" not in file.parts
        for name in _TEXT.findall(file.read_text(encoding="utf-8"))
    }
    text = (_ROOT / "_core.abi3.so").read_bytes().decode("latin-1")
    binary = {part for found in _VARIABLE.findall(text) for part in re.split(r"(?=DYN_)", found)}
    binary = {name for name in binary if len(name) >= _SHORTEST and not name.endswith("_")}
    return sorted(python), sorted(binary - python)


def judge_dynamo_variables(variables: dict[str, str], verdict: Verdict) -> None:
    """Refuse variables of Dynamo's that neither its Python nor its compiled part has."""
    python, binary = _variables()
    for name in unknown_variables(variables, ("DYN_",), set(python)):
        if not any(known.startswith(name) for known in binary):
            verdict.refuse("variables", f"unknown variable {name}")


def own_words(words: list[str], groups: Iterable[ArgGroup]) -> tuple[argparse.Namespace, list[str]]:
    """Take Dynamo's own flags out, whole names only; return what they say and what is left for the engine."""
    parser = exact(argparse.ArgumentParser)(add_help=False)
    for group in groups:
        group.add_arguments(parser)
    return parser.parse_known_args(words)


def judge_vllm_worker(case: dict[str, Any], verdict: Verdict) -> Any:
    """What ``dynamo.vllm`` does with its words, and what it does with vLLM's; None when refused."""
    from dynamo.vllm import args as worker
    from dynamo.vllm.backend_args import DynamoVllmArgGroup
    from vllm.engine.arg_utils import AsyncEngineArgs
    from vllm.utils.argparse_utils import FlexibleArgumentParser

    verdict.count("flags", sum(word.startswith("--") for word in case["words"]))
    judge_dynamo_variables(case["variables"], verdict)

    def strict() -> None:
        own, rest = own_words(case["words"], (DynamoRuntimeArgGroup(), DynamoVllmArgGroup()))
        del own
        rest = worker.parse_worker_router_config(rest)[1]
        AsyncEngineArgs.add_cli_args(exact(FlexibleArgumentParser)(add_help=False)).parse_args(rest)

    verdict.stage("command line", strict)
    found = verdict.stage("command line", lambda: worker.parse_args(case["words"]))
    return None if found is None else found.engine_args


def judge_hand_over(case: dict[str, Any], config: Any, verdict: Verdict) -> None:
    """What a prefill worker does first with a request: find how its connector hands KV cache over."""
    from dynamo.vllm.kv_connector_protocols import make_kv_connector_protocol

    if "--disaggregation-mode=prefill" in case["words"]:
        verdict.stage("hand-over", lambda: make_kv_connector_protocol(config))


def judge_frontend(case: dict[str, Any], verdict: Verdict) -> None:
    """What ``dynamo.frontend`` does with its words, and the engine's parser with those it leaves.

    The parsers are put together as its ``parse_args`` does; that itself looks for vLLM's in a module that vLLM 0.33.0
    has moved.
    """
    from vllm.engine.arg_utils import AsyncEngineArgs
    from vllm.entrypoints.common.cli_args import FrontendArgs
    from vllm.utils.argparse_utils import FlexibleArgumentParser

    verdict.count("flags", sum(word.startswith("--") for word in case["words"]))
    judge_dynamo_variables(case["variables"], verdict)

    def step() -> None:
        own, rest = own_words(case["words"], (FrontendArgGroup(),))
        config = FrontendConfig.from_cli_args(own)
        config.validate()
        if config.chat_processor == "vllm":
            parser = FrontendArgs.add_cli_args(exact(FlexibleArgumentParser)(add_help=False))
            parser = AsyncEngineArgs.add_cli_args(parser)
        else:
            parser = exact(argparse.ArgumentParser)(add_help=False)
            for name in _OF_FRONTEND if config.chat_processor == "sglang" else ():
                parser.add_argument(f"--{name}")
        parser.parse_args(rest)

    verdict.stage("command line", step)
