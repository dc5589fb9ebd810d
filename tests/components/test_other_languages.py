"""A building block made through Pulumi's component provider, as a YAML or TypeScript program would make it."""

from __future__ import annotations

from dataclasses import replace

from tests.components.conftest import Run

PRELUDE = """
from components.network import Network
ARGS = {
    "prefix": "beam", "project": "p", "region": "r", "mtu": 1460, "nodes_cidr": "10.0.0.0/20",
    "pods_cidr": "10.4.0.0/16", "services_cidr": "10.8.0.0/20", "proxy_only_cidr": "10.9.0.0/23",
}
"""


def test_a_block_is_the_same_from_another_language(run: Run) -> None:
    """The provider translates names of inputs and hands the same arguments to the same class."""
    direct = run("Network('net', ARGS)", prelude=PRELUDE)
    foreign = run(
        """
        from pulumi.provider.experimental.component import ComponentProvider

        def camel(name):
            first, *rest = name.split("_")
            return first + "".join(part.title() for part in rest)

        provider = ComponentProvider([Network], "beamline")
        inputs = {camel(key): value for key, value in ARGS.items()}
        made = provider.construct("net", "beamline:index:Network", inputs, pulumi.ResourceOptions())
        pulumi.export("outputs", sorted(made.state))
        """,
        prelude=PRELUDE,
    )
    assert foreign.outputs == {"outputs": ["network", "podsRange", "servicesRange", "subnetwork"]}
    ours = [resource for resource in direct.resources if resource.type != "pulumi:pulumi:Stack"]
    theirs = [resource for resource in foreign.resources if resource.type != "pulumi:pulumi:Stack"]
    assert [replace(resource, aliases=()) for resource in theirs] == ours
