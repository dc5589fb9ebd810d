"""What the kit program leaves out: nested components, a configured provider, URN aliases, secrets inside lists."""

import pulumi
import pulumi_gcp as gcp
from pulumi_gcp import storage

config = pulumi.Config()


class Inner(pulumi.ComponentResource):
    def __init__(self, name: str, opts: pulumi.ResourceOptions) -> None:
        super().__init__("beamline:weights:Inner", name, None, opts)
        self.bucket = storage.Bucket(
            f"{name}-weights",
            location="US",
            labels={"team": "serving"},
            lifecycle_rules=[{"action": {"type": "Delete"}, "condition": {"age": 30}}],
            opts=pulumi.ResourceOptions(
                parent=self,
                retain_on_delete=True,
                delete_before_replace=False,
                protect=False,
                aliases=["urn:pulumi:dev::beamline::gcp:storage/bucket:Bucket::weights"],
                ignore_changes=["labels", "lifecycleRules[0].condition.age"],
                version="10.2.0",
            ),
        )
        self.register_outputs({"bucket": self.bucket.name})


class Outer(pulumi.ComponentResource):
    def __init__(self, name: str, opts: pulumi.ResourceOptions) -> None:
        super().__init__("beamline:weights:Outer", name, {"when": "now"}, opts)
        self.inner = Inner(f"{name}-inner", opts=pulumi.ResourceOptions(parent=self))
        storage.BucketObject(
            f"{name}-index",
            bucket=self.inner.bucket.name,
            content=pulumi.Output.json_dumps({"bucket": self.inner.bucket.url, "location": self.inner.bucket.location}),
            metadata={"token": config.require_secret("token")},
            opts=pulumi.ResourceOptions(parent=self, depends_on=[self.inner]),
        )
        self.register_outputs({"url": self.inner.bucket.url})


provider = gcp.Provider("google", project="your-project-id", region="us-central1")
outer = Outer("beam", opts=pulumi.ResourceOptions(providers={"gcp": provider}))
existing = storage.Bucket.get("shared", "shared-bucket")
print("printed, not logged")
pulumi.export("buckets", [outer.inner.bucket.name, existing.url, pulumi.Output.secret("hidden")])
pulumi.export("location", outer.inner.bucket.location)
