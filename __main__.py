"""The Pulumi program: check the stack, build it, export what people need."""

import pulumi

from components.program import checked_stack, problems_reported
from components.replace_guard import guard_replacements
from components.stack import InferenceStack

with problems_reported():
    name = pulumi.get_stack()
    spec = checked_stack(name, applying=not pulumi.runtime.is_dry_run())
    guard_replacements(spec.settings.allow_replace, f"stacks/Pulumi.{name}.yaml")
    for key, value in InferenceStack(name, spec).outputs.items():
        pulumi.export(key, value)
