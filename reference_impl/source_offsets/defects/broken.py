"""Implementations with one thing wrong each: what an auditor must find, and (controls) what it must not.

Each is reachable as `fencepost.reference_impl.source_offsets.defects.broken:<name>`, a factory like `reference`, and by
the generator's config key `broken`. `breaks` says what its defect can show: PROMISE, a record is in the output twice or
never, or a restart would resume elsewhere than the output ends; PROGRESS, something stays undone for ever, though
faults have stopped.
"""

from fencepost.reference_impl.simulation.defects import registry
from fencepost.reference_impl.source_offsets.defects import reading, working
from fencepost.reference_impl.source_offsets.parts import Parts
from fencepost.reference_impl.source_offsets.system import build

REGISTRY = registry(Parts, build, working, reading)
find, __getattr__ = REGISTRY.find, REGISTRY.attribute
