"""How transactions keep their promises, held against the logs of partitions and what the coordinator logs and answers.

Whatever needs no order across nodes can be asked of logs alone, as a cluster leaves them on disk.
"""

from fencepost.properties.history.checking import HistoryProperty
from fencepost.properties.transactions.history import coordination, logs, reading
from fencepost.properties.transactions.history.events import Kind
from fencepost.properties.transactions.history.view import TransactionView
from fencepost.properties.transactions.history.words import saying

_HISTORY = ("history",)
_OF_ID = ("history", "partition", "producer_id")
_BATCHES = frozenset({Kind.batch_appended})
_MARKERS = frozenset({Kind.marker_appended})
_LOGGED = frozenset({Kind.txn_logged})

MECHANISMS: tuple[HistoryProperty[TransactionView], ...] = (
    HistoryProperty(
        "partition_epochs_never_fall", "txn.12",
        "the epochs of a producer id on a partition never go down",
        _OF_ID, logs.partition_epochs_never_fall, saying("below the epoch of"),
        _BATCHES | _MARKERS,
    ),
    HistoryProperty(
        "sequences_follow_on", "txn.13",
        "sequence numbers go up by one, and start at 0 with each epoch",
        _OF_ID, logs.sequences_follow_on, saying("does not follow on"),
        _BATCHES | _MARKERS,
    ),
    HistoryProperty(
        "appended_once", "txn.14",
        "a record that is sent with a sequence number is appended to a partition once",
        ("history", "record", "partition"), logs.appended_once, saying("the same record as"),
        _BATCHES,
    ),
    HistoryProperty(
        "duplicates_answered_rightly", "txn.14",
        "a duplicate is answered with the offset at which that very record lies",
        ("history", "partition", "offset"), logs.duplicates_answered_rightly,
        saying("there lies", "there lies nothing"),
        _BATCHES | {Kind.batch_duplicate},
    ),
    HistoryProperty(
        "one_epoch_while_open", "txn.16",
        "while a transaction is open on a partition, its producer id writes there with its epoch only",
        _OF_ID, logs.one_epoch_while_open, saying("written while still open is"),
        _BATCHES | _MARKERS,
    ),
    HistoryProperty(
        "appended_while_added", "txn.15",
        "a batch is appended only if the coordinator, asked since the last marker, said that the partition is added",
        _OF_ID, logs.appended_while_added,
        saying("no check of the partition succeeded since", "no check of the partition succeeded"),
        _BATCHES | _MARKERS | {Kind.partition_checked}, needs_order=True, modes=("v1-verified", "v2"),
    ),
    HistoryProperty(
        "markers_as_prepared", "txn.8",
        "a marker's outcome is that of a Prepare record with its producer id and epoch",
        _HISTORY, coordination.markers_as_prepared, saying("no such Prepare is in the transaction log"),
        _MARKERS | _LOGGED,
    ),
    HistoryProperty(
        "markers_after_prepare", "txn.8",
        "a marker is appended only after its Prepare record is durable",
        _HISTORY, coordination.markers_after_prepare, saying("its Prepare is durable only by"),
        _MARKERS | _LOGGED, needs_order=True,
    ),
    HistoryProperty(
        "markers_agree", "txn.P2",
        "the markers of one producer id and epoch are all alike",
        ("history", "producer_id", "epoch"), logs.markers_agree, saying("not like"),
        _MARKERS, modes=("v2",),
    ),
    HistoryProperty(
        "coordinators_never_older", "txn.11",
        "the coordinator epochs of a producer id's markers on a partition never go down",
        _OF_ID, logs.coordinators_never_older, saying("from an older coordinator than"),
        _MARKERS,
    ),
    HistoryProperty(
        "reads_as_marked", "txn.17",
        "a read_committed reader is given what lies at the offset, closed by a commit marker",
        ("history", "partition"), reading.reads_as_marked,
        saying("not committed there is", "nothing committed lies there"),
        _BATCHES | _MARKERS | {Kind.record_read},
    ),
    HistoryProperty(
        "fetches_stop_at_stable", "txn.17",
        "a read_committed fetch ends at or below the last stable offset",
        ("history", "partition"), reading.fetches_stop_at_stable,
        saying("beyond", "beyond the first last stable offset, 0"),
        frozenset({Kind.fetched, Kind.stable_moved}), needs_order=True,
    ),
    HistoryProperty(
        "stable_never_falls", "txn.17",
        "the last stable offset of a partition never goes down",
        ("history", "partition"), logs.stable_never_falls, saying("below that of"),
        frozenset({Kind.stable_moved}),
    ),
    HistoryProperty(
        "stable_below_open", "txn.17",
        "the last stable offset is at or below the first record whose transaction is open",
        ("history", "partition"), logs.stable_below_open, saying("still open is"),
        _BATCHES | _MARKERS | {Kind.stable_moved},
    ),
    HistoryProperty(
        "none_hanging", "txn.P10",
        "at the end no transaction is open on a partition, unless the coordinator has one of its producer id",
        _HISTORY, logs.none_hanging,
        saying("stays open; the coordinator's last is", "stays open, unknown to the coordinator"),
        _BATCHES | _MARKERS | _LOGGED, needs_quiet_end=True,
    ),
    HistoryProperty(
        "states_follow_on", "txn.8",
        "the transaction log moves only as allowed; a Prepare is final",
        ("history", "txn_id"), coordination.states_follow_on, saying("may not come after"),
        _LOGGED | {Kind.id_expired},
    ),
    HistoryProperty(
        "logged_epochs_never_fall", "txn.P7",
        "in the transaction log the epochs of a producer id never go down, and another id starts at 0",
        ("history", "txn_id"), coordination.logged_epochs_never_fall, saying("below that of"),
        _LOGGED,
    ),
    HistoryProperty(
        "ends_bump_epoch", "txn.9",
        "every Prepare record carries a greater epoch than the record before it",
        ("history", "txn_id"), coordination.ends_bump_epoch, saying("not above that of"),
        _LOGGED, modes=("v2",),
    ),
    HistoryProperty(
        "prepared_as_asked", "txn.P5",
        "a Prepare is logged because an EndTxn asked for it, or is an abort that fences",
        _HISTORY, coordination.prepared_as_asked, saying("asked for only by", "nobody asks for that"),
        _LOGGED | {Kind.end_sent}, needs_order=True,
    ),
    HistoryProperty(
        "ends_answered_as_logged", "txn.7",
        "EndTxn is answered with success only when a Prepare with its outcome and epoch is durable",
        _HISTORY, coordination.ends_answered_as_logged,
        saying("durable only by", "no such Prepare is in the transaction log"),
        _LOGGED | {Kind.end_sent, Kind.end_handled}, needs_order=True,
    ),
    HistoryProperty(
        "init_answered_when_idle", "txn.3",
        "InitProducerId is answered with success only when the id's latest record is Empty, with the same pair",
        ("history", "txn_id"), coordination.init_answered_when_idle,
        saying("the latest record is", "there is no record"),
        _LOGGED | {Kind.init_handled}, needs_order=True,
    ),
    HistoryProperty(
        "completed_after_markers", "txn.10",
        "a transaction is logged as complete only after each of its partitions has the marker",
        _HISTORY, coordination.completed_after_markers, saying("not closed yet is"),
        _LOGGED | _BATCHES | _MARKERS, needs_order=True,
    ),
)  # fmt: skip
