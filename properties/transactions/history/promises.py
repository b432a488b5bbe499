"""What transactions promise to clients, held against what clients did, were told and read.

Everything up to `lone_client_never_fenced` can be asked of a recording that shows clients only, except where its
`needs` say otherwise. Write cycles and skipped sends are no violations: Kafka does not isolate writers.
"""

from fencepost.properties.history.checking import HistoryProperty
from fencepost.properties.transactions.history import coordination, fencing, offsets, reading
from fencepost.properties.transactions.history.events import Kind
from fencepost.properties.transactions.history.view import TransactionView
from fencepost.properties.transactions.history.words import saying

_HISTORY = ("history",)
_READ = frozenset({Kind.record_sent, Kind.record_read})
_GIVEN = frozenset({Kind.init_taken, Kind.end_told, Kind.fence_told})
_FENCED = _GIVEN | {Kind.init_sent}
_GROUP = frozenset({Kind.record_sent, Kind.offset_fetched, Kind.end_told})
_DECIDED = frozenset({Kind.record_sent, Kind.batch_appended, Kind.marker_appended})

PROMISES: tuple[HistoryProperty[TransactionView], ...] = (
    HistoryProperty(
        "commits_kept", "txn.P4",
        "an acknowledged record of a transaction told committed is returned to every reader whose fetch covers it",
        _HISTORY, reading.commits_kept, saying("does not return what was acknowledged by"),
        _READ | {Kind.record_acked, Kind.end_told, Kind.fetched},
    ),
    HistoryProperty(
        "commits_acknowledged", "txn.P4",
        "when a transaction is told committed, each of its records was acknowledged before the commit was asked for",
        _HISTORY, reading.commits_acknowledged,
        saying("told committed without having been acknowledged, by"),
        frozenset({Kind.record_sent, Kind.record_acked, Kind.end_sent, Kind.end_told}),
    ),
    HistoryProperty(
        "transactions_whole", "txn.P2",
        "if a reader is given one record of a transaction, every acknowledged one is returned to every reader whose "
        "fetch covers it",
        _HISTORY, reading.transactions_whole,
        saying("others of the transaction were read, but not what was acknowledged by"),
        _READ | {Kind.record_acked, Kind.fetched},
    ),
    HistoryProperty(
        "aborts_unread", "txn.P3",
        "no read_committed reader is given a record of a transaction that is told aborted",
        _HISTORY, reading.aborts_unread, saying("its transaction is told aborted by"),
        _READ | {Kind.end_told},
    ),
    HistoryProperty(
        "open_unread", "txn.P3",
        "no read_committed reader is given a record of a transaction whose end nobody has asked for",
        _HISTORY, reading.open_unread, saying("its owner asks for an end only by", "its owner never asks for an end"),
        _READ | {Kind.end_sent}, needs_order=True,
    ),
    HistoryProperty(
        "reads_as_decided", "txn.P5",
        "no read_committed reader is given a record of a transaction whose owner has only asked to abort it",
        _HISTORY, reading.reads_as_decided, saying("its owner had asked to abort, by"),
        _READ | {Kind.end_sent}, needs_order=True,
    ),
    HistoryProperty(
        "read_once", "txn.P6",
        "a partition returns a record at one offset only",
        ("history", "record", "partition"), reading.read_once, saying("the same record as"),
        _READ,
    ),
    HistoryProperty(
        "offsets_hold_one_record", "txn.P9",
        "an offset of a partition holds one record, whoever asks",
        ("history", "partition", "offset"), reading.offsets_hold_one_record, saying("another record than"),
        frozenset({Kind.record_read, Kind.record_acked}),
    ),
    HistoryProperty(
        "reads_in_order", "txn.17",
        "a reader is given the records of a partition in order of offset, each once",
        ("history", "client", "partition"), reading.reads_in_order, saying("at or below"),
        frozenset({Kind.record_read}),
    ),
    HistoryProperty(
        "reads_within_bound", "txn.17",
        "a read_committed reader is given records strictly below the last stable offset that bounds its fetch",
        ("history", "client", "partition"), reading.reads_within_bound,
        saying("not covered by", "no fetch came before"),
        frozenset({Kind.record_read, Kind.fetched}),
    ),
    HistoryProperty(
        "fenced_unread", "txn.P1",
        "what is first sent with a pair after it was told fenced is never read",
        _HISTORY, fencing.fenced_unread, saying("first sent after its pair had been fenced by"),
        _READ | _FENCED, needs_order=True,
    ),
    HistoryProperty(
        "fenced_appends_unread", "txn.P1",
        "what is appended with a pair after it was told fenced is never read",
        _HISTORY, fencing.fenced_appends_unread, saying("appended after its pair had been fenced by"),
        _READ | _FENCED | {Kind.batch_appended}, needs_order=True,
    ),
    HistoryProperty(
        "fenced_never_commit", "txn.P1",
        "no transaction is told committed whose owner first asked for it after its pair was told fenced",
        _HISTORY, fencing.fenced_never_commit, saying("asked for after its pair had been fenced by"),
        _FENCED | {Kind.end_sent}, needs_order=True,
    ),
    HistoryProperty(
        "pairs_have_one_owner", "txn.P7",
        "a pair of producer id and epoch is given to one instance only",
        ("history", "producer_id", "epoch"), fencing.pairs_have_one_owner, saying("the same pair as"),
        _GIVEN,
    ),
    HistoryProperty(
        "epochs_never_fall", "txn.P7",
        "the epochs of a producer id that one instance is given never go down",
        ("history", "client", "producer_id"), fencing.epochs_never_fall, saying("below that of"),
        _GIVEN,
    ),
    HistoryProperty(
        "epochs_in_range", "txn.4",
        "an epoch that is given out lies between 0 and the last but one, as the last is for fencing",
        ("history", "producer_id"), fencing.epochs_in_range, saying("an epoch that nobody may be given"),
        _GIVEN,
    ),
    HistoryProperty(
        "init_bumps_epoch", "txn.1",
        "InitProducerId gives a greater epoch than any told before it was asked for",
        _HISTORY, fencing.init_bumps_epoch, saying("asked for after"),
        _FENCED, needs_order=True,
    ),
    HistoryProperty(
        "group_offsets_stable", "txn.21",
        "OffsetFetch returns no offset of a transaction that is told aborted, or that nobody has asked to commit",
        _HISTORY, offsets.group_offsets_stable,
        saying("an offset of the transaction that ends by", "an offset of a transaction that nobody asks to commit"),
        frozenset({Kind.record_sent, Kind.offset_fetched, Kind.end_sent, Kind.end_told}), needs_order=True,
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
    ),
    HistoryProperty(
        "markers_as_told", "txn.P5",
        "the markers that close a transaction on its partitions are as its owner is told",
        _HISTORY, coordination.markers_as_told, saying("its owner is told otherwise by"),
        _DECIDED | {Kind.end_told},
    ),
    HistoryProperty(
        "markers_as_decided", "txn.P5",
        "a transaction is committed only after its owner has asked for that",
        _HISTORY, coordination.markers_as_decided,
        saying("its owner asks for that only by", "its owner never asks to commit"),
        _DECIDED | {Kind.end_sent}, needs_order=True,
    ),
    HistoryProperty(
        "transactions_share_fate", "txn.P2",
        "the markers that close a transaction on its partitions are all alike",
        _HISTORY, coordination.transactions_share_fate, saying("not like"),
        _DECIDED,
    ),
)  # fmt: skip
