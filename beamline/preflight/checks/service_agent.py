"""Whether GKE's service agent has its role: without it no cluster is made, and nobody else can give it.

The right to make networks for an accelerator network profile the stack gives itself (components.accelerator_node_pool).
"""

from __future__ import annotations

from dataclasses import dataclass

from beamline.preflight.findings import Check, Finding
from beamline.preflight.target import Target
from beamline.preflight.world import World

__all__ = ["SERVICE_AGENT", "AgentRoles", "judge_service_agent"]

_ASKED = "GKE's service agent has its role in the project"
_ROLE = "roles/container.serviceAgent"


@dataclass(frozen=True)
class AgentRoles:
    """The agent's address, and the roles the project's policy gives it."""

    email: str
    roles: frozenset[str]


def _look(target: Target, world: World) -> AgentRoles:
    project = world.google.call("cloudresourcemanager", "projects.get", name=f"projects/{target.project}")
    policy = world.google.call(
        "cloudresourcemanager", "projects.getIamPolicy", resource=f"projects/{target.project}", body={}
    )
    email = f"service-{project['name'].rpartition('/')[2]}@container-engine-robot.iam.gserviceaccount.com"
    bindings = [
        binding["role"]
        for binding in policy.get("bindings", [])
        if f"serviceAccount:{email}" in binding.get("members", []) and "condition" not in binding
    ]
    return AgentRoles(email, frozenset(bindings))


def judge_service_agent(target: Target, agent: AgentRoles) -> list[Finding]:
    """Tell whether the agent has the role that GKE works with."""
    if _ROLE in agent.roles:
        return [Finding(_ASKED, f"{_ROLE} for {agent.email}", path="project")]
    has = f"{agent.email} has {', '.join(sorted(agent.roles)) or 'no role'}"
    return [
        Finding.problem(
            "service-agent-role",
            "project",
            _ASKED,
            found=has,
            needed=_ROLE,
            remedy=f"gcloud projects add-iam-policy-binding {target.project} --member serviceAccount:{agent.email} "
            f"--role {_ROLE}; enabling container.googleapis.com gives it, too",
        )
    ]


SERVICE_AGENT: Check[AgentRoles] = Check(
    id="service-agent",
    asks=_ASKED,
    source="GKE docs, service agents: https://cloud.google.com/kubernetes-engine/docs/how-to/service-accounts",
    rules=("service-agent-role",),
    look=_look,
    judge=judge_service_agent,
)
