"""Plain objects become resources: order, kinds, waiting, and what is refused."""

from __future__ import annotations

import pytest

from tests.components.conftest import Run
from tests.components.plans import named

PARENT = """
from components.kubernetes_objects import register_objects


class Group(pulumi.ComponentResource):
    def __init__(self, objects, releases=()):
        super().__init__("test:index:Group", "group")
        self.registered = register_objects(self, "group", objects, releases)
        self.register_outputs({})


OWN = {"timeout_s", "update_timeout_s", "await_ready", "wait_for", "alone", "after"}


def thing(name, kind="ConfigMap", api_version="v1", namespace="beam", **more):
    own = {key: more.pop(key) for key in OWN & more.keys()}
    metadata = {"name": name, "namespace": namespace} if namespace else {"name": name}
    return {"name": name, "body": {"apiVersion": api_version, "kind": kind, "metadata": metadata, **more}, **own}


def chart(name, **more):
    values = {"image": {"tag": "v1"}}
    return {"name": name, "chart": "oci://r.example/c", "version": "1.2.3", "namespace": "operators",
            "values": values, "timeout_s": 600, **more}


"""


def test_known_kinds_are_typed_and_others_go_as_they_are(run: Run) -> None:
    """A typed kind has the SDK's version; fields of both arrive exactly as in the manifest."""
    graph = run(
        """
        pod = {"containers": [{"name": "c", "env": [{"name": "A_B", "value": "1"}], "volumeMounts": []}]}
        spec = {"selector": {"matchLabels": {"app_name": "x"}}, "template": {"spec": pod}}
        Group([
            thing("engine", "Deployment", "apps/v1", spec=spec),
            thing("config", data={"some_key": "text"}, immutable=True),
            thing("pool", "InferencePool", "inference.networking.k8s.io/v1", spec={"targetPorts": [{"number": 8000}]}),
            thing("odd", "Odd", "example.com/v1", settings={"snake_case": 1}),
        ])
        """,
        prelude=PARENT,
    )
    found = {r.name: (r.type, dict(r.inputs), bool(r.version)) for r in graph.resources if r.type.startswith("kubern")}
    metadata = {"namespace": "beam"}
    pod = {"containers": [{"name": "c", "env": [{"name": "A_B", "value": "1"}], "volumeMounts": []}]}
    assert found == {
        "group-engine": (
            "kubernetes:apps/v1:Deployment",
            {
                "apiVersion": "apps/v1",
                "kind": "Deployment",
                "metadata": {**metadata, "name": "engine"},
                "spec": {"selector": {"matchLabels": {"app_name": "x"}}, "template": {"spec": pod}},
            },
            True,
        ),
        "group-config": (
            "kubernetes:core/v1:ConfigMap",
            {
                "apiVersion": "v1",
                "kind": "ConfigMap",
                "metadata": {**metadata, "name": "config"},
                "data": {"some_key": "text"},
                "immutable": True,
            },
            True,
        ),
        "group-pool": (
            "kubernetes:inference.networking.k8s.io/v1:InferencePool",
            {
                "apiVersion": "inference.networking.k8s.io/v1",
                "kind": "InferencePool",
                "metadata": {**metadata, "name": "pool"},
                "spec": {"targetPorts": [{"number": 8000}]},
            },
            False,
        ),
        "group-odd": (
            "kubernetes:example.com/v1:Odd",
            {
                "apiVersion": "example.com/v1",
                "kind": "Odd",
                "metadata": {**metadata, "name": "odd"},
                "settings": {"snake_case": 1},
            },
            False,
        ),
    }


