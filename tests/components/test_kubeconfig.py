"""The kubeconfig: who vouches for the API, and that there is nothing in it to steal."""

from __future__ import annotations

import json

import pytest

from components.kubeconfig import kubeconfig

ENDPOINTS = {
    "Google's DNS name has a public certificate": ("gke-0123.us-central1.gke.goog", None),
    "an address has the cluster's own": ("34.1.2.3", "Q0E="),
    "an address with a port too": ("127.0.0.1:6443", "Q0E="),
}


@pytest.mark.parametrize("case", ENDPOINTS)
def test_kubeconfig(case: str) -> None:
    endpoint, authority = ENDPOINTS[case]
    cluster = {"server": f"https://{endpoint}"} | ({"certificate-authority-data": authority} if authority else {})
    plugin = {
        "apiVersion": "client.authentication.k8s.io/v1beta1",
        "command": "gke-gcloud-auth-plugin",
        "provideClusterInfo": True,
        "interactiveMode": "IfAvailable",
        "installHint": "gcloud components install gke-gcloud-auth-plugin",
    }
    assert json.loads(kubeconfig(context="beam", endpoint=endpoint, ca_certificate="Q0E=")) == {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "beam", "cluster": cluster}],
        "users": [{"name": "beam", "user": {"exec": plugin}}],
        "contexts": [{"name": "beam", "context": {"cluster": "beam", "user": "beam"}}],
        "current-context": "beam",
    }
