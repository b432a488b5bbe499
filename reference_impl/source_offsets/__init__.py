"""KIP-618: exactly-once source tasks. Records and source offsets in one transaction, and where offsets are read.

Read `tasks/runtime.py` and `tasks/instance.py` first: a task at work, and its start; then `stores/offset_store.py`, the
two offsets topics as one. Threads, producers and the Kafka below are those of `reference_impl.task_counts`, which has
what decides who may start; here a set of tasks starts when the one before it is fenced. `system.py` is what a driver
moves; `generator.py` runs free with a seed; `defects` lists implementations with one thing wrong each.

Left out: several connectors; the read to the end of a store's start, as every question for offsets reads again, and
only that one says where a task begins; commits record by record (TransactionContext for a record); `commitRecord`;
pausing; offsets that users alter; partitions of an offsets topic beside the first, and its compaction.
"""

from fencepost.reference_impl.source_offsets.events import COLUMNS, KIND_NAMES, Event, Kind, readable
from fencepost.reference_impl.source_offsets.generator import simulate, simulate_with_stats
from fencepost.reference_impl.source_offsets.system import System, reference

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