def test_order(run: Run) -> None:
    """Namespaces, definitions and named predecessors come first, whatever the order of the list."""
    graph = run(
        """
        names = {"kind": "Queue", "plural": "queues"}
        Group([
            thing("last", after=["queue"]),
            thing("queue", "Queue", "example.com/v1beta1", spec={}),
            thing("elsewhere", namespace="other"),
            thing("queues", "CustomResourceDefinition", "apiextensions.k8s.io/v1", "",
                  spec={"group": "example.com", "names": names, "scope": "Namespaced", "versions": []}),
            thing("beam", "Namespace", namespace=""),
        ])
        """,
        prelude=PARENT,
    )
    names = {resource.urn: resource.name for resource in graph.resources}
    before = {r.name: sorted(names[urn] for urn in r.dependencies) for r in graph.resources if r.custom}
    assert before == {
        "group-beam": [],
        "group-elsewhere": [],
        "group-queues": [],
        "group-queue": ["group-beam", "group-queues"],
        "group-last": ["group-beam", "group-queue"],
    }


def test_waiting(run: Run) -> None:
    """Timeouts, conditions and the order not to wait; annotations of the manifest stay."""
    graph = run(
        """
        def custom(name, **more):
            return thing(name, "Queue", "example.com/v1", spec={}, **more)

        ready = custom("ready", timeout_s=60, wait_for=["condition=Ready"])
        ready["body"]["metadata"]["annotations"] = {"keep": "me"}
        pod = {"terminationGracePeriodSeconds": 1830, "containers": [{"name": "c"}]}
        spec = {"selector": {"matchLabels": {"a": "b"}}, "template": {"spec": pod}}
        Group([
            ready,
            custom("both", wait_for=["condition=A", "jsonpath={.status.b}=1"]),
            custom("at-once", await_ready=False, wait_for=["condition=Ready"]),
            custom("plain"),
            thing("engine", "Deployment", "apps/v1", timeout_s=100, update_timeout_s=500, spec=spec),
            thing("inside", "Service", spec={"selector": {"a": "b"}}),
            thing("outside", "Service", spec={"type": "LoadBalancer"}),
            thing("unwaited", "Service", spec={"selector": {"a": "b"}}, await_ready=False),
            thing("namesake", "Service", "example.com/v1", spec={}),
        ])
        """,
        prelude=PARENT,
    )
    found = {
        r.name: (dict(r.custom_timeouts), r.inputs["metadata"].get("annotations"))  # type: ignore[union-attr]
        for r in graph.resources
        if r.custom
    }
    assert found == {
        "group-ready": (
            {"create": "60s", "update": "60s"},
            {"keep": "me", "pulumi.com/waitFor": "condition=Ready"},
        ),
        "group-both": ({}, {"pulumi.com/waitFor": '["condition=A", "jsonpath={.status.b}=1"]'}),
        "group-at-once": ({}, {"pulumi.com/skipAwait": "true"}),
        "group-plain": ({}, None),
        "group-engine": ({"create": "100s", "update": "500s", "delete": "2430s"}, None),
        "group-inside": ({}, {"pulumi.com/waitFor": "jsonpath={.spec.clusterIP}"}),
        "group-outside": ({}, None),
        "group-unwaited": ({}, {"pulumi.com/skipAwait": "true"}),
        "group-namesake": ({}, None),
    }


def test_charts(run: Run) -> None:
    """Helm installs what is said and waits for it; it makes no namespace and takes nothing back when it fails."""
    graph = run(
        'Group([], [chart("oci"), chart("https", chart="c", repository="https://charts.example")])', prelude=PARENT
    )
    shared = {
        "version": "1.2.3",
        "namespace": "operators",
        "createNamespace": False,
        "values": {"image": {"tag": "v1"}},
        "timeout": 600,
        "atomic": False,
        "cleanupOnFail": False,
        "skipAwait": False,
        "compat": "true",
    }
    found = {r.name: dict(r.inputs) for r in graph.resources if r.type == "kubernetes:helm.sh/v3:Release"}
    assert found == {
        "group-oci": {"name": "oci", "chart": "oci://r.example/c", **shared},
        "group-https": {
            "name": "https", "chart": "c", "repositoryOpts": {"repo": "https://charts.example"}, **shared
        },
    }  # fmt: skip


