"""Cloud and cluster resources: the one room that speaks ``pulumi_gcp`` and ``pulumi_kubernetes``.

One component per file, each usable alone. A component's arguments are flat annotated classes that Pulumi's component
analyzer reads (https://www.pulumi.com/docs/iac/using-pulumi/extending-pulumi/build-a-component/), so these modules have
no ``from __future__ import annotations``; ``components.stack`` alone takes the kit's own ``StackSpec``.
Importing this package must stay cheap: the language host needs only ``components.program``.
"""
