"""A consumer group that copies its input exactly once: KIP-447 as drafted, as shipped, and under KIP-848.

Read `clients/application.py` first, which is the loop that users write; then `brokers/group_coordinator.py` and
`brokers/classic_group.py`. The transactions are those of `reference_impl.transactions`. `system.py` is the cluster
that a driver moves; `generator.py` runs free with a seed; `defects` lists implementations with one thing wrong each.
"""

from fencepost.reference_impl.group_fencing.events import COLUMNS, KIND_NAMES, Event, Kind, readable
from fencepost.reference_impl.group_fencing.system import System, reference

__all__ = ["COLUMNS", "KIND_NAMES", "Event", "Kind", "System", "readable", "reference"]
