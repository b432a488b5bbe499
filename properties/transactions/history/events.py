"""The events of transactions (KIP-98, KIP-360, KIP-890): kinds, columns, and which column speaks in which kind.

Codes and names are a file format: histories written years ago carry them. Add new ones at the end; never renumber.
Below 20 is what clients do and are told, from 20 on the transaction coordinator, from 40 on the leaders of partitions,
from 50 on the readers. A reader has each partition for itself: one that is given a partition anew, as by a rebalance,
is another reader.
"""

from enum import IntEnum

from fencepost.properties.history.vocabulary import Column, EventKind, Vocabulary

PAIR = "producer_id epoch"
PAIR_IF_ANY = "producer_id? epoch?"
BATCH = f"node partition offset {PAIR} sequence record request"
MARKER = f"node partition {PAIR} outcome coordinator_epoch"

CLIENTS = "clients"  # what clients do, are told and read: every implementation can show it
LOGS = "logs"  # what is found on the disks of brokers


class Kind(EventKind):
    """What happened in one event: code, columns, and who shows it."""

    client_started = 1, "client txn_id", CLIENTS  # a new instance, with an empty memory
    client_stopped = 2, "client", CLIENTS  # crashed; what it sent stays in flight
    # InitProducerId leaves, with the pair that it expects, if any (KIP-360)
    init_sent = 3, f"client txn_id request {PAIR_IF_ANY}", CLIENTS
    init_taken = 4, f"client request {PAIR_IF_ANY} error", CLIENTS  # the client, or the admin, takes the answer
    txn_begun = 5, f"client txn_id txn {PAIR}", CLIENTS  # with the pair that the requests of the transaction will carry
    add_sent = 6, f"client txn_id txn partition request {PAIR}", CLIENTS  # AddPartitionsToTxn or AddOffsetsToTxn leaves
    add_taken = 7, "client txn partition request error", CLIENTS
    # Produce or TxnOffsetCommit leaves; each retry again
    record_sent = 8, f"client txn_id txn partition record sequence? request {PAIR}", CLIENTS
    record_acked = 9, "client txn partition record request offset?", CLIENTS  # the client takes a success
    record_failed = 10, "client txn partition record! request? error", CLIENTS  # the client gives the send up
    end_sent = 11, f"client txn_id txn outcome request {PAIR}", CLIENTS  # EndTxn leaves; each retry again
    # the client learns the end: without an error, as it asked; and the pair for its next transaction
    end_told = 12, f"client txn outcome request {PAIR_IF_ANY} error", CLIENTS
    client_failed = 13, "client error", CLIENTS  # fatal: there is no way out of it
    # Admin.fenceProducers has its answer for one transactional id
    fence_told = 14, f"client txn_id request {PAIR_IF_ANY} error", CLIENTS

    # the answer leaves, after the append to the transaction log where there is one
    init_handled = 20, f"node txn_id request {PAIR} error"
    add_handled = 21, f"node txn_id request partition {PAIR} error"
    end_handled = 22, f"node txn_id request outcome {PAIR} error"
    # a record of the transaction log is durable, and now the state
    txn_logged = 23, f"node txn_id state {PAIR} coordinator_epoch", LOGS
    # an append to it did not succeed; `state` is the one that was to be
    append_failed = 24, f"node txn_id state {PAIR}"
    # the coordinator starts to abort a transaction whose time is up; the epoch is that before the bump
    timed_out = 25, f"node txn_id {PAIR}"
    coordinator_loaded = 26, "node coordinator_epoch"  # fail-over: another node has taken over the transaction log
    # the answer to a leader that asks, which verifies (v1-verified) or adds (v2) the partition
    partition_checked = 27, f"node txn_id partition {PAIR} request error"
    marker_acked = 28, f"node txn_id partition {PAIR}"  # the coordinator takes note that the marker is written
    id_expired = 29, "node txn_id", LOGS  # the transactional id was idle for too long and is forgotten

    batch_appended = 40, BATCH, LOGS
    batch_duplicate = 41, BATCH  # answered with the offset of old; nothing is written
    batch_refused = 42, f"node partition {PAIR} sequence record request error"
    marker_appended = 43, f"{MARKER} offset", LOGS
    marker_refused = 44, f"{MARKER} error"
    check_asked = 45, f"node partition {PAIR} request"  # the leader asks the coordinator about a partition
    leader_changed = 46, "node partition"  # another leader, or a restart: what was only in memory is gone
    stable_moved = 47, "partition upto"  # the last stable offset of the partition

    # a read_committed fetch was handled: the reader gets all there is to read from `offset` to `upto`
    fetched = 50, "client partition offset upto", CLIENTS
    record_read = 51, "client partition offset record", CLIENTS  # … among it this record
    record_seen = 52, "client partition offset record", CLIENTS  # a read_uncommitted reader got the record
    # OffsetFetch that requires stable offsets: the offset committed last is that of `record`
    offset_fetched = 53, "client partition record? error", CLIENTS


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
    Column("node", "int32", "broker that acted"),
    Column("client", "int32", "producer, admin or reader instance; a restarted one has another number"),
    Column("txn_id", "int32", "transactional id, numbered from 0"),
    Column("producer_id", "int64", "producer id"),
    Column("epoch", "int32", "producer epoch; in timed_out that before the bump", "bumps"),
    Column("txn", "int64", "a client's transaction, in order of begin: its owner knows it, no broker does"),
    Column("record", "int64", "a logical send, unique in its history; an offset committed in a transaction is one"),
    Column("partition", "int32", "data partitions first, then the offsets partitions of the groups"),
    Column("offset", "int64", "where a record or marker lies; in fetched: where the fetch starts", "records"),
    Column(
        "sequence",
        "int32",
        "sequence number of a batch, which holds one record; committed offsets have none",
        "records",
    ),
    Column("request", "int64", "number of a request, unique in its history; a retry is another request"),
    Column("outcome", "int8", "1 commit, 0 abort"),
    Column("state", "int8", "state of the transaction log, in Kafka's numbers"),
    Column("coordinator_epoch", "int32", "epoch of the coordinator, one higher with each fail-over", "fail-overs"),
    Column("upto", "int64", "exclusive end of the offsets that are stable, or were fetched", "records"),
    # 0, not -1, where it does not apply: -1 is an error code of its own (UNKNOWN_SERVER_ERROR).
    Column("error", "int16", "Kafka error code of an answer; 0 = none", absent=0),
)

TRANSACTIONS = Vocabulary("transactions", Kind, COLUMNS, public=(CLIENTS,))
