"""Implementations with one thing wrong each: what an auditor must find, and (controls) what it must not.

Each is reachable as `fencepost.reference_impl.group_fencing.defects.broken:<name>`, a factory like `reference`, and by
the generator's config key `broken`. `breaks` says what its defect can show: PROMISE, some input is copied twice or
never; PROGRESS, something stays unresolved for ever, though faults have stopped.
"""

from fencepost.reference_impl.group_fencing.defects import clients, members, offsets
from fencepost.reference_impl.group_fencing.parts import Parts
from fencepost.reference_impl.group_fencing.system import build
from fencepost.reference_impl.simulation.defects import registry

REGISTRY = registry(Parts, build, members, offsets, clients)
find, __getattr__ = REGISTRY.find, REGISTRY.attribute
