"""The events of transactions (KIP-98, KIP-360, KIP-890): kinds, columns, and which column speaks in which kind.

Codes and names are a file format: histories written years ago carry them. Add new ones at the end; never renumber.
Below 20 is what clients do and are told, from 20 on the transaction coordinator, from 40 on the leaders of partitions,
from 50 on the readers. A reader has each partition for itself: one that is given a partition anew, as by a rebalance,
is another reader.
"""

from enum import IntEnum
from types import MappingProxyType

import pyarrow as pa
from fencepost.properties.history.vocabulary import Column, Vocabulary


class Kind(IntEnum):
    """What happened in one event; the code is what stands in the `kind` column."""

    client_started = 1  # a new instance, with an empty memory
    client_stopped = 2  # crashed; what it sent stays in flight
    init_sent = 3  # InitProducerId leaves, with the pair that it expects, if any (KIP-360)
    init_taken = 4  # the client, or the admin, takes the answer
    txn_begun = 5  # with the pair that the requests of the transaction will carry
    add_sent = 6  # AddPartitionsToTxn or AddOffsetsToTxn leaves
    add_taken = 7
    record_sent = 8  # Produce or TxnOffsetCommit leaves; each retry again
    record_acked = 9  # the client takes a success
    record_failed = 10  # the client gives the send up
    end_sent = 11  # EndTxn leaves; each retry again
    end_told = 12  # the client learns the end: without an error, as it asked; and the pair for its next transaction
    client_failed = 13  # fatal: there is no way out of it
    fence_told = 14  # Admin.fenceProducers has its answer for one transactional id

    init_handled = 20  # the answer leaves, after the append to the transaction log where there is one
    add_handled = 21
    end_handled = 22
    txn_logged = 23  # a record of the transaction log is durable, and now the state
    append_failed = 24  # an append to it did not succeed; `state` is the one that was to be
    timed_out = 25  # the coordinator starts to abort a transaction whose time is up; the epoch is that before the bump
    coordinator_loaded = 26  # fail-over: another node has taken over the transaction log
    partition_checked = 27  # the answer to a leader that asks, which verifies (v1-verified) or adds (v2) the partition
    marker_acked = 28  # the coordinator takes note that the marker is written
    id_expired = 29  # the transactional id was idle for too long and is forgotten

    batch_appended = 40
    batch_duplicate = 41  # answered with the offset of old; nothing is written
    batch_refused = 42
    marker_appended = 43
    marker_refused = 44
    check_asked = 45  # the leader asks the coordinator about a partition
    leader_changed = 46  # another leader, or a restart: what was only in memory is gone
    stable_moved = 47  # the last stable offset of the partition

    fetched = 50  # a read_committed fetch was handled: the reader gets all there is to read from `offset` to `upto`
    record_read = 51  # … among it this record
    record_seen = 52  # a read_uncommitted reader got the record
    offset_fetched = 53  # OffsetFetch that requires stable offsets: the offset committed last is that of `record`


class State(IntEnum):
    """States of the transaction log, in Kafka's numbers."""

    Empty = 0
    Ongoing = 1
    PrepareCommit = 2
    PrepareAbort = 3
    CompleteCommit = 4
    CompleteAbort = 5


ABORT, COMMIT = 0, 1  # values of `outcome`

