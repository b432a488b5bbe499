"""Implementations with one thing wrong each: what a suite must find, and (controls) what it must not.

Each is reachable as `fencepost.reference_impl.id_blocks.defects.broken:<name>`, a factory like `reference`, and by the
generator's config key `broken`. `breaks` says what its defect can show:

- PROMISE: some id is handed out twice (730.P1);
- CONFORMANCE: no id twice, but events that no correct implementation shows;
- PROGRESS: some broker asks for ever and gets nothing, though faults have stopped (730.P3);
- NOTHING: a control, harmless as long as everything else is right.
"""

from fencepost.reference_impl.id_blocks.defects import broker, controller
from fencepost.reference_impl.id_blocks.system import Parts, build
from fencepost.reference_impl.simulation.defects import registry

REGISTRY = registry(Parts, build, broker, controller)
find, __getattr__ = REGISTRY.find, REGISTRY.attribute

DRIVEN = frozenset({"blocks_begin_at_multiples", "own_length"})
"""What shows only where a driver has controllers make blocks of another length: no simulated history has that."""
