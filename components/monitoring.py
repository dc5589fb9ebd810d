"""Scraping of engine and router by Google Cloud Managed Service for Prometheus.

GKE runs the collectors and installs their kinds; a stack only says what to scrape. GPU metrics (DCGM) come with the
cluster and are not scraped a second time.

Managed collection: https://cloud.google.com/stackdriver/docs/managed-prometheus/setup-managed
"""

from typing import TypedDict

import pulumi

from components.kubernetes_objects import ObjectArgs, register_objects

__all__ = ["Monitoring", "MonitoringArgs"]


class MonitoringArgs(TypedDict):
    """What is scraped."""

    objects: list[ObjectArgs]
    """The Kubernetes objects, PodMonitoring and the like."""


class Monitoring(pulumi.ComponentResource):
    """Scraping of a stack's pods."""

    def __init__(self, name: str, args: MonitoringArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("beamline:monitoring:Monitoring", name, None, opts)
        register_objects(self, name, args["objects"])
        self.register_outputs({})
