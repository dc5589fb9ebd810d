"""The router's policy file. tests/live hands the same text to Dynamo's own parser."""

from __future__ import annotations

import pytest

from manifests.dynamo.bands import quantum_tokens, queue_limit
from manifests.dynamo.policy_file import policy_file
from stacks.spec import Band, FlowControl

from ..cases import spec_of
from ..cluster_objects import objects_of

COST = """\
worker_selection:
  {stage}: cost
  instances:
  - name: cost
    type: dynamo-default-cost-fn
    parameters:
      overlap_score_credit: 1.0
      overlap_score_credit_decay: 0.0
      host_cache_hit_weight: 0.75
      disk_cache_hit_weight: 0.25
      shared_cache_multiplier: 0.0
      prefill_load_scale: 1.0
      decode_active_request_weight: 0.0
      router_temperature: 0.0
"""
BANDS = """\
default_policy_family: default
uncached_isl_buckets:
- min_tokens: 0
  bucket: any
policy_classes:
- name: interactive
  policy_family: interactive
  cache_bucket: any
  queue_policy: wspt
  quantum: 256
  prefill_busy_threshold: 16384
  request_queue_limit_per_worker: 64
- name: default
  policy_family: default
  cache_bucket: any
  queue_policy: wspt
  quantum: 128
  prefill_busy_threshold: 16384
  request_queue_limit_per_worker: 64
- name: background
  policy_family: background
  cache_bucket: any
  queue_policy: wspt
  quantum: 64
  prefill_busy_threshold: 16384
  request_queue_limit_per_worker: 16
"""
PRIORITIES = {"urgent": 10, "same": 10, "default": 0, "batch": -1}
BY_PRIORITY = {name: Band(priority=priority, longest_wait_s=60) for name, priority in PRIORITIES.items()}


@pytest.mark.parametrize(
    ("case", "text"),
    [
        ("a4x-max-dynamo", COST.format(stage="prefill")),
        ("g4-dynamo", COST.format(stage="aggregated")),
        ("dynamo-bands", BANDS + COST.format(stage="prefill")),
        ("dynamo-round-robin", None),
    ],
)
def test_the_file_says_what_a_worker_costs_and_how_requests_queue(case: str, text: str | None) -> None:
    assert policy_file(spec_of(case)) == text


def test_attention_ranks_share_a_step() -> None:
    """The router counts what waits in each rank, and SGLang gives each a quarter of the chunk."""
    text = policy_file(spec_of("dynamo-attention-ranks")) or ""
    assert "prefill_busy_threshold: 4096" in text
    assert "16384" not in text


def test_another_text_is_another_object() -> None:
    names = {objects_of(c).one("ConfigMap", "router-policy")["metadata"]["name"] for c in ("g4-dynamo", "dynamo-bands")}
    assert len(names) == 2


def test_a_higher_priority_has_twice_the_share_and_equals_share_alike() -> None:
    shares = {name: quantum_tokens(BY_PRIORITY, name, block_tokens=100) for name in BY_PRIORITY}
    assert shares == {"urgent": 400, "same": 400, "default": 200, "batch": 100}


def test_a_band_below_zero_is_full_first() -> None:
    assert [queue_limit(band, 64) for band in BY_PRIORITY.values()] == [64, 64, 64, 16]
    assert [queue_limit(band, 2) for band in BY_PRIORITY.values()] == [2, 2, 2, 1]
    assert {queue_limit(band, None) for band in BY_PRIORITY.values()} == {None}


def test_who_names_no_band_is_in_the_one_of_zero() -> None:
    assert FlowControl(order="arrival", bands=BY_PRIORITY).default_band == "default"
