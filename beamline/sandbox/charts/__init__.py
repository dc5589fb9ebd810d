"""SIMULATED chart registries: stand-in charts for the third-party releases that stacks of the kit install.

A stack names a chart by its real reference, and Pulumi's Kubernetes provider downloads it with Helm's own client. A
sandbox has no internet. So the provider is given a proxy on loopback that answers for exactly the registries of
``charts.yaml``, with certificates of a CA that only the provider trusts, and that refuses every other host: neither the
program nor the provider knows.

The charts are the kit's own (``sources/``). They install what the real ones install as far as a stack or a simulated
operator can tell: definitions, workloads and service accounts under their real names. They take the real charts'
values, but are stricter: a key they do not know is refused, where a real chart passes over it in silence. What they
leave out stands in each chart's ``Chart.yaml``.
"""
