"""What clients reach, and where it runs: gateway, namespace, images of every pod."""

from __future__ import annotations

from collections.abc import Iterator

from stacks.checks.candidate import Candidate
from stacks.problems import Problem
from stacks.rows import DynamoRelease, ImageRow, LlmdRelease
from stacks.rows.base import Arch
from stacks.spec import ExistingCluster, NoAuthentication

__all__ = ["CHECKS"]

_FROM_THE_INTERNET = ("gke-l7-regional-external-managed",)
"""Gateway classes whose load balancer has a public address."""
_RESERVED = ("default", "kube-system", "kube-public", "kube-node-lease", "gmp-system", "gmp-public")


def gateway(c: Candidate) -> Iterator[Problem]:
    """Outside the VPC nobody speaks plain HTTP to a model."""
    gateway = c.preset.serving.router.gateway
    if gateway.gateway_class in _FROM_THE_INTERNET and gateway.certificate is None:
        yield Problem(
            rule="gateway-certificate",
            path="serving.router.gateway.certificate",
            why="this class is reachable from the internet, and without a certificate prompts travel in clear text",
            allowed="name of a regional SSL certificate in the project",
            remedy="set the certificate, or use gateway_class gke-l7-rilb",
            source="GKE docs, Gateway TLS",
        )


def authentication(c: Candidate) -> Iterator[Problem]:
    """The internet is let in only with a name; and what proves the name does not travel in clear text."""
    gateway = c.preset.serving.router.gateway
    if isinstance(gateway.authentication, NoAuthentication):
        if gateway.gateway_class in _FROM_THE_INTERNET:
            yield Problem(
                rule="gateway-open",
                path="serving.router.gateway.authentication.kind",
                value="none",
                why="this class is reachable from the internet, and without authentication anybody uses the GPUs and "
                "sees what the model answers",
                allowed="iap, or gateway_class gke-l7-rilb",
                remedy="let Identity-Aware Proxy ask who calls: authentication: {kind: iap, client_id: ..., "
                "client_secret: ...}",
                source="GKE docs, secure a Gateway: Identity-Aware Proxy",
            )
        return
    if gateway.certificate is None and gateway.gateway_class not in _FROM_THE_INTERNET:
        yield Problem(
            rule="iap-certificate",
            path="serving.router.gateway.certificate",
            why="Identity-Aware Proxy works on HTTPS load balancers only, and the tokens it takes would be readable",
            allowed="name of a regional SSL certificate in the project",
            remedy="set the certificate",
            source="GKE docs, secure a Gateway: Identity-Aware Proxy",
        )
    if not c.preset.serving.existing_namespace:
        secret, namespace = gateway.authentication.client_secret, c.preset.serving.namespace
        yield Problem(
            rule="iap-secret",
            path="serving.router.gateway.authentication.client_secret",
            value=secret,
            why=f"the stack makes the namespace {namespace}, so the Secret cannot be in it yet; until it is, the load "
            "balancer is not programmed",
            allowed="a Secret that you put there as soon as the namespace is, while up goes on",
            remedy=f"kubectl -n {namespace} create secret generic {secret} --from-file=key=<file with the secret>; or "
            "make the namespace first and set serving.existing_namespace",
            source="GKE docs, secure a Gateway: Identity-Aware Proxy",
            severity="note",
        )


def namespace(c: Candidate) -> Iterator[Problem]:
    """The stack creates its namespace; system ones are not its own."""
    name = c.preset.serving.namespace
    if name in _RESERVED or name.startswith(("kube-", "gke-")):
        yield Problem(
            rule="reserved-namespace",
            path="serving.namespace",
            value=name,
            why="the namespace belongs to Kubernetes or GKE and cannot be created or secured by the stack",
            allowed="any other DNS label",
            remedy="choose a name of your own",
            source="Kubernetes docs, namespaces",
        )


def namespace_of_chart(c: Candidate) -> Iterator[Problem]:
    """An operator's namespace has its own level and its own quota."""
    own = c.preset.serving.namespace
    for role, chart in c.charts.items():
        if chart.namespace in (own, f"{own}-weights"):
            yield Problem(
                rule="namespace-taken",
                path="serving.namespace",
                value=own,
                why=f"the stack installs the {role} chart in {chart.namespace}: its rules would be the engine's too",
                allowed="a namespace of the engine's own",
                remedy="choose another name",
                source="stacks/catalog",
            )


def cluster_wide(c: Candidate) -> Iterator[Problem]:
    """In a cluster that others use, what a stack installs for all of it may be there already."""
    if isinstance(c.preset.cluster, ExistingCluster) and c.charts:
        names = ", ".join(f"{chart.name} in {chart.namespace}" for chart in c.charts.values())
        yield Problem(
            rule="cluster-wide-software",
            path="cluster.kind",
            value="existing",
            why=f"the stack installs {names}, of which a cluster can have one; a second one fails to install, and who "
            "destroys the stack takes them from others",
            allowed="a cluster without them",
            remedy="look with helm list --all-namespaces before you apply",
            source="NVIDIA DRA driver, Dynamo and LeaderWorkerSet docs: one installation a cluster",
            severity="note",
        )


def _pods_images(c: Candidate) -> Iterator[tuple[str, ImageRow, Arch]]:
    """Each image with the key that chose it and the architecture of the nodes it runs on."""
    release, nodes, system = c.rows.release, c.rows.hardware.machine.arch, c.rows.system.machine.arch
    if isinstance(release, LlmdRelease):
        yield "serving.engine.version", c.rows.engine_image, nodes
        yield "serving.router.release", release.router_image, system
        if c.derived.proxy_timeout_s is not None:
            yield "serving.router.proxy", release.proxy.image, system
    if isinstance(release, DynamoRelease):  # it brings the engine's image, and frontends run from that too
        yield "serving.router.release", c.rows.engine_image, nodes
        yield "serving.router.release", c.rows.engine_image, system
        for item in release.platform.images:
            yield "serving.router.release", item.image, system


def image_arch(c: Candidate) -> Iterator[Problem]:
    """An image of another architecture is pulled and then fails with an exec format error."""
    for path, row, arch in _pods_images(c):
        if arch not in row.archs:
            yield Problem(
                rule="image-arch",
                path=path,
                value=f"{row.repository}:{row.tag}",
                why=f"the image is built for {', '.join(row.archs)}, the nodes are {arch}",
                allowed=arch,
                remedy="choose a version with an image for these nodes",
                source=row.source,
            )


CHECKS = (gateway, authentication, namespace, namespace_of_chart, cluster_wide, image_arch)
