"""What transactions promise to clients, held against what clients did, were told and read.

Everything up to `lone_client_never_fenced` can be asked of a recording that shows clients only, except where its
`needs` say otherwise. Write cycles and skipped sends are no violations: Kafka does not isolate writers.
"""

from functools import partial

from fencepost.properties.history.checking import HistoryProperty
from fencepost.properties.history.cuts import Left
from fencepost.properties.history.related import IT, Setting, declared, each, first, last, when
from fencepost.properties.history.spreading import Link, Spread, by
from fencepost.properties.transactions.history import coordination, fencing, offsets, reading
from fencepost.properties.transactions.history.events import ABORT, COMMIT, Kind
from fencepost.properties.transactions.history.view import TransactionView
from fencepost.properties.transactions.history.words import saying

_HISTORY = ("history",)
_READ = frozenset({Kind.record_sent, Kind.record_read})
_GIVEN = frozenset({Kind.init_taken, Kind.end_told, Kind.fence_told})
_FENCED = _GIVEN | {Kind.init_sent}
_GROUP = frozenset({Kind.record_sent, Kind.offset_fetched, Kind.end_told})
_DECIDED = frozenset({Kind.record_sent, Kind.batch_appended, Kind.marker_appended})

_FAMILY = by("record", "txn", "request", "producer_id", "txn_id")
"""What holds the events of a transactional id together."""
_BY_FENCE = partial(Spread, links=_FAMILY, somewhere=fencing.fenced_somewhere)
_LOG = Link(("partition", "producer_id"), blank=True, kinds=frozenset({Kind.batch_appended, Kind.marker_appended}))
_CLOSED = partial(Spread, links=(_LOG, *by("record", "txn")))
_IN_ONE_PLACE = Spread(_READ | {Kind.record_acked, Kind.end_told, Kind.fetched}, whole=True, ends=True)
"""Whether a history ends within its last fetch shows what comes last of all kinds."""

FINE, NAMED = IT.error == 0, (IT.error == 0) & (IT.producer_id >= 0)
GIVEN = (Kind.init_taken, Kind.end_told, Kind.fence_told)
"""By which an instance learns a pair that is its own from now on."""

PLACED = (Kind.record_read, Kind.record_seen, Kind.record_acked)
RECORD, TXN = ("record",), ("txn",)
SENT = first(Kind.record_sent, by=RECORD)
OWNED = ~SENT.missing & (SENT.txn >= 0)
END_ASKED = first(Kind.end_sent, by=TXN, asking=SENT)
COMMIT_ASKED = first(Kind.end_sent, by=TXN, asking=SENT, where=IT.outcome == COMMIT)
ABORT_TOLD = first(Kind.end_told, by=TXN, asking=SENT, where=FINE & (IT.outcome == ABORT))
ACKED = first(Kind.record_acked, by=RECORD, in_place=True)
OWN_COMMIT_ASKED = first(Kind.end_sent, by=TXN, where=IT.outcome == COMMIT, in_place=True)
OWN_COMMIT_TOLD = first(Kind.end_told, by=TXN, where=FINE & (IT.outcome == COMMIT), in_place=True)
FIRST_READ = first(Kind.record_read, Kind.record_seen, by=("record", "partition"), blank=True)
FIRST_THERE = first(*PLACED, by=("partition", "offset"), where=IT.offset >= 0, blank=True)
READ_BEFORE = last(Kind.record_read, by=("client", "partition"), in_place=True, blank=True)
FETCH = last(Kind.fetched, by=("client", "partition"), in_place=True, blank=True)
OWNER = first(*GIVEN, by=("producer_id", "epoch"), where=NAMED, blank=True)
GIVEN_BEFORE = last(*GIVEN, by=("client", "producer_id"), where=NAMED, in_place=True, blank=True)

