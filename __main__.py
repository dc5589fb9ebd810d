"""The Pulumi program: check the stack, build it, export what people need."""

import pulumi

from components.program import problems_reported, report, stack_config
from components.stack import InferenceStack
from stacks import resolve

with problems_reported():
    name = pulumi.get_stack()
    spec = resolve(name, stack_config(), where=f"stacks/Pulumi.{name}.yaml", applying=not pulumi.runtime.is_dry_run())
    report(spec.problems)
    for key, value in InferenceStack(name, spec).outputs.items():
        pulumi.export(key, value)
