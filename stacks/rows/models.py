"""Rows about models: the numbers that decide memory, the checkpoints, the drafters, which engine serves them."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from stacks.forms import ComputeCapability, DnsLabel, FlagName, Text, Version
from stacks.rows.base import NotNegative, Positive, Sourced
from stacks.rows.refusals import Precision, Refused

__all__ = ["Architecture", "Checkpoint", "Drafter", "EngineKind", "ModelRow", "ModelSupport"]

EngineKind = Literal["vllm", "sglang"]


class Architecture(Sourced):
    """The numbers that decide memory: see ``stacks.memory`` for the formulas."""

    engine_class: Text
    parameters: Positive
    active_parameters: Positive
    hidden_size: Positive
    attention_heads: Positive
    kv_heads: Positive
    head_dim: Positive
    full_attention_layers: Positive
    sliding_attention_layers: NotNegative
    sliding_window_tokens: NotNegative
    experts: NotNegative = Field(description="Routed experts per mixture-of-experts layer; 0 for a dense model.")
    max_context_tokens: Positive


class Checkpoint(Sourced):
    """One set of weights of a model."""

    precision: Precision
    weights_bytes: Positive
    needs: list[Literal["fp8_tensor_cores", "fp4_tensor_cores"]] = Field(default_factory=list)


class Drafter(Sourced):
    """A speculative-decoding draft model that belongs to a model."""

    methods: Annotated[dict[EngineKind, Text], Field(min_length=1)] = Field(
        description="Each engine's name for the method (vLLM: speculative_config.method)."
    )
    engine_class: Text
    weights_bytes: Positive
    max_speculative_tokens: Positive
    attention_heads: Positive = Field(description="A tensor parallel size must divide them.")
    layers: Positive = Field(description="Attention layers; each has KV heads like the target's.")
    sliding_window_tokens: Positive | None = Field(description="How far they look back; null: over the whole context.")


class ExpertParallelNeeds(Sourced):
    """What has to be so before an engine spreads a model's experts over ranks, and how it is told to."""

    precisions: Annotated[list[Precision], Field(min_length=1)]
    compute_capabilities: Annotated[list[ComputeCapability], Field(min_length=1)]
    one_attention_rank_per_gpu: bool = Field(description="Whether data_parallel has to equal tensor_parallel.")
    arguments: dict[str, str | int | bool] = Field(description="Arguments that go with it.")


class ModelSupport(Sourced):
    """What one engine needs to know to serve a model."""

    first_version: Version
    tensor_parallel: Annotated[list[Positive], Field(min_length=1)]
    expert_parallel: bool = Field(description="Whether the kit knows how to spread this model's experts there.")
    expert_parallel_needs: ExpertParallelNeeds | None = Field(default=None, description="Null: nothing but GPUs.")
    expert_parallel_over_tensor_and_data: bool = Field(
        default=False,
        description="Whether experts may be spread where tensor and data parallel sizes are both above 1.",
    )
    arguments: dict[str, str | int | bool] = Field(description="Arguments every worker of this model takes.")
    refuses: dict[FlagName, Refused] = Field(
        default_factory=dict, description="Arguments that the engine takes and then refuses to load this model with."
    )


class ModelRow(Sourced):
    """One model: its architecture, its checkpoints, its drafters, and which engine serves it from which version."""

    schema_file: ClassVar[str] = "model"

    name: DnsLabel
    title: Text
    served_name: Text
    architecture: Architecture
    checkpoints: Annotated[dict[DnsLabel, Checkpoint], Field(min_length=1)]
    drafters: dict[DnsLabel, Drafter] = Field(default_factory=dict)
    engines: Annotated[dict[EngineKind, ModelSupport], Field(min_length=1)]
