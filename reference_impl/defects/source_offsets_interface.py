"""Implementations that break one rule of the interface each: which offsets topics a connector has.

Tests that are marked with the rule find them. Each is reachable as
`fencepost.reference_impl.defects.source_offsets_interface:<name>`.
"""

from fencepost.reference_impl.connect.offsets.config import EXACTLY_ONCE
from fencepost.reference_impl.connect.offsets.kafka import GLOBAL
from fencepost.reference_impl.connect.offsets.stores import Choice, chosen
from fencepost.reference_impl.simulation.defects import (
    CONFORMANCE,
    defect,
    registry,
)
from fencepost.reference_impl.systems.source_offsets import Parts, build


@defect("618.29", CONFORMANCE, part="choose")
def named_with_the_feature(named: str, same_cluster: bool, runtime: int) -> Choice:
    """A topic that is named is used with exactly-once support only."""
    return chosen(named, same_cluster, runtime) if runtime == EXACTLY_ONCE else Choice(GLOBAL, False)


@defect("618.29", CONFORMANCE, part="choose")
def named_only(named: str, same_cluster: bool, runtime: int) -> Choice:
    """A producer that writes to another cluster has the worker's topic, if no other is named."""
    return chosen(named, same_cluster or not named, runtime)


REGISTRY = registry(Parts, build, __name__)
find, __getattr__ = REGISTRY.find, REGISTRY.attribute