COLUMNS = (
    Column("node", pa.int32(), "broker that acted"),
    Column("client", pa.int32(), "producer, admin or reader instance; a restarted one has another number"),
    Column("txn_id", pa.int32(), "transactional id, numbered from 0"),
    Column("producer_id", pa.int64(), "producer id"),
    Column("epoch", pa.int32(), "producer epoch; in timed_out that before the bump", "bumps"),
    Column("txn", pa.int64(), "a client's transaction, in order of begin: its owner knows it, no broker does"),
    Column("record", pa.int64(), "a logical send, unique in its history; an offset committed in a transaction is one"),
    Column("partition", pa.int32(), "data partitions first, then the offsets partitions of the groups"),
    Column("offset", pa.int64(), "where a record or marker lies; in fetched: where the fetch starts", "records"),
    Column(
        "sequence",
        pa.int32(),
        "sequence number of a batch, which holds one record; committed offsets have none",
        "records",
    ),
    Column("request", pa.int64(), "number of a request, unique in its history; a retry is another request"),
    Column("outcome", pa.int8(), "1 commit, 0 abort"),
    Column("state", pa.int8(), "state of the transaction log, in Kafka's numbers"),
    Column("coordinator_epoch", pa.int32(), "epoch of the coordinator, one higher with each fail-over", "fail-overs"),
    Column("upto", pa.int64(), "exclusive end of the offsets that are stable, or were fetched", "records"),
    # 0, not -1, where it does not apply: -1 is an error code of its own (UNKNOWN_SERVER_ERROR).
    Column("error", pa.int16(), "Kafka error code of an answer; 0 = none", absent=0),
)

_PAIR = ("producer_id", "epoch")
_BATCH = ("node", "partition", "offset", *_PAIR, "sequence", "record", "request")
_MARKER = ("node", "partition", *_PAIR, "outcome", "coordinator_epoch")
USED_BY = MappingProxyType(
    {
        "client_started": ("client", "txn_id"),
        "client_stopped": ("client",),
        "init_sent": ("client", "txn_id", "request", *_PAIR),
        "init_taken": ("client", "request", *_PAIR, "error"),
        "txn_begun": ("client", "txn_id", "txn", *_PAIR),
        "add_sent": ("client", "txn_id", "txn", "partition", "request", *_PAIR),
        "add_taken": ("client", "txn", "partition", "request", "error"),
        "record_sent": ("client", "txn_id", "txn", "partition", "record", "sequence", "request", *_PAIR),
        "record_acked": ("client", "txn", "partition", "record", "request", "offset"),
        "record_failed": ("client", "txn", "partition", "record", "request", "error"),
        "end_sent": ("client", "txn_id", "txn", "outcome", "request", *_PAIR),
        "end_told": ("client", "txn", "outcome", "request", *_PAIR, "error"),
        "client_failed": ("client", "error"),
        "fence_told": ("client", "txn_id", "request", *_PAIR, "error"),
        "init_handled": ("node", "txn_id", "request", *_PAIR, "error"),
        "add_handled": ("node", "txn_id", "request", "partition", *_PAIR, "error"),
        "end_handled": ("node", "txn_id", "request", "outcome", *_PAIR, "error"),
        "txn_logged": ("node", "txn_id", "state", *_PAIR, "coordinator_epoch"),
        "append_failed": ("node", "txn_id", "state", *_PAIR),
        "timed_out": ("node", "txn_id", *_PAIR),
        "coordinator_loaded": ("node", "coordinator_epoch"),
        "partition_checked": ("node", "txn_id", "partition", *_PAIR, "request", "error"),
        "marker_acked": ("node", "txn_id", "partition", *_PAIR),
        "id_expired": ("node", "txn_id"),
        "batch_appended": _BATCH,
        "batch_duplicate": _BATCH,
        "batch_refused": ("node", "partition", *_PAIR, "sequence", "record", "request", "error"),
        "marker_appended": (*_MARKER, "offset"),
        "marker_refused": (*_MARKER, "error"),
        "check_asked": ("node", "partition", *_PAIR, "request"),
        "leader_changed": ("node", "partition"),
        "stable_moved": ("partition", "upto"),
        "fetched": ("client", "partition", "offset", "upto"),
        "record_read": ("client", "partition", "offset", "record"),
        "record_seen": ("client", "partition", "offset", "record"),
        "offset_fetched": ("client", "partition", "record", "error"),
    }
)

TRANSACTIONS = Vocabulary("transactions", Kind, COLUMNS, USED_BY)