def test_order_of_charts(run: Run) -> None:
    """A chart after its namespace and what it asks for, objects after the chart that they ask for."""
    graph = run(
        """
        Group(
            [
                thing("queue", "Queue", "example.com/v1", spec={}, after=["operator"]),
                thing("quota", namespace="operators"),
                thing("operators", "Namespace", namespace=""),
                thing("beam", "Namespace", namespace=""),
            ],
            [chart("plugin", after=["operator"]), chart("operator", after=["quota"])],
        )
        """,
        prelude=PARENT,
    )
    names = {resource.urn: resource.name for resource in graph.resources}
    before = {r.name: sorted(names[urn] for urn in r.dependencies) for r in graph.resources if r.custom}
    assert before == {
        "group-beam": [],
        "group-operators": [],
        "group-quota": ["group-operators"],
        "group-operator": ["group-operators", "group-quota"],
        "group-plugin": ["group-operator", "group-operators"],
        "group-queue": ["group-beam", "group-operator"],
    }


REFUSED = {
    "name of a chart": ("[thing('a')], [chart('a')]", ValueError, "same name"),
    "unknown chart": ("[thing('a', after=['b'])], [chart('c')]", ValueError, "comes after 'b', which is none"),
    "same name": ("[thing('a'), thing('a')]", ValueError, "same name"),
    "unknown predecessor": ("[thing('a', after=['b'])]", ValueError, "comes after 'b', which is none"),
    "circle": ("[thing('a', after=['b']), thing('b', after=['a'])]", ValueError, "cycle"),
    "unknown field": ("[thing('a', dta={})]", ValueError, "ConfigMap 'a' has no field dta"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_mistakes_of_a_manifest_are_named(run: Run, case: str) -> None:
    objects, error, message = REFUSED[case]
    with pytest.raises(error, match=message):
        run(f"Group({objects})", prelude=PARENT)


def test_a_gateway_component_needs_its_gateway(run: Run) -> None:
    with pytest.raises(ValueError, match="needs exactly one Gateway among its objects, not 0"):
        run("from components.gateway import Gateway\nGateway('g', {'objects': []})")


def test_the_status_of_a_custom_resource_is_unknown_in_a_plan(run: Run) -> None:
    """It is an output and never an input."""
    graph = run(
        """
        group = Group([thing("pool", "InferencePool", "inference.networking.k8s.io/v1", spec={})])
        pulumi.export("status", group.registered["pool"].status)
        """,
        prelude=PARENT,
    )
    assert str(graph.outputs) == "{'status': Unknown()}"
    assert "status" not in named(graph, "group-pool").inputs


def test_pods_of_any_kind_have_their_time_to_end(run: Run) -> None:
    """An operator's kind keeps pod templates where it likes; the longest grace of any counts."""
    graph = run(
        """
        def template(grace_s):
            return {"spec": {"terminationGracePeriodSeconds": grace_s, "containers": []}}

        group = {"leaderTemplate": template(1830), "workerTemplate": template(30)}
        Group([
            thing("set", "LeaderWorkerSet", "leaderworkerset.x-k8s.io/v1", spec={"leaderWorkerTemplate": group}),
            thing("graph", "DynamoGraphDeployment", "nvidia.com/v1beta1",
                  spec={"components": [{"podTemplate": template(60)}, {"podTemplate": template(900)}]}),
            thing("none", "Odd", "example.com/v1", spec={"terminationGracePeriodSeconds": "long"}),
        ])
        """,
        prelude=PARENT,
    )
    found = {name: named(graph, f"group-{name}").custom_timeouts for name in ("set", "graph", "none")}
    margin_s = 600
    assert {name: (timeouts or {}).get("delete") for name, timeouts in found.items()} == {
        "set": f"{1830 + margin_s}s",
        "graph": f"{900 + margin_s}s",
        "none": None,
    }


def test_the_old_one_goes_first_where_there_is_no_room_for_two(run: Run) -> None:
    graph = run(
        """
        Group([
            thing("set", "LeaderWorkerSet", "leaderworkerset.x-k8s.io/v1", alone=True, spec={"size": 2}),
            thing("config", data={}),
        ])
        """,
        prelude=PARENT,
    )
    assert named(graph, "group-set").delete_before_replace is True
    assert named(graph, "group-config").delete_before_replace is None
