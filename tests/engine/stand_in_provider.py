"""A provider that knows no resource: it accepts everything and, like a cloud that was not asked, answers nothing.

``pulumi preview`` needs a plugin for each package, even though it only asks it to check inputs. Run as
``pulumi-resource-<package>``; the package's name is the first argument.
"""

import json
import sys

from pulumi.provider.experimental import provider, server


class StandIn(provider.Provider):
    def __init__(self, package: str) -> None:
        self.package = package

    async def get_schema(self, _request):
        return provider.GetSchemaResponse(schema=json.dumps({"name": self.package, "version": "0.0.0"}))

    async def check_config(self, request):
        return provider.CheckResponse(inputs=request.new_inputs)

    async def diff_config(self, _request):
        return provider.DiffResponse(changes=False)

    async def configure(self, _request):
        return provider.ConfigureResponse(accept_secrets=True, supports_preview=False)

    async def check(self, request):
        return provider.CheckResponse(inputs=request.new_inputs)

    async def cancel(self):
        return None


if __name__ == "__main__":
    package = sys.argv.pop(1)
    server.main(sys.argv[1:], "0.0.0", StandIn(package))
