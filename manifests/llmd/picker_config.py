"""The endpoint picker's configuration: how it chooses among the engines, and how long requests wait for one.

Parsing is strict in the router (unknown fields and parameters stop it), so only what the release knows is written, and
the parts it would add by itself (pickers, handlers, producers) are written out: the file then says all that happens.
Metrics collection is left to its defaults, which fit vLLM.

With prefill apart, decode is chosen first, then, if the prompt is worth it, a prefill replica: the decider's question.
The handler wants a memory of prefixes whoever decides (``approx-prefix-cache-producer``).
Source: llm-d-router v0.10.0, pkg/epp/config/loader, pkg/epp/framework/plugins
"""

from __future__ import annotations

from typing import Any

import yaml

from manifests.chosen import llmd_release, publishes_events
from manifests.llmd.cache_view import EVENTS, approximate_producer, cache_view
from manifests.llmd.plugins import Part, Plugin, declarations
from manifests.llmd.queueing import queueing
from manifests.llmd.sessions import session_affinity
from stacks.resolve import StackSpec
from stacks.roles import Role
from stacks.spec import PrefillDecode

__all__ = ["CONFIG_FILE", "picker_config", "takes_experimental_plugins"]

CONFIG_FILE = "config.yaml"
_PICKER = Plugin("max-score-picker")
_ENDPOINTS = Plugin("endpoint-notification-source")
_TELLS_OF_REPLICAS = {"pluginRef": _ENDPOINTS.reference, "extractors": [{"pluginRef": EVENTS}]}
"""The listener hears of a replica when the picker does. Metrics' own source and extractor are added by the router."""
_PROFILES = {"worker": "default", "prefill": "prefill", "decode": "decode"}
"""Scheduling profile by role; the handler knows the last two by these names."""


def picker_config(spec: StackSpec) -> str:
    """EndpointPickerConfig as YAML."""
    text: str = yaml.safe_dump(_config(spec), sort_keys=False)
    return text


def takes_experimental_plugins(spec: StackSpec) -> bool:
    """Whether the configuration has plugins that the picker starts only when it is told that it may."""
    return any(entry["type"] in llmd_release(spec).plugins.experimental for entry in _config(spec)["plugins"])


def _config(spec: StackSpec) -> dict[str, Any]:
    profiles = {_PROFILES[role.name]: _profile(spec, role) for role in spec.roles}
    waiting, heard = queueing(spec), publishes_events(spec)
    needed = [plugin for part in profiles.values() for plugin in part.needs]
    chosen = [plugin for part in profiles.values() for plugin in part.chooses]
    plugins = [*needed, *([_ENDPOINTS] if heard else []), *waiting.plugins, *chosen, _PICKER, *_handler(spec)]
    return {
        "apiVersion": llmd_release(spec).config_api_version,
        "kind": "EndpointPickerConfig",
        **({"featureGates": list(waiting.gates)} if waiting.gates else {}),
        "plugins": declarations(plugins),
        **({"dataLayer": {"sources": [_TELLS_OF_REPLICAS]}} if heard else {}),
        **({"flowControl": dict(waiting.section)} if waiting.section else {}),
        "schedulingProfiles": [
            {"name": name, "plugins": [plugin.used() for plugin in (*part.chooses, _PICKER)]}
            for name, part in profiles.items()
        ],
    }


def _profile(spec: StackSpec, role: Role) -> Part:
    """Filters come first: they narrow down whom the scorers mark."""
    of_role = Part() if role.name == "worker" else Part(chooses=(Plugin(f"{role.name}-filter"),))
    return of_role + session_affinity(spec, role) + cache_view(spec, role)


def _handler(spec: StackSpec) -> tuple[Plugin, ...]:
    shape = spec.preset.serving.shape
    if not isinstance(shape, PrefillDecode):
        return (Plugin("single-profile-handler"),)
    decider = (
        Plugin("always-disagg-pd-decider")
        if shape.from_uncached_tokens is None
        else Plugin("prefix-based-pd-decider", {"nonCachedTokens": shape.from_uncached_tokens})
    )
    handler = Plugin("disagg-profile-handler", {"deciders": {"prefill": decider.reference}})
    return (approximate_producer(spec), decider, handler)
