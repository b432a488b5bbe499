"""This module defines the kinds of events, the faults that they are evidence of, error codes, and what the models leave
out.

The kinds are those of transactions (KIP-98, KIP-360, KIP-890), each with the columns that it uses.

Codes and names are a file format: histories written years ago contain them. Add new ones at the end and never renumber.
Codes below 20 are what clients do and are answered, from 20 on the transaction coordinator, from 40 on the leaders of
partitions, from 50 on the readers. Each reader reads one partition; a reader that is assigned a partition again, as by
a rebalance, is another reader.
"""

from enum import IntEnum

import numpy as np
from fencepost.model.language import exists, implies
from fencepost.model.transactions.abstract.core import Fate, Outcome, Phase, Txn
from fencepost.model.transactions.detailed.coordinator import Pending
from fencepost.properties.history.signs import Events, Sign, events
from fencepost.properties.history.vocabulary import KAFKA_ERROR, Column, EventKind, Vocabulary

PAIR = "producer_id epoch"
PAIR_IF_ANY = "producer_id? epoch?"
BATCH = f"node partition offset {PAIR} sequence record request"
MARKER = f"node partition {PAIR} outcome coordinator_epoch"

CLIENTS = "clients"  # what clients do, are answered and read: every implementation can emit it
LOGS = "logs"  # what is found on the disks of brokers


class Kind(EventKind):
    """A `Kind` is what happened in one event: its code, its columns, and who observes it."""

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
    client_failed = 13, "client error", CLIENTS  # a fatal error of the client
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
    """`State` lists the states of the transaction log, with Kafka's numbers."""

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
    KAFKA_ERROR,
)

TRANSACTIONS = Vocabulary("transactions", Kind, COLUMNS, public=(CLIENTS,), recorded_with={CLIENTS: "--clients FILE"})


# These events of transactions are evidence of a danger; see `fencepost.properties.history.signs`.

WRITTEN = (Kind.batch_appended, Kind.batch_duplicate, Kind.batch_refused)


def _late(e: Events) -> int:
    """Count requests that reach a partition after the client was answered about the end of their transaction."""
    sent, reported, arrived = e.of(Kind.record_sent), e.of(Kind.end_told), e.of(*WRITTEN)
    reported = reported[e["error"][reported] == 0]
    ended, mine = e.together((reported, sent), "client", "txn")
    count = int(max(ended.max(initial=-1), mine.max(initial=-1))) + 1
    end_of = e.first(reported, ended, count)[mine]  # for each send the row of its transaction's end
    carried, requests = e.together((sent, arrived), "request")
    count = int(max(carried.max(initial=-1), requests.max(initial=-1))) + 1
    over = np.full(count, len(e["kind"]), np.int64)
    over[carried] = end_of
    return int((over[requests] < arrived).sum())


