"""KIP-618: who may run. Kafka Connect workers that fence zombie source tasks before they start new ones.

Read `rounds.py` and `source_task.py` first: they are the protocol; then `herder.py`, the one thread that a worker
decides in, and `revisions.py`, which says what differs between the texts. `system.py` is the cluster that a
driver moves; `generator.py` runs free with a seed, with the users of `workload.py` and the faults of `node_faults.py`;
`broken.py` lists implementations with one thing wrong each.
"""

from fencepost.reference_impl.task_counts.events import COLUMNS, KIND_NAMES, Event, Kind, readable
from fencepost.reference_impl.task_counts.generator import simulate, simulate_with_stats
from fencepost.reference_impl.task_counts.system import System, reference

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
