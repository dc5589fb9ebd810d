"""When an object counts as done."""

from __future__ import annotations

from manifests import KubernetesObject, render

from .cases import spec_of


def waits(objects: tuple[KubernetesObject, ...]) -> dict[str, tuple[object, ...]]:
    return {
        f"{o.area}/{o.name}": (o.timeout_s, o.update_timeout_s, o.wait_for)
        for o in objects
        if o.timeout_s or o.update_timeout_s or o.wait_for
    }


def test_ready_waits_for_workloads_gateway_and_monitoring_within_their_budgets() -> None:
    derived = spec_of("g4-llmd-multi").derived
    parent = 'jsonpath={{.status.parents[0].conditions[?(@.type=="{}")].status}}=True'
    assert waits(render(spec_of("g4-llmd-multi"))) == {
        "weights/seeding": (derived.seed_budget_s, None, ()),
        "serving/engine": (derived.workload_budget_s, derived.rollout_budget_s, ()),
        "serving/router": (derived.router_budget_s, derived.router_rollout_budget_s, ()),
        "serving/router-service": (derived.router_budget_s, None, ()),
        "gateway/gateway": (derived.gateway_budget_s, None, ("condition=Programmed",)),
        "gateway/route": (
            derived.gateway_budget_s,
            None,
            (parent.format("Accepted"), parent.format("ResolvedRefs")),
        ),
        "monitoring/engine": (300, None, ("condition=ConfigurationCreateSuccess",)),
        "monitoring/router": (300, None, ("condition=ConfigurationCreateSuccess",)),
    }
    assert all(o.await_ready for o in render(spec_of("g4-llmd-multi")))


def test_groups_are_waited_for_until_all_are_available() -> None:
    derived = spec_of("a4x-max-llmd").derived
    found = waits(render(spec_of("a4x-max-llmd")))
    assert found["serving/engine"] == (derived.workload_budget_s, derived.rollout_budget_s, ("condition=Available",))
    assert waits(render(spec_of("accepted-groups"))) == {}


def test_accepted_waits_for_nothing_and_changes_no_object() -> None:
    accepted, ready = render(spec_of("accepted")), render(spec_of("g4-llmd-multi"))
    assert waits(accepted) == {}
    assert not any(o.await_ready for o in accepted)
    assert [(o.area, o.name, o.body, o.after) for o in accepted] == [(o.area, o.name, o.body, o.after) for o in ready]
