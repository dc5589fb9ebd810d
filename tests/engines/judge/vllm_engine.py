"""vLLM's own parser, configuration, registries and list of variables."""

from __future__ import annotations

from typing import Any

from vllm import envs
from vllm.config.cache import KV_CACHE_DTYPES
from vllm.engine.arg_utils import AsyncEngineArgs
from vllm.entrypoints.cli.serve import make_arg_parser, validate_parsed_serve_args
from vllm.platforms import current_platform
from vllm.reasoning import ReasoningParserManager
from vllm.tool_parsers import ToolParserManager
from vllm.usage.usage_lib import UsageContext
from vllm.utils.argparse_utils import FlexibleArgumentParser

from tests.engines.judge.cases import Verdict, environment, exact, unknown_variables
from tests.engines.judge.dynamo import DYNAMO, dynamo_flags, judge_frontend, judge_hand_over, judge_vllm_worker
from tests.engines.judge.flags import flags_of
from tests.engines.judge.vllm_caches import capacity
from tests.engines.judge.vllm_connectors import documents, judge_connectors

__all__ = ["answer"]

_PREFIX = ("VLLM_",)
type(current_platform).is_cumem_allocator_available = lambda _: True  # GPUs have it; the CPU target says no
_DOCUMENTS = {
    "kv-transfer-config": "kv-transfer-config",
    "kv-events-config": "kv-events-config",
    "speculative-config": "speculative-config",
}


def answer(asked: dict[str, Any]) -> dict[str, Any]:
    """Judge every case and say what vLLM takes."""
    engine = AsyncEngineArgs.add_cli_args(FlexibleArgumentParser())._actions
    serve = make_arg_parser(FlexibleArgumentParser())._actions
    own = {name for action in engine for name in action.option_strings}
    others = [action for action in serve if not own & set(action.option_strings)]
    flags = {
        "underscores": True,
        "dotted": True,
        "engine_flags": {name: {**flag, **_words(name)} for name, flag in flags_of(engine, _DOCUMENTS).items()},
        "programs": {
            "vllm": {
                "flags": {name: {**flag, **_words(name)} for name, flag in flags_of(others, {}).items()},
                "engine": "vllm",
                "model_first": True,
            }
        },
        "documents": documents(),
        "prefixes": list(_PREFIX),
        "variables": sorted(envs.environment_variables),
    }
    verdicts = [_judge(case, asked["scratch"]) for case in asked["cases"]]
    return {"flags": {"vllm": flags, "dynamo": dynamo_flags()}, "verdicts": verdicts}


def _words(flag: str) -> dict[str, list[str]]:
    """The words that a flag takes, where its parser takes any and what is behind it does not."""
    words = {
        "kv-cache-dtype": KV_CACHE_DTYPES,
        "reasoning-parser": ReasoningParserManager.list_registered(),
        "tool-call-parser": ToolParserManager.list_registered(),
    }.get(flag)
    return {"choices": sorted(words)} if words else {}


def _judge(case: dict[str, Any], scratch: str) -> dict[str, Any]:
    verdict = Verdict(case)
    _judge_variables(case["variables"], verdict)
    with environment(case["variables"], _PREFIX):
        if case["program"] == "dynamo.frontend":
            judge_frontend(case, verdict)
        else:
            parse = judge_vllm_worker if case["program"] in DYNAMO else _parse
            arguments = parse(case, verdict)
            if arguments is not None:
                config = verdict.stage(
                    "configuration", lambda: arguments.create_engine_config(UsageContext.OPENAI_API_SERVER)
                )
                if config is not None:
                    judge_connectors(config, verdict, scratch)
                    verdict.measure(verdict.stage("KV cache", lambda: capacity(config, case["kv_bytes_per_rank"])))
                    judge_hand_over(case, config, verdict)
    return verdict.to_json()


def _judge_variables(variables: dict[str, str], verdict: Verdict) -> None:
    verdict.count("variables", sum(name.startswith((*_PREFIX, "DYN_")) for name in variables))
    for name in unknown_variables(variables, _PREFIX, set(envs.environment_variables)):
        verdict.refuse("variables", f"unknown variable {name}")
    with environment(variables, _PREFIX):
        for name in variables:
            if name in envs.environment_variables and name.startswith(_PREFIX):
                verdict.stage("variables", envs.environment_variables[name])


def _parse(case: dict[str, Any], verdict: Verdict) -> AsyncEngineArgs | None:
    """What ``vllm serve`` does with its words, up to the engine's arguments."""
    verdict.count("flags", sum(word.startswith("--") for word in case["words"]))

    def step() -> AsyncEngineArgs:
        parser = make_arg_parser(exact(FlexibleArgumentParser)())
        arguments = parser.parse_args(case["words"])
        validate_parsed_serve_args(arguments)
        arguments.model = arguments.model_tag or arguments.model
        return AsyncEngineArgs.from_cli_args(arguments)

    return verdict.stage("command line", step)
