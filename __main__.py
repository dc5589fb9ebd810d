"""The Pulumi program: check the stack, build it, export what people need."""

import pulumi

from components.program import problems_reported, report, stack_config
from components.replace_guard import guard_replacements
from components.stack import InferenceStack
from stacks import resolve

with problems_reported():
    name = pulumi.get_stack()
    where = f"stacks/Pulumi.{name}.yaml"
    spec = resolve(name, stack_config(), where=where, applying=not pulumi.runtime.is_dry_run())
    report(spec.problems)
    guard_replacements(spec.settings.allow_replace, where)
    for key, value in InferenceStack(name, spec).outputs.items():
        pulumi.export(key, value)
