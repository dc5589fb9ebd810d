"""What GKE says about the settings of a cluster: channel, identity, network, add-ons, maintenance."""

import ipaddress
from collections.abc import Iterator

from beamline.sandbox.cloud.kinds.base import Inputs
from beamline.sandbox.cloud.kinds.compute import cidr_problem
from beamline.sandbox.cloud.schema import Failure
from beamline.sandbox.cloud.simulation import Simulation

__all__ = ["setting_problems"]

_CHANNELS = ("UNSPECIFIED", "RAPID", "REGULAR", "STABLE", "EXTENDED")
_COMPONENTS = {
    "SYSTEM_COMPONENTS", "APISERVER", "SCHEDULER", "CONTROLLER_MANAGER", "STORAGE", "HPA", "POD", "DAEMONSET",
    "DEPLOYMENT", "STATEFULSET", "KUBELET", "CADVISOR", "DCGM", "JOBSET", "WORKLOADS", "KCP_CONNECTION", "KCP_SSHD",
    "KCP_HPA",
}  # fmt: skip
_EXCLUSIONS = ("NO_UPGRADES", "NO_MINOR_UPGRADES", "NO_MINOR_OR_NODE_UPGRADES")


def setting_problems(inputs: Inputs, simulation: Simulation) -> Iterator[Failure]:
    """Yield what is wrong with the settings of a cluster."""
    channel = (inputs.get("releaseChannel") or {}).get("channel", "REGULAR")
    if channel not in _CHANNELS:
        yield Failure(
            "releaseChannel.channel",
            f"expected release_channel.0.channel to be one of {list(_CHANNELS)}, got {channel}",
        )
    pool = (inputs.get("workloadIdentityConfig") or {}).get("workloadPool")
    project = inputs.get("project") or simulation.project
    if pool is not None and pool != f"{project}.svc.id.goog":
        yield Failure(
            "workloadIdentityConfig.workloadPool", f'the only workload pool of the project is "{project}.svc.id.goog"'
        )
    yield from _datapath(inputs)
    yield from _gateway(inputs)
    yield from _components(inputs)
    yield from _private(inputs)
    yield from _maintenance(inputs)
    pods = inputs.get("defaultMaxPodsPerNode")
    if pods is not None and not 8 <= pods <= 256:  # noqa: PLR2004 - GKE's limits
        yield Failure("defaultMaxPodsPerNode", f"the maximum of pods per node is 8 to 256, not {pods}")


def _datapath(inputs: Inputs) -> Iterator[Failure]:
    if inputs.get("datapathProvider", "LEGACY_DATAPATH") not in (
        "DATAPATH_PROVIDER_UNSPECIFIED",
        "LEGACY_DATAPATH",
        "ADVANCED_DATAPATH",
    ):
        yield Failure("datapathProvider", "expected LEGACY_DATAPATH or ADVANCED_DATAPATH")
    if inputs.get("datapathProvider") == "ADVANCED_DATAPATH" and (inputs.get("networkPolicy") or {}).get("enabled"):
        yield Failure(
            "networkPolicy",
            "Enabling NetworkPolicy for clusters with DatapathProvider=ADVANCED_DATAPATH is not allowed.",
        )


def _gateway(inputs: Inputs) -> Iterator[Failure]:
    gateway = (inputs.get("gatewayApiConfig") or {}).get("channel", "CHANNEL_DISABLED")
    if gateway not in ("CHANNEL_DISABLED", "CHANNEL_EXPERIMENTAL", "CHANNEL_STANDARD"):
        yield Failure("gatewayApiConfig.channel", "expected CHANNEL_DISABLED or CHANNEL_STANDARD")
    balancing = (inputs.get("addonsConfig") or {}).get("httpLoadBalancing") or {}
    if gateway == "CHANNEL_STANDARD" and balancing.get("disabled"):
        yield Failure("gatewayApiConfig", "the Gateway API needs the HttpLoadBalancing add-on")


def _components(inputs: Inputs) -> Iterator[Failure]:
    for block in ("monitoringConfig", "loggingConfig"):
        for index, component in enumerate((inputs.get(block) or {}).get("enableComponents") or []):
            if component not in _COMPONENTS:
                yield Failure(f"{block}.enableComponents[{index}]", f"unknown component {component!r}")


def _private(inputs: Inputs) -> Iterator[Failure]:
    native = inputs.get("networkingMode", "VPC_NATIVE") == "VPC_NATIVE"
    private = inputs.get("privateClusterConfig") or {}
    if not native and (inputs.get("ipAllocationPolicy") or private.get("enablePrivateNodes")):
        yield Failure("networkingMode", "private nodes and ipAllocationPolicy need VPC_NATIVE networking")
    block = private.get("masterIpv4CidrBlock")
    if block and (cidr_problem(block) or ipaddress.ip_network(block).prefixlen != 28):  # noqa: PLR2004
        yield Failure("privateClusterConfig.masterIpv4CidrBlock", f"the control plane's range is a /28, not {block}")
    if private.get("enablePrivateEndpoint") and not inputs.get("masterAuthorizedNetworksConfig"):
        yield Failure(
            "privateClusterConfig.enablePrivateEndpoint", "a private endpoint needs masterAuthorizedNetworksConfig"
        )


def _maintenance(inputs: Inputs) -> Iterator[Failure]:
    for index, exclusion in enumerate((inputs.get("maintenancePolicy") or {}).get("maintenanceExclusions") or []):
        scope = (exclusion.get("exclusionOptions") or {}).get("scope", _EXCLUSIONS[0])
        if scope not in _EXCLUSIONS:
            yield Failure(
                f"maintenancePolicy.maintenanceExclusions[{index}].exclusionOptions.scope",
                f"expected one of {list(_EXCLUSIONS)}",
            )
