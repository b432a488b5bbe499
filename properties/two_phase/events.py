"""This module defines the events of two-phase commit (KIP-939): their kinds, their columns, and who observes them.

Codes and names are a file format: histories written years ago contain them. Add new ones at the end and never renumber.
Codes below 20 are what clients do and are answered, from 20 on the transaction coordinator, from 40 on the leaders of
partitions, from 50 on the readers, from 60 on the outside stores.

In most kinds ``producer_id`` and ``epoch`` are the pair with which the transaction began: it identifies the
transaction, and a prepared state is this pair. The client-facing pair, which differs from it once the transaction was
retained for another instance, is in ``next_producer_id`` and ``next_epoch``. A request has the pair that it carries.
"""

from fencepost.properties.history.signs import events
from fencepost.properties.history.vocabulary import KAFKA_ERROR, Column, EventKind, Vocabulary

CLIENT = "client txn_id"
OWN = "producer_id epoch"
OWN_IF_ANY = "producer_id? epoch?"
CLIENTS_PAIR = "next_producer_id? next_epoch?"
RECORD = "txn record partition request"

APPLICATION = "application"  # instances of the application and readers log it
STORE = "store"  # the outside store has it
LOGS = "logs"  # what is found on the disks of brokers


class Kind(EventKind):
    """A `Kind` is what happened in one event: its code, its columns, and who observes it."""

    client_started = 1, CLIENT, APPLICATION  # a new instance, with an empty memory
    client_stopped = 2, "client", APPLICATION  # crashed; what it sent stays in flight
    # InitProducerId leaves: two_phase is enable2Pc, keep is keepPreparedTxn; an admin's has neither
    init_sent = 3, f"{CLIENT} request two_phase keep", APPLICATION
    init_taken = 4, f"client request {OWN_IF_ANY} error", APPLICATION  # with the pair of the client from now on
    txn_begun = 5, f"{CLIENT} txn {OWN}", APPLICATION
    record_sent = 8, f"{CLIENT} {RECORD} {OWN}", APPLICATION  # each retry again
    record_acked = 9, f"client {RECORD}", APPLICATION
    record_failed = 10, f"client {RECORD} error", APPLICATION
    # EndTxn leaves, with the pair of the client; each retry again
    end_sent = 11, f"{CLIENT} txn? outcome request {OWN}", APPLICATION
    # the end is reported, with the pair of the client for the next transaction; without a request no broker was asked
    end_taken = 12, f"{CLIENT} txn? outcome request? {OWN} {CLIENTS_PAIR} error", APPLICATION
    client_failed = 13, "client error", APPLICATION
    # forceTerminateTransaction has its answer
    termination_taken = 14, f"{CLIENT} request {OWN_IF_ANY} error", APPLICATION
    # initTransactions(true) has found an open transaction: its own pair, and that of the client
    txn_recovered = 15, f"{CLIENT} {OWN} next_producer_id next_epoch", APPLICATION
    txn_prepared = 16, f"{CLIENT} txn {OWN}", APPLICATION  # prepareTransaction() has returned: OWN is the state
    # completeTransaction(): of which transaction, and whether the state that it was given is that one's
    complete_called = 17, f"{CLIENT} {OWN} outcome", APPLICATION
    commit_called = 18, f"{CLIENT} {OWN}", APPLICATION  # commitTransaction() by itself, without the store

    # the answer leaves: the pair of the transaction that is retained, if one is, and that of the client
    init_handled = 20, f"txn_id request {OWN_IF_ANY} {CLIENTS_PAIR} error"
    end_handled = 22, f"txn_id request outcome {OWN_IF_ANY} error"  # with the pair of the client for the next one
    # a record of the transaction log is durable, with both of its pairs
    txn_logged = 23, f"txn_id state {OWN} {CLIENTS_PAIR} coordinator_epoch", LOGS
    append_failed = 24, f"txn_id state {OWN}"
    timed_out = 25, f"txn_id {OWN}"  # the coordinator starts to abort a transaction whose time is up
    coordinator_loaded = 26, "coordinator_epoch"
    partition_checked = 27, f"txn_id partition {OWN} request error"  # a leader's question, which adds the partition
    # the record of Prepare is durable, which decides the transaction for ever: by its own pair, without the bump
    txn_ended = 30, f"txn_id {OWN} outcome", LOGS
    # InitProducerId meets an open transaction, whose end begins: of a correct coordinator only without keepPreparedTxn
    termination_begun = 31, f"txn_id request {OWN} keep"

    batch_appended = 40, f"partition offset {OWN} record request", LOGS
    batch_refused = 42, f"partition {OWN} record request error"
    marker_appended = 43, f"partition offset {OWN} outcome coordinator_epoch", LOGS  # OWN: of the marker, bumped

    record_read = 51, "client partition offset record", APPLICATION  # a read_committed reader got the record

    # an instance has read: the state that was written last, and whether it is to be committed
    decision_read = 60, f"{CLIENT} claim {OWN_IF_ANY} outcome", STORE
    decision_written = 61, f"{CLIENT} claim {OWN} outcome", STORE
    decision_refused = 62, f"{CLIENT} claim {OWN} outcome", STORE  # the store has another owner by now
    store_claimed = 63, f"{CLIENT} claim", STORE  # before InitProducerId leaves


COLUMNS = (
    Column("client", "int32", "instance, admin or reader; a restarted one has another number"),
    Column("txn_id", "int32", "transactional id, numbered from 0"),
    Column("producer_id", "int64", "producer id with which the transaction began; of a request, the one in it"),
    Column("epoch", "int32", "producer epoch that goes with it", "bumps"),
    Column("next_producer_id", "int64", "producer id of the client, where the transaction's is another column"),
    Column("next_epoch", "int32", "producer epoch that goes with it", "bumps"),
    Column("txn", "int64", "a client's transaction, in order of begin; a recovered one has none"),
    Column("record", "int64", "a logical send, unique in its history"),
    Column("partition", "int32", "data partition"),
    Column("offset", "int64", "where a record or marker lies", "records"),
    Column("request", "int64", "number of a request, unique in its history; a retry is another request"),
    Column("two_phase", "int8", "1: enable2Pc"),
    Column("keep", "int8", "1: keepPreparedTxn"),
    Column("claim", "int32", "owner of an outside store, numbered as they claim it"),
    Column("outcome", "int8", "1 commit, 0 abort"),
    Column("state", "int8", "state of the transaction log, in Kafka's numbers"),
    Column("coordinator_epoch", "int32", "epoch of the coordinator, one higher with each fail-over", "fail-overs"),
    KAFKA_ERROR,
)

TWO_PHASE = Vocabulary("two-phase", Kind, COLUMNS, public=(APPLICATION, STORE))


SIGNS = (
    events("client-crash", "instances that crash", Kind.client_stopped),
    events("coordinator-fail-over", "coordinators that take over", Kind.coordinator_loaded),
    events("time-out", "transactions whose time is up", Kind.timed_out),
    events("zombie", "transactions that another instance takes over", Kind.txn_recovered),
)  # fmt: skip
