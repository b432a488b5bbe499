"""Implementations that break one rule of the interface each: which offsets topics a connector has.

Tests that are marked with the rule find them. Each is reachable as
`fencepost.reference_impl.source_offsets.defects.interface:<name>`.
"""

from functools import partial

from fencepost.reference_impl.simulation.defects import Breaks, Registry
from fencepost.reference_impl.source_offsets.config import EXACTLY_ONCE
from fencepost.reference_impl.source_offsets.defects.broken import Broken
from fencepost.reference_impl.source_offsets.kafka import GLOBAL
from fencepost.reference_impl.source_offsets.parts import Parts
from fencepost.reference_impl.source_offsets.stores.choice import Choice, chosen


def named_with_the_feature(named: str, same_cluster: bool, runtime: int) -> Choice:
    """A topic that is named is used with exactly-once support only."""
    return chosen(named, same_cluster, runtime) if runtime == EXACTLY_ONCE else Choice(GLOBAL, False)


def named_only(named: str, same_cluster: bool, runtime: int) -> Choice:
    """A producer that writes to another cluster has the worker's topic, if no other is named."""
    return chosen(named, same_cluster or not named, runtime)


REGISTRY = Registry(
    (
        Broken("named_with_the_feature", "618.29", Breaks.CONFORMANCE, Parts(choose=named_with_the_feature)),
        Broken("named_only", "618.29", Breaks.CONFORMANCE, Parts(choose=named_only)),
    )
)
find = REGISTRY.find
__getattr__ = partial(REGISTRY.attribute, __name__)
