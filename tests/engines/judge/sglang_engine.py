"""SGLang's own parser, resolution of arguments and list of variables."""

from __future__ import annotations

import argparse
import json
import re
import sys
from functools import cache
from pathlib import Path
from typing import Any

from tests.engines.judge import triton_module

triton_module.stand_in()

import sglang  # noqa: E402
from sglang.srt import environ  # noqa: E402
from sglang.srt.disaggregation.kv_events import KVEventsConfig  # noqa: E402
from sglang.srt.runtime_context import override_platform  # noqa: E402
from sglang.srt.server_args import ServerArgs, prepare_server_args  # noqa: E402

from tests.engines.judge.cases import Verdict, environment, exact, unknown_variables  # noqa: E402
from tests.engines.judge.flags import flags_of  # noqa: E402
from tests.engines.judge.keys import keys_of_class, keys_read  # noqa: E402
from tests.engines.judge.sglang_pools import capacity  # noqa: E402

__all__ = ["answer"]

_ROOT = Path(sglang.__file__).parent
_PREFIX = ("SGLANG_",)
_TEXT = re.compile(r"""["'](SGLANG_[A-Z0-9_]+)["']""")
_DOCUMENTS = {
    "kv-events-config": "kv-events-config",
    "hicache-storage-backend-extra-config": "hicache-storage-backend-extra-config",
}
_FILE_BACKEND = [
    _ROOT / "srt/mem_cache/hicache_storage.py",
    _ROOT / "srt/mem_cache/hybrid_cache/hybrid_cache_controller.py",
    _ROOT / "srt/mem_cache/storage/file/lru_file_evictor.py",
]
"""The code that reads the extra configuration of HiCache's file backend."""


def answer(asked: dict[str, Any]) -> dict[str, Any]:
    """Judge every case and say what SGLang takes."""
    from dynamo.common.configuration.groups.runtime_args import DynamoRuntimeArgGroup
    from dynamo.sglang.backend_args import DynamoSGLangArgGroup

    from tests.engines.judge.dynamo import group_flags

    parser = argparse.ArgumentParser()
    ServerArgs.add_cli_args(parser)
    extra = dict(keys_read(_FILE_BACKEND, ("extra_config", "_cfg", "extra")))
    sglang_flags = {
        "underscores": False,
        "dotted": False,
        "engine_flags": flags_of(parser._actions, _DOCUMENTS),
        "programs": {"sglang": {"flags": {}, "engine": "sglang"}},
        "documents": {
            "kv-events-config": {
                "keys": {**keys_of_class(KVEventsConfig), "publisher": {"kind": "text", "choices": ["null", "zmq"]}}
            },
            "hicache-storage-backend-extra-config": {"keys": extra, "only_with": {"hicache-storage-backend": "file"}},
        },
        "prefixes": list(_PREFIX),
        "variables": sorted(_variables()),
    }
    worker = {"flags": group_flags(DynamoRuntimeArgGroup(), DynamoSGLangArgGroup()), "engine": "sglang"}
    return {
        "flags": {"sglang": sglang_flags, "dynamo": {"programs": {"dynamo.sglang": worker}}},
        "verdicts": [_judge(case) for case in asked["cases"]],
    }


@cache
def _variables() -> set[str]:
    """Names in SGLang's registry, and in its code beside it; less those that its registry calls gone."""
    declared = {name for name in vars(environ.Envs) if name.startswith(_PREFIX)}
    read = {name for file in _ROOT.rglob("*.py") for name in _TEXT.findall(file.read_text(encoding="utf-8"))}
    return (declared | read) - set(environ._DEPRECATED_ENVS)


def _judge(case: dict[str, Any]) -> dict[str, Any]:
    verdict = Verdict(case)
    verdict.count("flags", sum(word.startswith("--") for word in case["words"]))
    _judge_variables(case["variables"], verdict)
    with environment(case["variables"], _PREFIX):
        words = case["words"]
        if case["program"] == "dynamo.sglang":
            words = verdict.stage("command line", lambda: _engines_words(case, verdict))
        if words is not None and verdict.stage("command line", lambda: _exact_words(words)) is not None:
            arguments = verdict.stage("configuration", lambda: _resolve(words, case["device"], verdict))
            if arguments is not None:
                found = verdict.stage(
                    "KV cache", lambda: capacity(arguments, case["kv_bytes_per_rank"], case["device"])
                )
                if found is not None:
                    verdict.keep_in_host(found.pop("host_tier_tokens"))
                    verdict.measure(found)
    return verdict.to_json()


