"""The sandbox: a stack applied for real on this machine, with Google Cloud, kubelets and containers simulated."""
