"""Records what a real Apache Kafka did as a history: its metadata log, and what its clients were given.

`record(log_dirs, clients, out)` makes the history; `collect_producer_ids` is a client that keeps what it was given, and
`record_observations` makes a history of that alone.
"""

from fencepost.proofs.recording.clients import (
    UNANSWERED,
    Observation,
    collect_producer_ids,
    read_observations,
    write_observations,
)
from fencepost.proofs.recording.errors import RecordingError
from fencepost.proofs.recording.observed import record_observations
from fencepost.proofs.recording.recorder import Summary, record
from fencepost.reference_impl.wire.connection import Connection, WireError, find_brokers, init_producer_id

__all__ = [
    "UNANSWERED",
    "Connection",
    "Observation",
    "RecordingError",
    "Summary",
    "WireError",
    "collect_producer_ids",
    "find_brokers",
    "init_producer_id",
    "read_observations",
    "record",
    "record_observations",
    "write_observations",
]
