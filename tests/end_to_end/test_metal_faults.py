"""Metal stacks that cannot be scheduled: ``up`` fails with Kubernetes' own words, and mends when the fault is gone.

The engine, the API server and the scheduler are real. SIMULATED: Google Cloud with its bare metal and reservation,
kubelets, GPUs, RDMA devices, charts and the operators they install.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from beamline import sandbox
from beamline.sandbox.cloud.faults import FAULTS
from beamline.sandbox.home import home_of
from stacks.problems import ProblemsFound
from tests.end_to_end.metal import NODES, get, stack_file

pytestmark = pytest.mark.sandbox

HERE = Path(__file__).parent


def _faults(text: dict[str, Any]) -> None:
    (home_of("metal").ledger.parent / FAULTS).write_text(yaml.safe_dump(text))


def _reasons(file: Path, program: str | None = None) -> str:
    with pytest.raises(ProblemsFound) as raised:
        sandbox.up("metal", file, HERE / "programs" / program) if program else sandbox.up("metal", file)
    return "\n".join(problem.why for problem in raised.value.problems)


def test_what_cannot_be_scheduled_fails_with_the_schedulers_words_and_mends(sandboxes: Path, tmp_path: Path) -> None:
    """An RDMA device short, a domain and replicas for more nodes than exist, no toleration for arm64; then none."""
    assert sandboxes.exists()
    file = stack_file(tmp_path, "a4x-max-dynamo", {"serving": {"transport": {"name": "nvlink+rdma"}}})
    assert sandbox.up("metal", file, HERE / "programs" / "nothing").warnings == []

    _faults({"nodes": [{"pool": "beamline-metal-main", "place": 0, "rdma_devices": 7}]})
    assert "cannot allocate all claims" in _reasons(file)
    _faults({})
    assert sandbox.up("metal", file).warnings == []

    assert "Insufficient nvidia.com/gpu" in _reasons(file, "one_node_more")
    domains = {d["spec"]["numNodes"]: d["status"]["status"] for d in get("computedomains", "--all-namespaces")}
    assert domains[NODES + 1] == "NotReady"
    assert f"{NODES} node(s) had untolerated taint(s)" in _reasons(file, "no_arch_toleration")

    assert sandbox.up("metal", file).warnings == []
    assert sandbox.down("metal").proven_empty