def _zombies(e: Events) -> int:
    """Count what an initialised client sends after another instance of its transactional id has been initialised."""
    started, taken = e.of(Kind.client_started), e.of(Kind.init_taken)
    taken = taken[e["error"][taken] == 0]
    sent = e.of(Kind.add_sent, Kind.record_sent, Kind.end_sent)
    starts, takers, senders = e.together((started, taken, sent), "client")
    count = int(max(starts.max(initial=-1), takers.max(initial=-1), senders.max(initial=-1))) + 1
    of = np.full(count, -1, np.int64)
    of[starts] = e.groups(started, "txn_id")
    if not len(taken):
        return 0
    end = len(e["kind"]) + 1
    order = np.argsort(of[takers] * end + taken)
    moments, owners = (of[takers] * end + taken)[order], takers[order]
    latest = np.searchsorted(moments, of[senders] * end + sent) - 1
    same = (latest >= 0) & (moments[latest] // end == of[senders]) & (of[senders] >= 0)
    return int((same & (owners[latest] != senders) & np.isin(senders, takers)).sum())


def _lost(e: Events) -> int:
    """Count requests with a record that no leader received and that was sent again."""
    sent, arrived = e.of(Kind.record_sent), e.of(*WRITTEN)
    records = e.groups(sent, "record")
    again = np.bincount(records)[records] > 1 if len(sent) else np.zeros(0, np.bool_)
    mine, theirs = e.together((sent, arrived), "request")
    last = np.zeros(len(sent), np.bool_)
    if len(sent):
        last[np.unique(records[::-1], return_index=True)[1]] = True  # of each record, its last sending
        last = last[::-1]
    return int((again & ~last & ~np.isin(mine, theirs)).sum())


def _answered_again(e: Events) -> int:
    """Count transactions whose end the coordinator answered without an error more than once."""
    handled, sent = e.of(Kind.end_handled), e.of(Kind.end_sent)
    handled = handled[e["error"][handled] == 0]
    mine, theirs = e.together((handled, sent), "request")
    count = int(max(mine.max(initial=-1), theirs.max(initial=-1))) + 1
    of = np.full(count, -1, np.int64)
    of[theirs] = e.groups(sent, "client", "txn")
    ended = of[mine]
    return int((np.bincount(ended[ended >= 0]) > 1).sum()) if len(ended) else 0


def _overtaken(e: Events) -> int:
    """Count batches that are written after a batch that the same client sent later."""
    sent, written = e.of(Kind.record_sent), e.of(Kind.batch_appended)
    mine, theirs = e.together((sent, written), "request")
    count = int(max(mine.max(initial=-1), theirs.max(initial=-1))) + 1
    row = np.full(count, -1, np.int64)
    row[mine] = sent
    sender = np.full(count, -1, np.int64)
    sender[mine] = e.groups(sent, "client")
    rows, senders = row[theirs], sender[theirs]
    found = 0
    for client in np.unique(senders[senders >= 0]):
        own = rows[senders == client]
        found += int((own < np.maximum.accumulate(own)).sum())
    return found


def _repeated(e: Events, within: tuple[str, ...], name: str) -> int:
    sent = e.of(Kind.record_sent)
    if not len(sent):
        return 0
    each = np.unique(np.stack([e.groups(sent, *within), e[name][sent]]), axis=1)[0]
    return int((np.bincount(each) > 1).sum())


SIGNS = (
    Sign("late-copy", "requests that arrive after the end of their transaction was told", _late),
    events("duplicate", "batches that arrive once more", Kind.batch_duplicate),
    Sign("loss", "requests that no leader saw, whose record was sent again", _lost),
    Sign("lost-answer", "transactions whose end was answered twice", _answered_again),
    Sign("reordering", "batches that were overtaken", _overtaken),
    events("client-crash", "clients that crash", Kind.client_stopped),
    Sign("zombie", "what a client sends after another has taken its place", _zombies),
    Sign("several-ids", "transactional ids beside the first", lambda e: e.further(e.of(Kind.txn_begun), (), "txn_id")),
    Sign("several-groups", "groups whose offsets are read, beside the first",
         lambda e: e.further(e.of(Kind.offset_fetched), (), "partition")),
    Sign("several-records", "transactions with several records in one partition",
         lambda e: _repeated(e, ("client", "txn", "partition"), "record")),
    Sign("several-partitions", "transactions over several partitions",
         lambda e: _repeated(e, ("client", "txn"), "partition")),
    Sign("slow-reader", "fetches that go on where the reader's fetch before ended",
         lambda e: len(e.of(Kind.fetched)) - len(np.unique(e.groups(e.of(Kind.fetched), "client", "partition")))),
    events("coordinator-fail-over", "fail-overs of the coordinator", Kind.coordinator_loaded),
    events("failed-append", "appends to the transaction log that do not succeed", Kind.append_failed),
    events("id-expiry", "transactional ids that expire", Kind.id_expired),
    events("time-out", "transactions that time out", Kind.timed_out),
    Sign("end-of-epochs", "producer ids that a transactional id was given, beside the first",
         lambda e: e.further(e.of(Kind.txn_logged), ("txn_id",), "producer_id")),
    events("broker-restart", "leaders that lose what only their memory held", Kind.leader_changed),
)  # fmt: skip


# The model of transactions cannot follow these things in a history, though they may be right: why, and how each is
# detected.
#
# The model has one record for all of a transaction's in a partition, one memory for all producer ids there, and no
# question of a leader that outlives a marker. Only the last of these can happen in v2. A history reveals enough of a
# further record that arrives after the end of its transaction (`BESIDE`). And the model remembers two things that
# Kafka's coordinator does not: the pair that InitProducerId named where the id had been forgotten, and how the last
# transaction ended once a retry of InitProducerId was written to the log (as Empty).

LATE_RECORD = "v1: a record joins what a late one has opened, of whose transaction another record was there in time"
OLD_ID = "v1: a record of an earlier producer id comes late"
OLD_LEFT = "v1: a marker of a later producer id does not end what a late record of an earlier one has opened"
LATE_QUESTION = "v2: a leader's question reaches the coordinator after a marker has ended it there"
UNREPORTED = "a coordinator resigned, and no answer says which of several partitions it had added"
FORGOTTEN = "a retry names an epoch of before its transactional id was forgotten, which the model remembers"
ERASED = "a retry of InitProducerId erased how the last transaction ended, which the model remembers"
TOO_LARGE = "an epoch is larger than {}"
TOO_MANY = "one transactional id has more {} than {}"
BESIDE = 1_000
"""`BESIDE` is the code of a further record's append that arrives late, in the place of `batch_appended`."""
MOST = {"clients": 256, "transactions": 256, "partitions": 64, "pairs": 1024, "fail_overs": 64}
"""`MOST` limits how many of each thing are followed for one transactional id in one history."""


SENT = (Kind.init_sent, Kind.add_sent, Kind.record_sent, Kind.end_sent)
TAKEN = (Kind.init_taken, Kind.fence_told)

# Error codes: in which states of the model each code that an implementation answers with is right.
#
# A code that may be tried again is right where a pending transition or a fault explains it: 51 while a record is on its
# way to the log or a transaction is being completed; 14, 15 and 16 (column ``away``) after a failed append or a
# fail-over, 14 also where a producer id is needed. An implementation that answers with a code in none of these lists is
# wrong.

NONE, FAILED = 0, -1
UNKNOWN_PARTITION, NOT_LEADER, TIMED_OUT, NOT_ENOUGH_REPLICAS = 3, 6, 7, 19
LOADING, NOT_AVAILABLE, NOT_COORDINATOR = 14, 15, 16
OUT_OF_ORDER, OLD_EPOCH, INVALID_STATE, INVALID_MAPPING, CONCURRENT, COORDINATOR_FENCED = 45, 47, 48, 49, 51, 52
UNSTABLE, FENCED, ABORTABLE = 88, 90, 120
ILLEGAL_GENERATION, UNKNOWN_MEMBER, REBALANCE, NO_GROUP, FENCED_INSTANCE, STALE_MEMBER = 22, 25, 27, 69, 82, 113


def _away(e):
    return (e.error == LOADING) | (e.error == NOT_AVAILABLE) | (e.error == NOT_COORDINATOR)


def waits(s, e):
    """Decide whether a client that asks now has to ask again."""
    return (s.pending != Pending.NOTHING) | (s.phase == Phase.PREPARED) | e.busy


def quiet(s):
    """Decide whether no transition is pending or being completed, so that requests are judged by their epoch."""
    return (s.pending == Pending.NOTHING) & (s.phase != Phase.PREPARED)


def foreign(s, number):
    """Decide whether an epoch belongs to another producer id than the present one, or to a transactional id that is
    forgotten."""
    return (number < s.base) | (s.base + s.last + 1 < number) | s.unknown


def needs_id(s):
    """Decide whether the next step needs a producer id, of which the coordinator's broker may have none at hand
    (KIP-730). That is so if the transactional id is not known, or the epochs of its producer id are used up, perhaps by
    a fence."""
    fenced_first = (s.phase == Phase.ONGOING) & (s.live() + 1 >= s.base + s.last)
    return (s.epoch == 0) | s.unknown | (s.live() >= s.base + s.last) | fenced_first


def _retriable(s, e):
    return implies(e.error == CONCURRENT, waits(s, e)) & implies(_away(e), e.away)


def _retriable_with_id(s, e):
    return implies(e.error == CONCURRENT, waits(s, e)) & implies(
        _away(e), e.away | ((e.error == LOADING) & needs_id(s))
    )


def init_code(s, e):
    """Decide whether the error code of an answer to InitProducerId fits the state."""
    fenced = (e.named != 0) & (e.named != s.live()) & (e.named != s.remembers) & ~s.unknown
    return (
        ((e.error == NONE) | (e.error == FENCED) | (e.error == FAILED) | (e.error == CONCURRENT) | _away(e))
        & _retriable_with_id(s, e)
        & implies((e.error == FENCED) | (e.error == FAILED), quiet(s) & (e.named != 0) & ~s.unknown)
        & implies(e.error == FAILED, s.fails_naming(e.named) & (s.phase == Phase.IDLE))
        & implies(e.error == FENCED, ~(s.fails_naming(e.named) & (s.phase == Phase.IDLE)))
        & implies(e.error == FENCED, fenced & ((s.phase == Phase.IDLE) | foreign(s, e.named)))
        & implies(e.error == NONE, s.phase == Phase.IDLE)
        & implies(e.error == NONE, s.epoch == e.number)
        & implies((e.error == NONE) & (e.named != 0), s.remembers == e.named)
        & implies(e.error == NONE, ~s.unknown)
    )


def _pair_known(e):
    return (e.error == NONE) | (e.error == FENCED) | (e.error == INVALID_MAPPING) | (e.error == CONCURRENT) | _away(e)


def _pair_code(s, e):
    """Decide whether the error code fits a request that must name the exact pair, as one that adds partitions."""
    return (
        _retriable(s, e)
        & implies((e.error == FENCED) | (e.error == INVALID_MAPPING), quiet(s))
        & implies(e.error == FENCED, ~foreign(s, e.number) & (e.number != s.live()))
        & implies(e.error == INVALID_MAPPING, foreign(s, e.number))
    )


def add_code(s, e):
    """Decide whether the error code fits AddPartitionsToTxn or AddOffsetsToTxn of a client; in v2 also a leader's
    question."""
    return _pair_known(e) & _pair_code(s, e)


def verify_code(s, e):
    """Decide whether the error code fits a leader's question in v1-verified. The coordinator does not look at pending
    transitions there; a fence is in memory before it is pending."""
    right = (e.number == s.live()) & (s.pending != Pending.FENCE) & ~s.unknown
    return (
        (_pair_known(e) | (e.error == ABORTABLE))
        & implies(_away(e), e.away)
        & implies(e.error == NONE, right)
        & implies(e.error == CONCURRENT, right & (s.phase == Phase.PREPARED))
        & implies(e.error == FENCED, ~foreign(s, e.number) & ~right)
        & implies(e.error == INVALID_MAPPING, foreign(s, e.number))
        & implies(e.error == ABORTABLE, right & (s.phase != Phase.PREPARED) & ~s.parts[e.partition])
    )


def _end_known(e):
    known = (e.error == NONE) | (e.error == INVALID_STATE) | (e.error == INVALID_MAPPING) | (e.error == FENCED)
    return known | (e.error == CONCURRENT) | _away(e)


def end_code_v1(s, e):
    """Decide whether the error code fits an EndTxn of v1, which must name the exact pair."""
    mine = s.number[e.txn] == s.live()
    return (
        _end_known(e)
        & _retriable(s, e)
        & implies((e.error == FENCED) | (e.error == INVALID_MAPPING) | (e.error == INVALID_STATE), quiet(s))
        & implies(e.error == FENCED, ~foreign(s, s.number[e.txn]) & ~mine)
        & implies(e.error == INVALID_MAPPING, foreign(s, s.number[e.txn]))
        & implies(e.error == INVALID_STATE, mine & (s.phase == Phase.IDLE) & (s.outcome != s.choice[e.txn]))
        & _end_answer(s, e)
    )


def end_code_v1_over_the_wire(s, e):
    """Decide whether the error code fits an EndTxn below version 5 as Kafka answers it. Kafka checks id and epoch
    before the transition that is being completed, so that a fenced producer learns of its fence while the markers are
    due, and another outcome than the prepared one is refused (48)."""
    mine = s.number[e.txn] == s.live()
    ended = (s.phase == Phase.IDLE) | (s.phase == Phase.PREPARED)
    return (
        _end_known(e)
        & _retriable(s, e)
        & implies(e.error == FENCED, ~foreign(s, s.number[e.txn]) & ~mine)
        & implies(e.error == INVALID_MAPPING, foreign(s, s.number[e.txn]))
        & implies(e.error == INVALID_STATE, mine & ended & (s.outcome != s.choice[e.txn]))
        & _end_answer(s, e)
    )


def end_code_v2(s, e):
    """Decide whether the error code fits an EndTxn of v2, which names the exact pair, or in a retry the pair
    before it."""
    mine = s.number[e.txn] == s.live()
    again = s.is_retry(e.txn) & s.is_next_to_present(e.txn) & (s.outcome != Outcome.NONE) & (s.phase == Phase.IDLE)
    other = again & (s.outcome != s.choice[e.txn])
    nothing = mine & (s.phase == Phase.IDLE) & (s.choice[e.txn] == Outcome.COMMIT)
    before = s.number[e.txn] + 2 == s.base  # of the producer id before, if it was its last epoch
    return (
        _end_known(e)
        & _retriable_with_id(s, e)
        & implies((e.error == FENCED) | (e.error == INVALID_MAPPING) | (e.error == INVALID_STATE), quiet(s))
        & implies(e.error == FENCED, (before | ~foreign(s, s.number[e.txn])) & ~mine & ~again)
        & implies(e.error == INVALID_MAPPING, foreign(s, s.number[e.txn]) & ~again)
        & implies(e.error == INVALID_STATE, other | nothing)
        & _end_answer(s, e)
    )


def _end_answer(s, e):
    """Decide whether a successful answer agrees with the log: the transaction, or one taken for it, has ended
    as asked."""
    return (
        implies(e.error == NONE, s.phase != Phase.ONGOING)
        & implies(e.error == NONE, s.outcome == s.choice[e.txn])
        & implies((e.error == NONE) & (e.number != 0), s.epoch == e.number)
    )


def produce_code_v1(s, e):
    """Decide whether the error code fits a Produce where leaders ask no coordinator, or an offset commit. The model has
    no sequence numbers."""
    of_leaders = (e.error == OUT_OF_ORDER) | (e.error == UNKNOWN_PARTITION) | (e.error == NOT_LEADER)
    return (of_leaders | (e.error == OLD_EPOCH) | _by_the_group(e) | _away(e)) & implies(
        e.error == OLD_EPOCH, e.number < s.known[e.partition]
    )


def _asked_code(s, e):
    """Decide whether the error code fits a Produce where the leader passes on the coordinator's answer, which may be
    old."""
    old = (e.number < s.known[e.partition]) | (e.number != s.live()) | (s.pending == Pending.FENCE) | e.away
    return (
        implies(e.error == OLD_EPOCH, old)
        & implies(e.error == INVALID_STATE, s.fate[e.txn, e.partition] != Fate.OPEN)
        & implies(e.error == INVALID_MAPPING, foreign(s, e.number))
    )


def _by_the_group(e):
    """Decide whether a group's coordinator refused an offset commit because the sender is not its present member
    (KIP-447). The model has no group; nothing is written, as after any other refusal."""
    member = (e.error == UNKNOWN_MEMBER) | (e.error == FENCED_INSTANCE) | (e.error == STALE_MEMBER)
    return member | (e.error == ILLEGAL_GENERATION) | (e.error == REBALANCE) | (e.error == NO_GROUP)


def _asked_known(e):
    known = (e.error == OUT_OF_ORDER) | (e.error == OLD_EPOCH) | (e.error == INVALID_STATE)
    reported = (e.error == INVALID_MAPPING) | (e.error == CONCURRENT) | (e.error == NOT_ENOUGH_REPLICAS) | _away(e)
    return known | reported | _by_the_group(e) | (e.error == UNKNOWN_PARTITION) | (e.error == NOT_LEADER)


def produce_code_verified(s, e):
    return (_asked_known(e) | (e.error == ABORTABLE)) & _asked_code(s, e)


def produce_code_v2(s, e):
    return _asked_known(e) & _asked_code(s, e)


def _of_older_id(s, e):
    """Decide whether the partition knows a later producer id. For the older id the partition has a separate memory,
    which is not in the model."""
    return e.next_base <= s.known[e.partition]


def _marker_code(s, e, old):
    """Decide whether the error code fits a WriteTxnMarkers; ``old`` is whether its epoch is old."""
    is_known = (e.error == OLD_EPOCH) | (e.error == COORDINATOR_FENCED)
    old_term = e.term < s.known_term[e.partition]
    return is_known & (
        _of_older_id(s, e) | (implies(e.error == OLD_EPOCH, old) & implies(e.error == COORDINATOR_FENCED, old_term))
    )


def marker_code_v1(s, e):
    return _marker_code(s, e, e.number < s.known[e.partition])


def marker_code_v2(s, e):
    """Decide whether the error code fits a WriteTxnMarkers of v2, where an equal epoch is a retry unless a record is
    open."""
    opened = exists(Txn, lambda t: s.fate[t, e.partition] == Fate.OPEN)
    return _marker_code(s, e, (e.number < s.known[e.partition]) | ((e.number == s.known[e.partition]) & opened))
