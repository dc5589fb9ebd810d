"""The router's own strict parser takes every policy file the kit writes, and refuses misspelt ones."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from manifests.dynamo.policy_file import POLICY_FILE, policy_file
from tests.live.loopback import PYTHON, NotReadyError, serving
from tests.live.rendered import objects
from tests.manifests.cases import spec_of
from tests.manifests.dynamo.cases import DYNAMO_CASES

LADDER = [f"{shape}-{rung}" for shape in ("g4-dynamo", "a4x-max-dynamo") for rung in ("b1", "b2", "b3")]
_ASK = """
import json, sys
from dynamo.llm import KvRouterConfig
said = []
for path in json.load(sys.stdin):
    try:
        KvRouterConfig(router_policy_config=path)
        said.append(None)
    except Exception as error:
        said.append(str(error))
print(json.dumps(said))
"""


def _texts() -> dict[str, str]:
    """Every policy file the kit writes, by stack."""
    cases = {case: policy_file(spec_of(case)) for case in DYNAMO_CASES}
    ladder = {preset: objects(preset).one("ConfigMap", "router-policy")["data"][POLICY_FILE] for preset in LADDER}
    return {name: text for name, text in {**cases, **ladder}.items() if text is not None}


def _verdicts(texts: dict[str, str], folder: Path) -> dict[str, str | None]:
    """What the parser says of each; None: taken."""
    paths = []
    for number, text in enumerate(texts.values()):
        paths.append(str(folder / f"{number}.yaml"))
        Path(paths[-1]).write_text(text, encoding="utf-8")
    asked = subprocess.run(
        [str(PYTHON), "-c", _ASK], input=json.dumps(paths), capture_output=True, text=True, check=True, timeout=60
    )
    return dict(zip(texts, json.loads(asked.stdout), strict=True))


def test_every_file_is_taken(tmp_path: Path, say: Callable[[str], None]) -> None:
    texts = _texts()
    verdicts = _verdicts(texts, tmp_path)
    say(f"policy files: {len(texts)} stacks, {len(set(texts.values()))} texts, all taken by KvRouterConfig")
    assert verdicts == dict.fromkeys(texts)


def _misspelt(data: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """The file once for every key, with two letters of that key swapped."""
    if isinstance(data, dict):
        for key, value in data.items():
            swapped = f"{key[:-2]}{key[-1]}{key[-2]}"
            yield f"{path}.{key}", {(swapped if k == key else k): v for k, v in data.items()}
            yield from ((where, {**data, key: inner}) for where, inner in _misspelt(value, f"{path}.{key}"))
    elif isinstance(data, list):
        for number, item in enumerate(data):
            for where, inner in _misspelt(item, f"{path}[{number}]"):
                yield where, [*data[:number], inner, *data[number + 1 :]]


def test_every_misspelt_key_is_refused(tmp_path: Path, say: Callable[[str], None]) -> None:
    """But for the weights, which the parser hands to the cost function; that refuses them when the frontend starts."""
    policy = yaml.safe_load(_texts()["g4-dynamo-b3"])
    wrong = {where: yaml.safe_dump(data) for where, data in _misspelt(policy) if ".parameters." not in where}
    taken = [where for where, said in _verdicts(wrong, tmp_path).items() if said is None]
    say(f"misspelt keys: {len(wrong)} files, {len(wrong) - len(taken)} refused")
    assert taken == []
    assert len(wrong) > 20


def test_a_misspelt_weight_stops_the_frontend(tmp_path: Path, say: Callable[[str], None]) -> None:
    found = objects("g4-dynamo-b1")
    data = found.one("ConfigMap", "router-policy")["data"]
    data[POLICY_FILE] = data[POLICY_FILE].replace("host_cache_hit_weight", "host_cache_hit_wieght")
    with pytest.raises(NotReadyError, match="unknown field `host_cache_hit_wieght`"), serving(found, tmp_path):
        pass
    say("a misspelt weight: the frontend ends at start and names it")
