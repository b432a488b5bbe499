"""A consumer group that copies its input exactly once: KIP-447 as drafted, as shipped, and under KIP-848.

Read `clients/application.py` first, which is the loop that users write; then `brokers/group_coordinator.py` and
`brokers/classic_group.py`. The transactions are those of `reference_impl.transactions`. `system.py` is the cluster
that a driver moves; `generator.py` runs free with a seed, with the pace of `workload.py` and the faults of
`node_faults.py`; `defects` lists implementations with one thing wrong each.

Left out: several groups and topics; cooperative assignors, and classic members in a group of the new protocol; share
and streams groups; topics that are deleted or made anew; a deposed group coordinator that does not know it
(NOT_COORDINATOR); appends to the offsets partition that fail or are not replicated; fetching of the input,
which is there from the beginning.
"""

from fencepost.reference_impl.group_fencing.events import COLUMNS, KIND_NAMES, Event, Kind, readable
from fencepost.reference_impl.group_fencing.generator import simulate, simulate_with_stats
from fencepost.reference_impl.group_fencing.system import System, reference

__all__ = [
    "COLUMNS",
    "KIND_NAMES",
    "Event",
    "Kind",
    "System",
    "readable",
    "reference",
    "simulate",
    "simulate_with_stats",
]
