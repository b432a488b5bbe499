"""Records what real brokers did as a history: their logs, and the calls and answers of their clients.

Of producer id blocks: `record(log_dirs, clients, out)` makes the history; `collect_producer_ids` is a client that keeps
what it was given, and `record_observations` makes a history of that alone.

Of transactions: `record_transactions(log_dirs, clients, out)` makes the history; clients keep what they saw with
`write_events`, under a `Header` that says what their numbers stand for.
"""

from fencepost.proofs.recording.errors import RecordingError
from fencepost.proofs.recording.id_blocks.clients import (
    UNANSWERED,
    Observation,
    collect_producer_ids,
    read_observations,
    write_observations,
)
from fencepost.proofs.recording.id_blocks.observed import record_observations
from fencepost.proofs.recording.id_blocks.recorder import Summary, record
from fencepost.proofs.recording.transactions.client_events import (
    ClientEvents,
    Header,
    read_events,
    write_events,
)
from fencepost.proofs.recording.transactions.recorder import Recorded, record_transactions
from fencepost.reference_impl.live.tcp.connection import Connection, WireError, find_brokers, init_producer_id

__all__ = [
    "UNANSWERED",
    "ClientEvents",
    "Connection",
    "Header",
    "Observation",
    "Recorded",
    "RecordingError",
    "Summary",
    "WireError",
    "collect_producer_ids",
    "find_brokers",
    "init_producer_id",
    "read_events",
    "read_observations",
    "record",
    "record_observations",
    "record_transactions",
    "write_events",
    "write_observations",
]
