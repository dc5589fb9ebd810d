"""A program without resources: it starts a sandbox in which faults can be laid before anything is applied."""

import pulumi

pulumi.export("nothing", value=True)
