"""Who tokenizes prompts for the picker: the engines, over a Service of their own.

The picker has no tokenizer that matches blocks of an engine. vLLM's API server renders a request, chat template and
tools included, into the tokens it would compute (``/v1/chat/completions/render``), without touching the GPU; it does so
only when it is told to (``--enable-scale-out``) and answers 403 otherwise, of which the picker makes a line in its log.
The same code as a process of its own (``vllm launch render``) would need the model's files on the system nodes. What it
costs: a prompt is tokenized twice, and travels once more. A request that cannot be rendered in time is placed by load.
Source: llm-d-router v0.10.0, requestcontrol/dataproducer/tokenizer/README.md; vLLM 0.33.0,
entrypoints/scale_out/factories.py
"""

from __future__ import annotations

from manifests.chosen import publishes_events
from manifests.llmd.plugins import Plugin
from manifests.naming import ENGINE, engine_namespace, metadata, selector
from manifests.objects import KubernetesObject
from stacks.resolve import StackSpec

__all__ = ["token_producer", "tokenizing_service"]

TOKENIZER = f"{ENGINE}-render"


def token_producer(spec: StackSpec) -> Plugin:
    """The plugin that asks for tokens. Named here: the one the picker makes by itself guesses four bytes a token."""
    port = spec.derived.engine_port
    url = f"http://{TOKENIZER}.{engine_namespace(spec)}.svc.cluster.local:{port}"
    return Plugin("token-producer", {"modelName": spec.rows.model.served_name, "vllm": {"url": url}})


def tokenizing_service(spec: StackSpec) -> tuple[KubernetesObject, ...]:
    """The Service before the engines; none where nobody asks for tokens."""
    if not publishes_events(spec):
        return ()
    port = spec.derived.engine_port
    service = KubernetesObject(
        area="serving",
        name="render-service",
        body={
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": metadata(spec, TOKENIZER, component=ENGINE),
            "spec": {
                "type": "ClusterIP",
                "selector": selector(spec, ENGINE),
                "ports": [{"name": "http", "port": port, "targetPort": port, "protocol": "TCP"}],
            },
        },
        timeout_s=spec.derived.router_budget_s,
    )
    return (service,)
