"""A small kit: every option and kind of value that the components use, once."""

import pulumi
from pulumi_gcp import container, serviceaccount
from pulumi_kubernetes import Provider, apiextensions, core, helm

config = pulumi.Config()
PROTECT = pulumi.ResourceOptions(protect=True)


class Cluster(pulumi.ComponentResource):
    """Components, protect, timeouts, ignored fields, aliases and dependencies."""

    endpoint: pulumi.Output[str]

    def __init__(self, name: str, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("beamline:cluster:Cluster", name, None, opts)
        self.nodes_account = serviceaccount.Account(
            f"{name}-nodes", account_id="nodes", opts=pulumi.ResourceOptions(parent=self)
        )
        self.cluster = container.Cluster(
            f"{name}-gke",
            location="us-central1",
            initial_node_count=1,
            remove_default_node_pool=True,
            opts=pulumi.ResourceOptions(
                parent=self,
                protect=True,
                ignore_changes=["node_config", "resourceLabels"],
                custom_timeouts=pulumi.CustomTimeouts(create="60m", update="45m"),
                aliases=[pulumi.Alias(name="old-name"), pulumi.Alias(parent=pulumi.ROOT_STACK_RESOURCE)],
            ),
        )
        self.pool = container.NodePool(
            f"{name}-pool",
            cluster=self.cluster.name,
            node_count=2,
            node_config={
                "machine_type": "g4-standard-384",
                "service_account": self.nodes_account.email,
                "labels": {"price": "1.5", "share": "0.25"},
            },
            opts=pulumi.ResourceOptions(
                parent=self,
                depends_on=[self.nodes_account],
                replace_on_changes=["location"],
                delete_before_replace=True,
                retain_on_delete=False,
            ),
        )
        self.endpoint = self.cluster.endpoint
        self.register_outputs({"endpoint": self.endpoint})


class Serving(pulumi.ComponentResource):
    """Explicit providers, secrets, custom resources, Helm releases, unknowns inside text."""

    def __init__(self, name: str, cluster: Cluster, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("beamline:serving:Serving", name, {"replicas": 2, "endpoint": cluster.endpoint}, opts)
        child = pulumi.ResourceOptions(parent=self)
        namespace = core.v1.Namespace(f"{name}-ns", metadata={"name": "beam"}, opts=child)
        token = core.v1.Secret(
            f"{name}-token",
            metadata={"name": "hf", "namespace": namespace.metadata.name},
            string_data={"token": config.require_secret("token")},
            opts=pulumi.ResourceOptions(parent=self, deleted_with=namespace, additional_secret_outputs=["data"]),
        )
        apiextensions.CustomResource(
            f"{name}-pool",
            api_version="inference.networking.k8s.io/v1",
            kind="InferencePool",
            metadata={"name": "beam", "namespace": "beam"},
            spec={"targetPorts": [{"number": 8000}], "weight": 0.5, "enabled": True, "note": None},
            opts=pulumi.ResourceOptions(parent=self, depends_on=[token]),
        )
        helm.v3.Release(
            f"{name}-operator",
            name="operator",
            chart="oci://registry.example/operator",
            version="1.2.3",
            namespace=namespace.metadata.name,
            values={"replicas": 2, "url": pulumi.Output.concat("https://", cluster.endpoint), "tags": ["a", "b"]},
            timeout=600,
            opts=pulumi.ResourceOptions(parent=self, depends_on=[namespace]),
        )
        existing = core.v1.Service.get(f"{name}-dns", "kube-system/kube-dns", opts=child)
        core.v1.ConfigMap(
            f"{name}-settings",
            metadata={"name": "settings", "namespace": "beam", "labels": {"app": "beam"}},
            data={"dns": existing.spec.cluster_ip, "text": "a\nb", "é": "ü"},
            immutable=True,
            opts=child,
        )
        self.register_outputs({})


cluster = Cluster("beam", opts=PROTECT)
kubeconfig = pulumi.Output.secret(
    pulumi.Output.all(cluster.endpoint, cluster.cluster.master_auth).apply(lambda a: f"{a[0]} {a[1]}")
)
provider = Provider("cluster", kubeconfig=kubeconfig, cluster_identifier="projects/p/locations/l/clusters/beam")
Serving("beam", cluster, opts=pulumi.ResourceOptions(providers=[provider]))
pulumi.log.warn("the project is a placeholder")
pulumi.export("endpoint", cluster.endpoint)
pulumi.export("kubeconfig", kubeconfig)
pulumi.export("nodes", config.require_int("nodes"))
pulumi.export("preset", config.require_object("overrides")["preset"])
