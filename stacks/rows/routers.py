"""Rows about router stacks: which images, versions and words of a release go together."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from stacks.forms import ApiVersion, GkeVersion, Text, Version
from stacks.rows.base import ChartRow, ContainerUser, EngineImage, ImageRow, NotNegative, Positive, Sourced
from stacks.rows.clients import FrontendApis, PickerApis, RouterHeaders
from stacks.rows.models import EngineKind

__all__ = ["DynamoRelease", "FlowOrder", "LlmdRelease", "ReleaseRow"]

FlowOrder = Literal["arrival", "turn_priority", "shortest_uncached"]
"""In which a band's requests start."""


class RouterPorts(Sourced):
    """Ports of the endpoint picker."""

    ext_proc: Positive
    health: Positive
    metrics: Positive


class RouterSizing(Sourced):
    """Requests of the router's pod."""

    cpu: Positive
    memory_gib: Positive


class PrefixMatching(Sourced):
    """How much of a prompt the router compares with what an engine has cached."""

    default_max_tokens: Positive = Field(description="Longest prefix it compares unless told otherwise.")


class ScorerWeights(Sourced):
    """Weights of the endpoint picker's scorers, where a preset names none."""

    prefix_cache: NotNegative
    queue: NotNegative
    kv_cache_utilization: NotNegative
    session_affinity: Positive = Field(description="Of the replica that took a session's last request, if not strict.")
    lower_tier_share: Annotated[float, Field(gt=0, le=1)] = Field(
        description="What a block in a tier below GPU memory counts, of one in GPU memory."
    )


class FlowOrders(Sourced):
    """In which orders this release can keep the requests that wait."""

    words: dict[FlowOrder, Text] = Field(
        description="The release's own word for each: a plugin of llm-d's picker, a queue policy of Dynamo's router."
    )


class PickerPlugins(Sourced):
    """What this release of the endpoint picker knows; its configuration is refused as a whole for a word too many."""

    experimental: list[Text] = Field(description="Types that start only with --allow-experimental-plugins.")
    wait_per_band: bool = Field(description="Whether a band of flow control can have a longest wait of its own.")


class KvEventSettings(Sourced):
    """How engines publish what they cache, and the picker listens."""

    port: Positive
    hybrid_models: bool = Field(description="Whether sliding windows are kept out of its index.")


class RoutingSidecar(Sourced):
    """The proxy before a decode engine: it has the prompt computed elsewhere first."""

    image: ImageRow
    engine_port: Positive = Field(description="Where the engine listens; the proxy has the engine's usual port.")
    connector: Text = Field(description="Its word for NIXL.")
    tls_flag: Text = Field(description="Flag that has it serve TLS, which is on by default.")
    idle_close_s: Positive = Field(description="It closes a connection that was idle for so long; no flag for it.")
    cpu: Positive


class RouterProxy(Sourced):
    """Envoy beside the picker, where the load balancer does not ask the picker itself."""

    image: ImageRow
    port: Positive
    health_port: Positive
    metrics_port: Positive
    admin_port: Positive = Field(description="On the pod's loopback only.")
    destination_header: Text = Field(description="In it the picker names the engine that it chose.")
    cpu: Positive
    memory_gib: Positive


class LlmdRelease(Sourced):
    """One release of the llm-d router: which images and API versions go together."""

    schema_file: ClassVar[str] = "llmd-release"

    kind: Literal["llm-d"]
    version: Version
    engines: Annotated[dict[EngineKind, list[Version]], Field(min_length=1)] = Field(
        description="Engine versions the kit runs behind this router; each engine runs from its own image."
    )
    router_image: ImageRow
    user: ContainerUser
    config_api_version: ApiVersion
    inference_pool_api_version: ApiVersion
    inference_objective_api_version: ApiVersion = Field(description="The picker reads no other.")
    gke_installs_inference_pool_from: GkeVersion
    ports: RouterPorts
    sizing: RouterSizing
    prefix_matching: PrefixMatching
    scorer_weights: ScorerWeights
    plugins: PickerPlugins
    flow: FlowOrders
    kv_events: KvEventSettings
    routing_sidecar: RoutingSidecar
    proxy: RouterProxy
    apis: PickerApis
    headers: RouterHeaders


class DynamoPorts(Sourced):
    """Ports of a Dynamo graph."""

    frontend: Positive = Field(description="OpenAI API, health and metrics of the frontend.")
    system: Positive = Field(description="Health and metrics of a worker.")
    kv_events: Positive = Field(description="First port workers publish cache events on, one more per data rank.")
    bootstrap: Positive = Field(description="Where prefill workers meet decode workers.")


class DynamoRuntime(Sourced):
    """The image that runs one engine under this release."""

    engine_version: Version
    image: EngineImage
    module: Text = Field(description="Python module of the worker.")
    spans_nodes: bool = Field(description="Whether the kit renders one replica of it over several nodes.")
    prefill_decode: bool = Field(description="Whether the kit renders separate prefill and decode workers of it.")


class RoutingCost(Sourced):
    """What the router charges a worker for a request, in blocks; the worker that costs least gets it."""

    function: Text = Field(description="Type of the router's worker selection.")
    weights: dict[Text, Annotated[float, Field(ge=0, le=1000)]] = Field(
        description="Every parameter of the function, as the release itself sets it."
    )


class DynamoRelease(Sourced):
    """One release of NVIDIA Dynamo: platform chart, API version, and the image of each engine."""

    schema_file: ClassVar[str] = "dynamo-release"

    kind: Literal["dynamo"]
    version: Version
    platform: ChartRow
    api_version: ApiVersion = Field(description="apiVersion of DynamoGraphDeployment.")
    runtimes: Annotated[dict[EngineKind, DynamoRuntime], Field(min_length=1)]
    user: ContainerUser
    ports: DynamoPorts
    sizing: RouterSizing = Field(description="Requests of one frontend.")
    routing_cost: RoutingCost
    flow: FlowOrders
    apis: FrontendApis
    headers: RouterHeaders

    @property
    def engines(self) -> dict[EngineKind, list[str]]:
        """Engine versions this release runs."""
        return {kind: [runtime.engine_version] for kind, runtime in self.runtimes.items()}


ReleaseRow = LlmdRelease | DynamoRelease
