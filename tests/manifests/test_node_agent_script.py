"""The node agent's script, run here: what it starts and repairs, how it ends. ``ip`` and ``sleep`` are stand-ins."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "manifests" / "shell" / "node-agent.sh"

IP = """#!/bin/sh
# Lists three interfaces; those in $FAILED have an address that failed duplicate address detection.
echo "ip $*" >>"$CALLS"
case "$*" in
"-o link show") printf '1: lo: <UP>\\n2: eth0@if7: <UP>\\n3: gpu0rdma0: <UP>\\n4: gpu1rdma0@if9: <UP>\\n' ;;
"-6 addr show dev "*)
  for last; do :; done
  case " $FAILED " in *" $last "*) echo "inet6 fe80::1/64 scope link dadfailed tentative" ;; esac ;;
esac
"""
SLEEP = '#!/bin/sh\necho "sleep $*" >>"$CALLS"\n'
AGENT = '#!/bin/sh\necho "agent $*" >>"$CALLS"\nexit "$AGENT_ENDS"\n'


@pytest.fixture
def tools(tmp_path: Path) -> Path:
    for name, text in {"ip": IP, "sleep": SLEEP, "agent": AGENT}.items():
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    return tmp_path


def ends(tools: Path, *, failed: str = "", agent: int = 0) -> tuple[int, list[str]]:
    calls = tools / "calls"
    environment = {
        "PATH": f"{tools}:/usr/bin:/bin",
        "CALLS": str(calls),
        "SETTLE_S": "15",
        "FAILED": failed,
        "AGENT_ENDS": str(agent),
    }
    command = ["/bin/bash", "-c", SCRIPT.read_text(), "asapd-lite", str(tools / "agent"), "--flag=value"]
    ran = subprocess.run(command, env=environment, check=False, timeout=30, capture_output=True)
    return ran.returncode, calls.read_text().splitlines()


def test_the_container_stays_for_a_daemon_that_the_agent_left(tools: Path) -> None:
    code, calls = ends(tools)
    assert code == 0
    assert calls[-1] == "sleep infinity"
    assert {"agent --flag=value", "sleep 15"} <= set(calls)
    assert not any(" link set " in call for call in calls)


def test_an_agent_that_fails_takes_the_container_with_it(tools: Path) -> None:
    code, calls = ends(tools, agent=7)
    assert code == 7
    assert "sleep infinity" not in calls


def test_an_interface_without_an_address_is_taken_down_and_up_and_the_container_starts_anew(tools: Path) -> None:
    code, calls = ends(tools, failed="gpu1rdma0 eth0")
    assert code == 1
    assert [call for call in calls if " link set " in call] == [
        "ip link set dev gpu1rdma0 down",
        "ip link set dev gpu1rdma0 up",
    ]
