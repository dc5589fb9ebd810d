"""The kubeconfig of a GKE cluster: where its API is, who vouches for it, and how a client proves who it is.

Clients call ``gke-gcloud-auth-plugin`` for a short-lived token, so the text holds no credential and stays the same from
run to run. The cluster's DNS endpoint has a certificate that every machine trusts; an IP address is only ever served
under the cluster's own certificate authority, so it is named in that case and must not be named in the other.

DNS endpoint: https://cloud.google.com/kubernetes-engine/docs/concepts/network-isolation#dns-based_endpoint
Plugin: https://cloud.google.com/kubernetes-engine/docs/how-to/cluster-access-for-kubectl
"""

import ipaddress
import json

__all__ = ["kubeconfig"]


def kubeconfig(*, context: str, endpoint: str, ca_certificate: str) -> str:
    """Return a kubeconfig (JSON, which is YAML) with one context of this name.

    ``endpoint`` is a host with or without a port, ``ca_certificate`` the base64 of the cluster's own authority.
    """
    cluster = {"server": f"https://{endpoint}"}
    if _is_address(endpoint):
        cluster["certificate-authority-data"] = ca_certificate
    plugin = {
        "apiVersion": "client.authentication.k8s.io/v1beta1",
        "command": "gke-gcloud-auth-plugin",
        "provideClusterInfo": True,
        "interactiveMode": "IfAvailable",
        "installHint": "gcloud components install gke-gcloud-auth-plugin",
    }
    return json.dumps(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": context, "cluster": cluster}],
            "users": [{"name": context, "user": {"exec": plugin}}],
            "contexts": [{"name": context, "context": {"cluster": context, "user": context}}],
            "current-context": context,
        },
        indent=2,
    )


def _is_address(endpoint: str) -> bool:
    try:
        ipaddress.ip_address(endpoint.partition(":")[0])
    except ValueError:
        return False
    return True
