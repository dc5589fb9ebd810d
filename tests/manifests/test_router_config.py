"""The endpoint picker's configuration, whole."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from .cluster_objects import objects_of


def config(case: str) -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load(objects_of(case).one("ConfigMap", "router-config")["data"]["config.yaml"])
    return loaded


def expected(*plugins: dict[str, Any], weights: dict[str, int]) -> dict[str, Any]:
    return {
        "apiVersion": "llm-d.ai/v1alpha1",
        "kind": "EndpointPickerConfig",
        "plugins": [
            *plugins,
            *({"type": scorer} for scorer in weights),
            {"type": "max-score-picker"},
            {"type": "single-profile-handler"},
        ],
        "schedulingProfiles": [
            {
                "name": "default",
                "plugins": [
                    *({"pluginRef": scorer, "weight": weight} for scorer, weight in weights.items()),
                    {"pluginRef": "max-score-picker"},
                ],
            }
        ],
    }


ALL = {"prefix-cache-scorer": 3, "queue-scorer": 2, "kv-cache-utilization-scorer": 2}
PRODUCER = "approx-prefix-cache-producer"

WANTED = {
    "short context keeps the router's own cap": ("small-l4", expected({"type": PRODUCER}, weights=ALL)),
    "long context lifts both caps": (
        "g4-llmd",
        expected(
            {"type": PRODUCER, "parameters": {"maxPrefixTokensToMatch": 0, "maxPrefixBlocksToMatch": 0}}, weights=ALL
        ),
    ),
    "weight 0 leaves a scorer out, and the producer it needs": ("queue-only", expected(weights={"queue-scorer": 1})),
}


@pytest.mark.parametrize("title", WANTED)
def test_config(title: str) -> None:
    case, wanted = WANTED[title]
    assert config(case) == wanted


def test_new_content_is_a_new_object_and_rolls_the_router() -> None:
    """The picker reads its file once: a ConfigMap changed in place would change nothing."""
    names, used = set(), set()
    for case in ("small-l4", "queue-only"):
        objects = objects_of(case)
        names.add(objects.one("ConfigMap", "router-config")["metadata"]["name"])
        used.add(objects.pod("router")["volumes"][0]["configMap"]["name"])
    assert names == used
    assert len(names) == 2
