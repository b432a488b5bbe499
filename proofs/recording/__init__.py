"""This package records what real brokers did as a history, from their logs and from the calls and answers of their
clients.

For producer id blocks, `record(log_dirs, clients, out)` writes the history. The client `collect_producer_ids` returns
the ids that it received, and `record_observations` writes a history of these alone.

For transactions, `record_transactions(log_dirs, clients, out)` writes the history. Clients store what they saw with
`write_events`, under a `Header` that explains their numbers.

For a consumer group that copies its input, `record_group(log_dirs, clients, out)` writes the history. Members store
what they saw with `write_members`, under a `GroupHeader`, and send `tag_of` themselves along with their offsets.

For source connectors of Connect, `task_counts.recorder` and `source_offsets.recorder` write the histories."""

from fencepost.proofs.recording.command import Recorded
from fencepost.proofs.recording.errors import RecordingError
from fencepost.proofs.recording.group_fencing.member_events import Header as GroupHeader
from fencepost.proofs.recording.group_fencing.member_events import tag_of, write_members
from fencepost.proofs.recording.group_fencing.recorder import record_group
from fencepost.proofs.recording.id_blocks.clients import (
    UNANSWERED,
    Observation,
    collect_producer_ids,
    read_observations,
    write_observations,
)
from fencepost.proofs.recording.id_blocks.recorder import RecordedIds, record, record_observations
from fencepost.proofs.recording.transactions.client_events import ClientEvents, Header, read_events, write_events
from fencepost.proofs.recording.transactions.recorder import RecordedTransactions, record_transactions
from fencepost.reference_impl.live.tcp.connection import Connection, WireError, find_brokers, init_producer_id

__all__ = [
    "UNANSWERED",
    "ClientEvents",
    "Connection",
    "GroupHeader",
    "Header",
    "Observation",
    "Recorded",
    "RecordedIds",
    "RecordedTransactions",
    "RecordingError",
    "WireError",
    "collect_producer_ids",
    "find_brokers",
    "init_producer_id",
    "read_events",
    "read_observations",
    "record",
    "record_group",
    "record_observations",
    "record_transactions",
    "tag_of",
    "write_events",
    "write_members",
    "write_observations",
]
