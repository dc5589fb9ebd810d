"""What a person and a program need to talk to a stack, as stack outputs."""

import json
import shlex
from typing import Any

import pulumi

from stacks import StackSpec
from stacks.clients import NO_ADDRESS, client_settings, origin, token_command

__all__ = ["client_outputs", "connection", "endpoint"]

_REACHABLE_FROM = {
    "gke-l7-rilb": "the stack's VPC and networks connected to it",
    "gke-l7-regional-external-managed": "the internet",
}


def endpoint(spec: StackSpec, address: pulumi.Output[str]) -> pulumi.Output[str]:
    """Return the URL of the load balancer; with ``wait: accepted`` it may have no address yet, and the text says so."""
    wanting = f"(no address yet: kubectl -n {spec.preset.serving.namespace} get gateways)"
    return address.apply(lambda known: origin(spec, known) if known else wanting)


def client_outputs(spec: StackSpec, address: pulumi.Output[str]) -> pulumi.Output[dict[str, Any]]:
    """Return the settings of every client in the catalog, by its name; none of them holds a secret."""
    return address.apply(
        lambda known: {one.client: one.to_output() for one in client_settings(spec, known or NO_ADDRESS)}
    )


def connection(spec: StackSpec, url: pulumi.Output[str]) -> dict[str, pulumi.Input[str]]:
    """Return commands and settings of a client of ``url``; each value is known as soon as what it names is."""
    question: dict[str, Any] = {
        "model": spec.rows.model.served_name,
        "messages": [{"role": "user", "content": "Hello"}],
    }
    authentication = spec.preset.serving.router.gateway.authentication
    header = ""
    if authentication.kind == "iap":
        header = f'-H "Authorization: Bearer $({shlex.join(token_command(authentication))})" '
    return {
        "base_url": pulumi.Output.concat(url, "/v1"),
        "client_timeout_s": str(spec.derived.client_timeout_s),
        "reachable_from": _REACHABLE_FROM[spec.preset.serving.router.gateway.gateway_class],
        "try_it": pulumi.Output.concat(
            "curl ",
            url,
            "/v1/chat/completions ",
            header,
            "-H 'Content-Type: application/json' -d '",
            json.dumps(question),
            "'",
        ),
        "clients": "pulumi stack output clients --json",
        "kubeconfig": "pulumi stack output kubeconfig --show-secrets > kubeconfig.json",
        "pods": f"kubectl --kubeconfig kubeconfig.json -n {spec.preset.serving.namespace} get pods",
    }
