"""Producer id blocks (KIP-730), written from the proposal and from what Apache Kafka ships.

Read `broker.py` and `controller.py` first: they are the protocol. `zookeeper.py` is what came before it and the
bridge between the two. `system.py` is the cluster that a driver moves; `generator.py` runs free with a seed, with the
faults of `node_faults.py`; `broken.py` lists implementations with one thing wrong each.
"""

from fencepost.reference_impl.id_blocks.events import COLUMNS, KIND_NAMES, Event, Kind, readable
from fencepost.reference_impl.id_blocks.generator import simulate, simulate_with_stats
from fencepost.reference_impl.id_blocks.system import System, reference

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
