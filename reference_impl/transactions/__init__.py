"""Kafka transactions, written from what Apache Kafka ships: before KIP-890, with its first part, and with its second.

Read `coordinator.py` and `log.py` first: they are the protocol on the brokers; then `producer.py` and `consumer.py`,
which are the clients. `system.py` is the cluster that a driver moves; `generator.py` runs free with a seed, with the
applications of `workload.py` and the faults of `node_faults.py`; `broken.py` lists implementations with one thing wrong
each.
"""

from fencepost.reference_impl.transactions.events import COLUMNS, KIND_NAMES, Event, Kind, readable
from fencepost.reference_impl.transactions.generator import simulate, simulate_with_stats
from fencepost.reference_impl.transactions.system import System, reference

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
