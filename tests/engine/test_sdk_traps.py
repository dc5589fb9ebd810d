"""Traps of Pulumi's Python SDK that components must avoid, proven on the pinned version.

If one of these fails after an upgrade, the SDK has changed and the rule for components may be relaxed.
"""

from __future__ import annotations

import pytest

from tests.engine.text_programs import Run, only


def test_merged_options_take_the_callers_parent(run: Run) -> None:
    """``ResourceOptions(parent=self).merge(opts)``: the child leaves its component for the caller's parent."""
    graph = run(
        """
        outer = Group("outer")
        opts = ResourceOptions(parent=outer)
        inner = Group("inner", opts)
        Thing("merged", opts=ResourceOptions.merge(ResourceOptions(parent=inner), opts))
        Thing("plain", opts=ResourceOptions(parent=inner))
        """
    )
    assert only(graph, "merged").parent == only(graph, "outer").urn
    assert only(graph, "plain").parent == only(graph, "inner").urn


def test_protect_is_inherited(run: Run) -> None:
    """A protected component protects its children."""
    graph = run("Thing('child', opts=ResourceOptions(parent=Group('group', ResourceOptions(protect=True))))")
    assert only(graph, "child").protect is True


def test_depending_on_the_own_parent_is_a_cycle(run: Run) -> None:
    with pytest.raises(RuntimeError, match="cycle"):
        run("g = Group('group'); Thing('child', opts=ResourceOptions(parent=g, depends_on=[g]))")


def test_depending_on_a_component_without_children_depends_on_nothing(run: Run) -> None:
    """Depend on concrete resources: an empty component is dropped without a word, one with children stands for them."""
    graph = run(
        """
        empty, full = Group("empty"), Group("full")
        Thing("child", opts=ResourceOptions(parent=full))
        Thing("on-empty", opts=ResourceOptions(depends_on=[empty]))
        Thing("on-full", opts=ResourceOptions(depends_on=[full]))
        """
    )
    assert only(graph, "on-empty").dependencies == ()
    assert only(graph, "on-full").dependencies == (only(graph, "child").urn,)


def test_an_output_in_an_f_string_is_an_error(run: Run) -> None:
    """Without PULUMI_ERROR_OUTPUT_STRING the text would hold a warning in place of the value."""
    with pytest.raises(Exception, match="Calling __str__ on an Output"):
        run("Thing('t', {'url': f'https://{Thing(\"u\").out}'})")


def test_nothing_is_known_behind_a_provider_that_waits_for_its_configuration(run: Run) -> None:
    """Even a name the program wrote itself is unknown once it comes back from such a resource: pass on the literal."""
    graph = run(
        """
        from pulumi_kubernetes import Provider, core
        provider = Provider("cluster", kubeconfig=Thing("cluster").out)
        namespace = core.v1.Namespace("ns", metadata={"name": "beam"}, opts=ResourceOptions(provider=provider))
        pulumi.export("namespace", namespace.metadata.name)
        """
    )
    assert str(graph.outputs) == "{'namespace': Unknown()}"
