"""What a preset says: the intent of one serving stack, in the field's words.

These models are the contract of ``stacks/presets/*.yaml`` and of ``overrides`` in a stack file. They hold intent only;
every number that follows from it (ports, shared memory, pod requests, budgets, timeouts) comes from
``stacks.derive``.
"""

from __future__ import annotations

from stacks.spec.host_maintenance import AsNeeded, Opportunistic, Periodic
from stacks.spec.infrastructure import (
    AcceleratorPool,
    AcceleratorPools,
    ClusterNetwork,
    ExistingCluster,
    ExistingNetwork,
    FlexStart,
    NewCluster,
    NewNetwork,
    OnDemand,
    Reservation,
    Spot,
    SystemPool,
)
from stacks.spec.preset import (
    Evidence,
    ManagedPrometheus,
    NoMonitoring,
    Preset,
)
from stacks.spec.routing import Band, FlowControl, PrefixAndLoad, RoundRobin, Routing, Scorers, SessionAffinity
from stacks.spec.scaling import Scaling
from stacks.spec.serving import (
    Aggregated,
    DynamoRouter,
    Gateway,
    HostDramOffload,
    IdentityAwareProxy,
    KvCache,
    LlmdRouter,
    LocalSsdOffload,
    NoAuthentication,
    NoOffload,
    PrefillDecode,
    Serving,
    SglangEngine,
    Speculation,
    TieredOffload,
    Transport,
    VllmEngine,
)
from stacks.spec.weights import Bucket, GcsFuse, HuggingFace, HyperdiskMl, LocalSsd, Model, Storage, WeightSource

__all__ = [
    "AcceleratorPool",
    "AcceleratorPools",
    "Aggregated",
    "AsNeeded",
    "Band",
    "Bucket",
    "ClusterNetwork",
    "DynamoRouter",
    "Evidence",
    "ExistingCluster",
    "ExistingNetwork",
    "FlexStart",
    "FlowControl",
    "Gateway",
    "GcsFuse",
    "HostDramOffload",
    "HuggingFace",
    "HyperdiskMl",
    "IdentityAwareProxy",
    "KvCache",
    "LlmdRouter",
    "LocalSsd",
    "LocalSsdOffload",
    "ManagedPrometheus",
    "Model",
    "NewCluster",
    "NewNetwork",
    "NoAuthentication",
    "NoMonitoring",
    "NoOffload",
    "OnDemand",
    "Opportunistic",
    "Periodic",
    "PrefillDecode",
    "PrefixAndLoad",
    "Preset",
    "Reservation",
    "RoundRobin",
    "Routing",
    "Scaling",
    "Scorers",
    "Serving",
    "SessionAffinity",
    "SglangEngine",
    "Speculation",
    "Spot",
    "Storage",
    "SystemPool",
    "TieredOffload",
    "Transport",
    "VllmEngine",
    "WeightSource",
]
