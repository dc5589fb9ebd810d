"""Installs charts of third parties: the one way an operator gets into the cluster.

Decisions, and why:

- Helm itself does it (``helm.v3.Release``): hooks run, and the chart stays one resource of the stack with its values
  visible. The release's name is explicit and the version exact: a generated name would be another one in each stack,
  and "latest" another chart each week.
- Its namespace is an object of ours, with our labels and Pod Security level, and comes first; Helm creates none.
- It is waited for until everything it installed is ready: whatever needs its kinds or its webhooks comes after it.
- Not atomic and no clean-up on failure. Both would remove the failed pods before anybody could read why they failed;
  the next apply upgrades the release from where it stands.
- Values are plain: a chart's values are kept in the cluster, readable for whoever reads Secrets there, and a secret
  belongs into a Secret that the chart is told the name of.

Helm in Pulumi: https://www.pulumi.com/registry/packages/kubernetes/api-docs/helm/v3/release/
"""

from typing import Any, NotRequired, TypedDict

import pulumi
from pulumi_kubernetes import helm

__all__ = ["ReleaseArgs", "register_release"]


class ReleaseArgs(TypedDict):
    """One chart, pinned, and when it counts as installed."""

    name: str
    """Name of the release, and stable name among the component's objects, part of its resource's name."""
    chart: str
    """An oci:// address, or the chart's name in its repository."""
    repository: NotRequired[str]
    """Address of the https repository that has the chart; left out, chart is an address."""
    version: str
    """Exact version of the chart."""
    namespace: str
    """Where it is installed; the namespace is not created by Helm."""
    values: dict[str, Any]
    """All values that differ from the chart's own; nothing secret."""
    timeout_s: int
    """Seconds it may take until all that it installs is ready."""
    after: NotRequired[list[str]]
    """Names of objects and releases of the same component that come first."""


def register_release(name: str, item: ReleaseArgs, opts: pulumi.ResourceOptions) -> helm.v3.Release:
    """Register one chart as the resource ``name``."""
    repository = item.get("repository")
    return helm.v3.Release(
        name,
        name=item["name"],
        chart=item["chart"],
        repository_opts={"repo": repository} if repository else None,
        version=item["version"],
        namespace=item["namespace"],
        create_namespace=False,
        values=item["values"],
        timeout=item["timeout_s"],
        atomic=False,
        cleanup_on_fail=False,
        skip_await=False,
        opts=opts,
    )
