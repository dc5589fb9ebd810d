"""What GKE says about the settings of a cluster: channel, identity, network, add-ons, maintenance."""

import ipaddress
from collections.abc import Iterator
from datetime import datetime

from beamline.sandbox.cloud.kinds.base import Inputs
from beamline.sandbox.cloud.kinds.compute import cidr_problem
from beamline.sandbox.cloud.kinds.keys import key_problem
from beamline.sandbox.cloud.machines import region_of
from beamline.sandbox.cloud.schema import Failure
from beamline.sandbox.cloud.simulation import Simulation

__all__ = ["setting_problems"]

_CHANNELS = ("UNSPECIFIED", "RAPID", "REGULAR", "STABLE", "EXTENDED")
_COMPONENTS = {
    "SYSTEM_COMPONENTS", "APISERVER", "SCHEDULER", "CONTROLLER_MANAGER", "STORAGE", "HPA", "POD", "DAEMONSET",
    "DEPLOYMENT", "STATEFULSET", "KUBELET", "CADVISOR", "DCGM", "JOBSET", "WORKLOADS", "KCP_CONNECTION", "KCP_SSHD",
    "KCP_HPA",
}  # fmt: skip
_HPA_PROFILES = ("NONE", "PERFORMANCE")
_EVALUATION_MODES = ("EVALUATION_MODE_UNSPECIFIED", "DISABLED", "PROJECT_SINGLETON_POLICY_ENFORCE")
_LONGEST_NO_UPGRADES_H = 30 * 24
_SHORTEST_WINDOW_H, _DAY_H, _LEAST_IN_32_DAYS_H = 4, 24, 48
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
    profile = (inputs.get("podAutoscaling") or {}).get("hpaProfile")
    if profile is not None and profile not in _HPA_PROFILES:
        expected = f"expected pod_autoscaling.0.hpa_profile to be one of {list(_HPA_PROFILES)}, got {profile}"
        yield Failure("podAutoscaling.hpaProfile", expected)
    yield from _private(inputs)
    yield from _maintenance(inputs)
    yield from _access(inputs)
    yield from _encryption(inputs, simulation)
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
    if inputs.get("enableMultiNetworking") and inputs.get("datapathProvider") != "ADVANCED_DATAPATH":
        yield Failure("enableMultiNetworking", "multi-networking needs GKE Dataplane V2 (ADVANCED_DATAPATH)")
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
    policy = inputs.get("maintenancePolicy") or {}
    for index, exclusion in enumerate(policy.get("maintenanceExclusions") or []):
        at, options = f"maintenancePolicy.maintenanceExclusions[{index}]", exclusion.get("exclusionOptions") or {}
        scope, end = options.get("scope", _EXCLUSIONS[0]), exclusion.get("endTime")
        if scope not in _EXCLUSIONS:
            yield Failure(f"{at}.exclusionOptions.scope", f"expected one of {list(_EXCLUSIONS)}")
        if not end and options.get("endTimeBehavior") != "UNTIL_END_OF_SUPPORT":
            yield Failure(f"{at}.endTime", "an exclusion needs an endTime, or endTimeBehavior UNTIL_END_OF_SUPPORT")
        if scope == "NO_UPGRADES" and (not end or _hours(exclusion["startTime"], end) > _LONGEST_NO_UPGRADES_H):
            yield Failure(f"{at}.endTime", "an exclusion of all upgrades (NO_UPGRADES) lasts 30 days at most")
        if end and _hours(exclusion["startTime"], end) <= 0:
            yield Failure(f"{at}.endTime", f"the exclusion ends at {end}, before it starts")
    if window := policy.get("recurringWindow"):
        yield from _window(window)


def _window(window: Inputs) -> Iterator[Failure]:
    hours = _hours(window["startTime"], window["endTime"])
    days = len((window["recurrence"].partition("BYDAY=")[2] or "MO,TU,WE,TH,FR,SA,SU").split(","))
    if not _SHORTEST_WINDOW_H <= hours <= _DAY_H:
        yield Failure("maintenancePolicy.recurringWindow.endTime", f"a window is open 4 to 24 hours, not {hours:g}")
    elif hours * days * 4 < _LEAST_IN_32_DAYS_H:
        yield Failure(
            "maintenancePolicy.recurringWindow",
            "maintenance policy would go longer than 32d without 48h maintenance availability of windows of >= 4h",
        )


def _hours(start: str, end: str) -> float:
    return (datetime.fromisoformat(end) - datetime.fromisoformat(start)).total_seconds() / 3600


def _access(inputs: Inputs) -> Iterator[Failure]:
    networks = inputs.get("masterAuthorizedNetworksConfig") or {}
    for index, block in enumerate(networks.get("cidrBlocks") or []):
        if reason := cidr_problem(block["cidrBlock"]):
            yield Failure(f"masterAuthorizedNetworksConfig.cidrBlocks[{index}].cidrBlock", reason)
    endpoints = inputs.get("controlPlaneEndpointsConfig") or {}
    by_address = (endpoints.get("ipEndpointsConfig") or {}).get("enabled", True)
    if networks.get("cidrBlocks") and not by_address:
        yield Failure(
            "masterAuthorizedNetworksConfig",
            "authorized networks are for IP endpoints, and ipEndpointsConfig is off",
        )
    mode = (inputs.get("binaryAuthorization") or {}).get("evaluationMode", "DISABLED")
    if mode not in _EVALUATION_MODES:
        yield Failure("binaryAuthorization.evaluationMode", f"expected one of {list(_EVALUATION_MODES)}, got {mode}")


def _encryption(inputs: Inputs, simulation: Simulation) -> Iterator[Failure]:
    encryption, location = inputs.get("databaseEncryption") or {}, inputs.get("location") or simulation.region
    if encryption.get("state") == "ENCRYPTED" and not encryption.get("keyName"):
        yield Failure("databaseEncryption.keyName", "ENCRYPTED needs a key")
    if reason := key_problem(encryption.get("keyName"), region_of(location) or ""):
        yield Failure("databaseEncryption.keyName", reason)
