"""The sets of a variant searched in a process that has asked Z3 nothing else: what it leaves unknown within its limits
depends on that."""

from fencepost.proofs.necessity import sets
from fencepost.properties.catalogue import find


def searched(protocol: str, variant: str, states: int) -> sets.SavedSets:
    """The sets of the variant of these names; names travel to other processes, and not every variant does."""
    entry, _ = find(protocol)
    return sets.search(entry.variant(variant), states=states)
