"""A cluster, its pools and buckets as the configuration says, behind the kit's replace guard."""

import pulumi
from pulumi_gcp import container, storage

from components.program import problems_reported
from components.replace_guard import guard_replacements

config = pulumi.Config("beamline")
with problems_reported():
    guard_replacements(config.get_object("allow_replace") or [], f"stacks/Pulumi.{pulumi.get_stack()}.yaml")
    options = pulumi.ResourceOptions(protect=config.get_bool("protected"), delete_before_replace=True)
    cluster = container.Cluster(
        "cluster",
        name=config.require("cluster"),
        location="us-central1",
        min_master_version=config.require("version"),
        initial_node_count=1,
        opts=options,
    )
    for name, local_ssds in (config.get_object("pools") or {}).items():
        container.NodePool(
            name,
            name=name,
            cluster=cluster.name,
            node_count=1,
            node_config={"ephemeral_storage_local_ssd_config": {"local_ssd_count": local_ssds}},
            opts=options,
        )
    for name in config.get_object("buckets") or []:
        storage.Bucket(name, name=name, location="US", opts=options)
