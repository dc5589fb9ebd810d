"""Schemas of the custom resources a stack uses, written by the kit and at least as strict as the vendors'.

GKE, not the kit, installs these kinds in a real cluster, and its definitions cannot be shipped here. Without any schema
a typing error in a Gateway or an InferencePool would surface only in the cloud. So the simulated cluster installs the
files in this folder, and `beamline check` judges rendered manifests by them without a server. They cover the fields an
inference stack uses: an unknown field is refused, and whatever the vendors' schema refuses for a covered field is
refused here too. ``charts/`` holds the kinds that third-party charts bring, ``fragments/`` what several kinds share.
The two kinds the kit itself installs in real clusters lie in ``manifests/crds``.
"""

from beamline.crds.definitions import (
    Definition,
    all_definitions,
    find,
    installed_by_chart,
    installed_by_charts,
    installed_by_gke,
    installed_by_kit,
)
from beamline.crds.strict import problems

__all__ = [
    "Definition",
    "all_definitions",
    "find",
    "installed_by_chart",
    "installed_by_charts",
    "installed_by_gke",
    "installed_by_kit",
    "problems",
]
