"""A provider without a cloud: what it creates it only remembers, and it replaces by the simulated cloud's own table.

Run as ``pulumi-resource-gcp`` on the real engine, so that a test sees what the engine does when a resource changes.
"""

import json
import sys
from collections.abc import Mapping
from typing import Any

from pulumi.provider.experimental import provider, server
from pulumi.provider.experimental.property_value import PropertyValue

from beamline.sandbox.cloud.changes import changes

_COMPUTED = "selfLink"
"""An output that no input says."""


class Remembering(provider.Provider):
    async def get_schema(self, _request):
        return provider.GetSchemaResponse(schema=json.dumps({"name": "gcp", "version": "0.0.0"}))

    async def check_config(self, request):
        return provider.CheckResponse(inputs=request.new_inputs)

    async def diff_config(self, _request):
        return provider.DiffResponse(changes=False)

    async def configure(self, _request):
        return provider.ConfigureResponse(accept_secrets=False, supports_preview=True)

    async def check(self, request):
        return provider.CheckResponse(inputs=request.new_inputs)

    async def diff(self, request):
        kind = request.urn.split("::")[2].rpartition("$")[2]
        old = {key: value for key, value in _plain(request.old_state).items() if key != _COMPUTED}
        found = changes(kind, old, _plain(request.new_inputs))
        return provider.DiffResponse(
            changes=bool(found),
            replaces=found.replaces,
            diffs=[*found.added, *found.removed, *found.changed],
        )

    async def create(self, request):
        name = request.urn.rpartition("::")[2]
        computed = {_COMPUTED: PropertyValue(f"projects/p/{name}")}
        return provider.CreateResponse(None if request.preview else name, {**request.properties, **computed})

    async def update(self, request):
        return provider.UpdateResponse(properties={**request.olds, **request.news})

    async def delete(self, _request):
        return None

    async def read(self, request):
        return provider.ReadResponse(request.resource_id, request.properties, request.inputs)

    async def cancel(self):
        return None


def _plain(properties: Mapping[str, PropertyValue]) -> dict[str, Any]:
    return {key: _value(value) for key, value in properties.items()}


def _value(value: PropertyValue) -> Any:
    inner = value.value
    if isinstance(inner, Mapping):
        return _plain(inner)
    if isinstance(inner, (list, tuple)):
        return [_value(item) for item in inner]
    return inner


if __name__ == "__main__":
    server.main(sys.argv[1:], "0.0.0", Remembering())
