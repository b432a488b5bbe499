"""Implementations with one thing wrong each: what histories must show, and (controls) what they must not.

Each is reachable as `fencepost.reference_impl.source_commits.defects.broken:<name>`, a factory like `reference`, and by
the generator's config key `broken`. `breaks` says what its defect can show: PROMISE, an offset that is told, stored or
forgotten upstream too early; CONFORMANCE, a step that the rules do not have, though nothing is lost by it; PROGRESS,
something that stays tracked for ever.
"""

from fencepost.reference_impl.simulation.defects import registry
from fencepost.reference_impl.source_commits.defects import committing, tracking
from fencepost.reference_impl.source_commits.parts import Parts
from fencepost.reference_impl.source_commits.system import build

REGISTRY = registry(Parts, build, tracking, committing)
find, __getattr__ = REGISTRY.find, REGISTRY.attribute
