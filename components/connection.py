"""What a person needs to talk to a stack, as stack outputs."""

import json
from typing import Any

import pulumi

from stacks import StackSpec

__all__ = ["connection", "endpoint"]

_HEADER = (
    '-H "Authorization: Bearer $(gcloud auth print-identity-token --include-email '
    '--impersonate-service-account=CALLER --audiences={client})" '
)
"""For Identity-Aware Proxy: a token of a service account that may pass, made out to the OAuth client."""
_REACHABLE_FROM = {
    "gke-l7-rilb": "the stack's VPC and networks connected to it",
    "gke-l7-regional-external-managed": "the internet",
}


def endpoint(spec: StackSpec, address: pulumi.Output[str]) -> pulumi.Output[str]:
    """Return the URL of the load balancer; with ``wait: accepted`` it may have no address yet, and the text says so."""
    scheme = "https" if spec.preset.serving.router.gateway.certificate else "http"
    wanting = f"(no address yet: kubectl -n {spec.preset.serving.namespace} get gateways)"
    return address.apply(lambda known: f"{scheme}://{known}" if known else wanting)


def connection(spec: StackSpec, url: pulumi.Output[str]) -> dict[str, pulumi.Input[str]]:
    """Return commands and settings of a client of ``url``; each value is known as soon as what it names is."""
    question: dict[str, Any] = {
        "model": spec.rows.model.served_name,
        "messages": [{"role": "user", "content": "Hello"}],
    }
    authentication = spec.preset.serving.router.gateway.authentication
    header = _HEADER.format(client=authentication.client_id) if authentication.kind == "iap" else ""
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
        "kubeconfig": "pulumi stack output kubeconfig --show-secrets > kubeconfig.json",
        "pods": f"kubectl --kubeconfig kubeconfig.json -n {spec.preset.serving.namespace} get pods",
    }