def _judge_variables(variables: dict[str, str], verdict: Verdict) -> None:
    verdict.count("variables", sum(name.startswith((*_PREFIX, "DYN_")) for name in variables))
    for name in unknown_variables(variables, _PREFIX, _variables()):
        verdict.refuse("variables", f"unknown variable {name}")
    with environment(variables, _PREFIX):
        for name in variables:
            field = vars(environ.Envs).get(name)
            if field is not None:
                verdict.stage("variables", lambda name=name: getattr(environ.envs, name).get())


def _engines_words(case: dict[str, Any], verdict: Verdict) -> list[str]:
    """What ``dynamo.sglang`` leaves for SGLang; its own flags are judged on the way."""
    from dynamo.common.configuration.groups.router_args import parse_worker_router_config
    from dynamo.common.configuration.groups.runtime_args import DynamoRuntimeArgGroup, DynamoRuntimeConfig
    from dynamo.sglang.backend_args import DynamoSGLangArgGroup, DynamoSGLangConfig

    from tests.engines.judge.dynamo import judge_dynamo_variables, own_words

    class Config(DynamoRuntimeConfig, DynamoSGLangConfig):
        """As in dynamo/sglang/args.py, which would import all of SGLang's scheduler."""

    judge_dynamo_variables(case["variables"], verdict)
    own, rest = own_words(case["words"], (DynamoRuntimeArgGroup(), DynamoSGLangArgGroup()))
    config = Config.from_cli_args(own)
    DynamoRuntimeConfig.validate(config)
    DynamoSGLangConfig.validate(config)
    return parse_worker_router_config(rest)[1]


def _exact_words(words: list[str]) -> argparse.Namespace:
    parser = exact(argparse.ArgumentParser)(add_help=False)
    ServerArgs.add_cli_args(parser)
    return parser.parse_args(words)


def _resolve(words: list[str], device: dict[str, Any], verdict: Verdict) -> ServerArgs:
    """Resolve arguments as on the GPU that the case names, and read the documents that SGLang reads only later."""
    _ask_about(device)
    with override_platform(**{**device, "device_capability": tuple(device["device_capability"])}):
        arguments = prepare_server_args([*words, "--device=cuda"])
        arguments.resolve_once()
        arguments.check_server_args()
        resolved = arguments.resolved_dict()
    events = resolved.get("kv_events_config")
    if events:
        verdict.stage("configuration", lambda: _strict_events(events))
    extra = resolved.get("hicache_storage_backend_extra_config")
    if extra:
        from sglang.srt.mem_cache.hybrid_cache.hybrid_cache_controller import HybridCacheController

        parse = HybridCacheController.parse_storage_backend_extra_config
        verdict.stage("configuration", lambda: parse(extra))
    return arguments


def _ask_about(device: dict[str, Any]) -> None:
    """Some of SGLang's hooks ask PyTorch about the GPU, past the platform that can be overridden: answer them, too."""
    answers = {"is_sm90_supported": "is_sm90", "is_sm100_supported": "is_sm100", "is_sm120_supported": "is_sm120"}
    for name, module in list(sys.modules.items()):
        for question, fact in answers.items():
            if name.startswith(("sglang.srt.arg_groups.", "sglang.srt.utils")) and question in vars(module):
                setattr(module, question, lambda *_, answer=device[fact], **__: answer)


def _strict_events(text: str) -> None:
    """SGLang ignores keys that it does not know; its own fields say which those are."""
    config = KVEventsConfig.from_cli(text)
    unknown = set(json.loads(text)) - set(KVEventsConfig.model_fields)
    if unknown:
        raise ValueError(f"unknown keys {sorted(unknown)}")
    if config.publisher not in ("null", "zmq"):
        raise ValueError(f"unknown publisher {config.publisher!r}")