PROMISES: tuple[HistoryProperty[TransactionView], ...] = (
    HistoryProperty(
        "commits_kept", "txn.P4",
        "an acknowledged record of a transaction told committed is returned to every reader whose fetch covers it",
        _HISTORY, reading.commits_kept, saying("does not return what was acknowledged by"),
        _READ | {Kind.record_acked, Kind.end_told, Kind.fetched}, spread=_IN_ONE_PLACE,
    ),
    declared(
        "commits_acknowledged", "txn.P4",
        "when a transaction is told committed, each of its records was acknowledged before the commit was asked for",
        each(Kind.record_sent, by=RECORD),
        ACKED.at > OWN_COMMIT_ASKED.at, saying("told committed without having been acknowledged, by"),
        explained=OWN_COMMIT_TOLD, given=(SENT.at == IT.at) & ~OWN_COMMIT_TOLD.missing,
    ),
    HistoryProperty(
        "transactions_whole", "txn.P2",
        "if a reader is given one record of a transaction, every acknowledged one is returned to every reader whose "
        "fetch covers it",
        _HISTORY, reading.transactions_whole,
        saying("others of the transaction were read, but not what was acknowledged by"),
        _READ | {Kind.record_acked, Kind.fetched}, spread=_IN_ONE_PLACE,
    ),
    declared(
        "aborts_unread", "txn.P3",
        "no read_committed reader is given a record of a transaction that is told aborted",
        each(Kind.record_read),
        ~ABORT_TOLD.missing, saying("its transaction is told aborted by"), explained=ABORT_TOLD,
    ),
    declared(
        "open_unread", "txn.P3",
        "no read_committed reader is given a record of a transaction whose end nobody has asked for",
        each(Kind.record_read),
        OWNED & (END_ASKED.at > IT.at),
        saying("its owner asks for an end only by", "its owner never asks for an end"), explained=END_ASKED,
    ),
    declared(
        "reads_as_decided", "txn.P5",
        "no read_committed reader is given a record of a transaction whose owner has only asked to abort it",
        each(Kind.record_read),
        (END_ASKED.at < IT.at) & (COMMIT_ASKED.at > IT.at), saying("its owner had asked to abort, by"),
        explained=END_ASKED,
    ),
    declared(
        "read_once", "txn.P6",
        "a partition returns a record at one offset only",
        each(Kind.record_read, Kind.record_seen),
        IT.offset != FIRST_READ.offset, saying("the same record as"), explained=FIRST_READ, needs=_READ,
    ),
    declared(
        "offsets_hold_one_record", "txn.P9",
        "an offset of a partition holds one record, whoever asks",
        each(*PLACED, where=IT.offset >= 0),
        IT.record != FIRST_THERE.record, saying("another record than"), explained=FIRST_THERE,
        needs=frozenset({Kind.record_read, Kind.record_acked}),
    ),
    declared(
        "reads_in_order", "txn.17",
        "a reader is given the records of a partition in order of offset, each once",
        each(Kind.record_read),
        ~READ_BEFORE.missing & (IT.offset <= READ_BEFORE.offset), saying("at or below"), explained=READ_BEFORE,
    ),
    declared(
        "reads_within_bound", "txn.17",
        "a read_committed reader is given records strictly below the last stable offset that bounds its fetch",
        each(Kind.record_read),
        FETCH.missing | (IT.offset < FETCH.offset) | (IT.offset >= FETCH.upto),
        saying("not covered by", "no fetch came before"), explained=FETCH,
    ),
    HistoryProperty(
        "fenced_unread", "txn.P1",
        "what is first sent with a pair after it was told fenced is never read",
        _HISTORY, fencing.fenced_unread, saying("first sent after its pair had been fenced by"),
        _READ | _FENCED, needs_order=True, spread=_BY_FENCE(_READ | _FENCED | {Kind.end_sent}),
    ),
    HistoryProperty(
        "fenced_appends_unread", "txn.P1",
        "what is appended with a pair after it was told fenced is never read",
        _HISTORY, fencing.fenced_appends_unread, saying("appended after its pair had been fenced by"),
        _READ | _FENCED | {Kind.batch_appended}, needs_order=True,
        spread=_BY_FENCE(_READ | _FENCED | {Kind.batch_appended, Kind.end_sent}),
    ),
    HistoryProperty(
        "fenced_never_commit", "txn.P1",
        "no transaction is told committed whose owner first asked for it after its pair was told fenced",
        _HISTORY, fencing.fenced_never_commit, saying("asked for after its pair had been fenced by"),
        _FENCED | {Kind.end_sent}, needs_order=True, spread=_BY_FENCE(_FENCED | {Kind.record_sent, Kind.end_sent}),
    ),
    declared(
        "pairs_have_one_owner", "txn.P7",
        "a pair of producer id and epoch is given to one instance only",
        each(*GIVEN, where=NAMED),
        IT.client != OWNER.client, saying("the same pair as"), explained=OWNER,
    ),
    declared(
        "epochs_never_fall", "txn.P7",
        "the epochs of a producer id that one instance is given never go down",
        each(*GIVEN, where=NAMED),
        ~GIVEN_BEFORE.missing & (IT.epoch < GIVEN_BEFORE.epoch), saying("below that of"), explained=GIVEN_BEFORE,
    ),
    declared(
        "epochs_in_range", "txn.4",
        "an epoch that is given out lies between 0 and the last but one, as the last is for fencing",
        each(*GIVEN, where=FINE & ((IT.kind != Kind.end_told) | (IT.producer_id >= 0))),
        (IT.epoch < 0) | (IT.epoch >= Setting("max_epoch")), saying("an epoch that nobody may be given"),
    ),
    HistoryProperty(
        "init_bumps_epoch", "txn.1",
        "InitProducerId gives a greater epoch than any told before it was asked for",
        _HISTORY, fencing.init_bumps_epoch, saying("asked for after"),
        _FENCED, needs_order=True, spread=Spread(_FENCED, by("request", "producer_id")),
    ),
    declared(
        "group_offsets_stable", "txn.21",
        "OffsetFetch returns no offset of a transaction that is told aborted, or that nobody has asked to commit",
        each(Kind.offset_fetched, where=FINE & (IT.record >= 0)),
        OWNED & (~ABORT_TOLD.missing | (COMMIT_ASKED.at > IT.at)),
        saying("an offset of the transaction that ends by", "an offset of a transaction that nobody asks to commit"),
        explained=when(ABORT_TOLD.missing, COMMIT_ASKED.at, ABORT_TOLD.at),
    ),
    HistoryProperty(
        "group_offsets_kept", "txn.P4",
        "OffsetFetch returns none older than one acknowledged in a later transaction of the id that is told committed",
        _HISTORY, offsets.group_offsets_kept, saying("older than what was committed by the transaction of"),
        _GROUP | {Kind.record_acked}, needs_order=True,
    ),
    HistoryProperty(
        "group_offsets_forward", "txn.21",
        "the offset that OffsetFetch returns never goes back to an earlier transaction of the id",
        _HISTORY, offsets.group_offsets_forward, saying("older than what was fetched before, of the transaction of"),
        _GROUP, needs_order=True,
    ),
    HistoryProperty(
        "lone_client_never_fenced", "txn.P8",
        "an instance that nobody can have fenced is never told that it is",
        _HISTORY, fencing.lone_client_never_fenced, saying("nobody fenced it"),
        frozenset({Kind.client_failed, Kind.init_sent, Kind.init_handled, Kind.fence_told, Kind.timed_out,
                   Kind.id_expired, Kind.coordinator_loaded}),
        spread=Spread(
            frozenset({Kind.client_failed, Kind.init_sent, Kind.init_taken, Kind.init_handled, Kind.fence_told,
                       Kind.timed_out, Kind.id_expired, Kind.coordinator_loaded}),
            by("client", "txn_id", "request"), frozenset({Kind.coordinator_loaded}),
        ),
    ),
    HistoryProperty(
        "markers_as_told", "txn.P5",
        "the markers that close a transaction on its partitions are as its owner is told",
        _HISTORY, coordination.markers_as_told, saying("its owner is told otherwise by"),
        _DECIDED | {Kind.end_told}, spread=_CLOSED(_DECIDED | {Kind.end_told}),
        left=Left.ONWARDS,
    ),
    HistoryProperty(
        "markers_as_decided", "txn.P5",
        "a transaction is committed only after its owner has asked for that",
        _HISTORY, coordination.markers_as_decided,
        saying("its owner asks for that only by", "its owner never asks to commit"),
        _DECIDED | {Kind.end_sent}, needs_order=True, spread=_CLOSED(_DECIDED | {Kind.end_sent}),
        left=Left.ONWARDS,
    ),
    HistoryProperty(
        "transactions_share_fate", "txn.P2",
        "the markers that close a transaction on its partitions are all alike",
        _HISTORY, coordination.transactions_share_fate, saying("not like"),
        _DECIDED, spread=_CLOSED(_DECIDED),
        left=Left.PAIRS,
    ),
)  # fmt: skip
