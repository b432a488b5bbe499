"""Implementations with one thing wrong each: what a suite must find, and (controls) what it must not.

Each is reachable as `fencepost.reference_impl.task_counts.defects.broken:<name>`, a factory like `reference`, and by
the generator's config key `broken`. `breaks` says what its defect can show:

- PROMISE: 618.P1 fails: a producer of an older set commits after a task of a newer one ran;
- CONFORMANCE: every promise holds, but there are events that no correct implementation shows;
- PROGRESS: some task does not run, though faults have stopped and users restart what failed, or fails where there was
  no fault (618.P4);
- NOTHING: a control, harmless as long as everything else is right.

`as_released` is Kafka as it is shipped (3.3.2 to 4.4.0): both mistakes that it has, which the correct one has mended.
"""

from fencepost.reference_impl.simulation.defects import registry
from fencepost.reference_impl.task_counts.defects import rounds, task, topic
from fencepost.reference_impl.task_counts.parts import Parts
from fencepost.reference_impl.task_counts.system import build

REGISTRY = registry(Parts, build, rounds, task, topic)
find, __getattr__ = REGISTRY.find, REGISTRY.attribute
