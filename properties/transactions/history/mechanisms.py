"""How transactions keep their promises, held against the logs of partitions and what the coordinator logs and answers.

Whatever needs no order across nodes can be asked of logs alone, as a cluster leaves them on disk.
"""

from fencepost.properties.history.checking import HistoryProperty
from fencepost.properties.history.cuts import Left
from fencepost.properties.history.related import IT, Asked, Setting, declared, each, first, following, last, when
from fencepost.properties.history.spreading import Link, Spread, by
from fencepost.properties.transactions.history import coordination, logs
from fencepost.properties.transactions.history.events import COMMIT, Kind, State
from fencepost.properties.transactions.history.view import TransactionView
from fencepost.properties.transactions.history.words import saying

_HISTORY = ("history",)
_OF_ID = ("history", "partition", "producer_id")
_BATCHES = frozenset({Kind.batch_appended})
_MARKERS = frozenset({Kind.marker_appended})
_LOGGED = frozenset({Kind.txn_logged})
_PRODUCER = by("producer_id", blank=True)
_LOGGED_ID = (Link(("txn_id",), blank=True, kinds=_LOGGED), *_PRODUCER)
_LOG = (Kind.batch_appended, Kind.marker_appended)
MAX_SEQUENCE = 2**31 - 1  # after it comes 0

FINE = IT.error == 0
SHOWN = Asked(IT, "is_shown", ("partition", "offset"))
FROM_START = Asked(IT, "is_from_start", ("partition",))
HAS_PREPARES = Asked(IT, "has_prepares", ("producer_id", "epoch", "txn_id"))
OF_ID = ("partition", "producer_id")
BEFORE = last(*_LOG, by=OF_ID, along="offset", blank=True)
BATCH_BEFORE = last(Kind.batch_appended, by=OF_ID, along="offset", blank=True)
MARKER_BEFORE = last(Kind.marker_appended, by=OF_ID, along="offset", blank=True)
GOES_ON = ~BATCH_BEFORE.missing & (BATCH_BEFORE.epoch == IT.epoch)
DUE = when(GOES_ON & (BATCH_BEFORE.sequence != MAX_SEQUENCE), BATCH_BEFORE.sequence + 1, 0)
FIRST_APPENDED = first(Kind.batch_appended, by=("record", "partition"), where=IT.sequence >= 0, blank=True)
FIRST_MARKER = first(Kind.marker_appended, by=("producer_id", "epoch"), blank=True)
CHECKED = last(Kind.partition_checked, by=(*OF_ID, "epoch"), where=FINE, blank=True)
# In v2 the marker before has the epoch of the transaction that follows, whose question a late copy of it leaves open
# (KAFKA-18654, UnifiedLog.updateProducers).
ENDS_CHECK = ~(Setting("is_v2") & (MARKER_BEFORE.epoch == IT.epoch))
BATCH_THERE = first(Kind.batch_appended, by=("partition", "offset"), blank=True)
LIES_THERE = ~BATCH_THERE.missing & (BATCH_THERE.record == IT.record)
CLOSED_BY = following(Kind.marker_appended, by=OF_ID, along="offset", asking=BATCH_THERE, blank=True)
STABLE = last(Kind.stable_moved, by=("partition",), blank=True)
STABLE_BEFORE = last(Kind.stable_moved, by=("partition",), in_place=True, blank=True)
LOGGED_BEFORE = last(Kind.txn_logged, by=("txn_id",), in_place=True, blank=True)
SAME_ID = IT.producer_id == LOGGED_BEFORE.producer_id
LATEST = last(Kind.txn_logged, by=("txn_id",), blank=True)
SAME_PAIR = (IT.producer_id == LATEST.producer_id) & (IT.epoch == LATEST.epoch)

MECHANISMS: tuple[HistoryProperty[TransactionView], ...] = (
    declared(
        "partition_epochs_never_fall", "txn.12",
        "the epochs of a producer id on a partition never go down",
        each(*_LOG),
        ~BEFORE.missing & (IT.epoch < BEFORE.epoch), saying("below the epoch of"), explained=BEFORE,
        left=Left.PAIRS,
    ),
    declared(
        "sequences_follow_on", "txn.13",
        "sequence numbers go up by one, and start at 0 with each epoch",
        each(Kind.batch_appended, where=IT.sequence >= 0),
        ~BEFORE.missing & (IT.sequence != DUE), saying("does not follow on"), explained=BEFORE,
        given=FROM_START | ~BATCH_BEFORE.missing,
        left=Left.NEIGHBOURS,
    ),
    declared(
        "appended_once", "txn.14",
        "a record that is sent with a sequence number is appended to a partition once",
        each(Kind.batch_appended, where=IT.sequence >= 0),
        IT.at != FIRST_APPENDED.at, saying("the same record as"), explained=FIRST_APPENDED,
        left=Left.PAIRS,
    ),
    declared(
        "duplicates_answered_rightly", "txn.14",
        "a duplicate is answered with the offset at which that very record lies",
        each(Kind.batch_duplicate),
        ~LIES_THERE, saying("there lies", "there lies nothing"), explained=BATCH_THERE, given=SHOWN,
        left=Left.ONWARDS,
    ),
    declared(
        "one_epoch_while_open", "txn.16",
        "while a transaction is open on a partition, its producer id writes there with its epoch only",
        each(Kind.batch_appended),
        (BEFORE.kind == Kind.batch_appended) & (IT.epoch != BEFORE.epoch), saying("written while still open is"),
        explained=BEFORE,
        left=Left.NEIGHBOURS,
    ),
    declared(
        "appended_while_added", "txn.15",
        "a batch is appended only if the coordinator, asked since the last marker, said that the partition is added; "
        "in v2 a marker of the batch's own epoch, which ended the transaction before, does not count",
        each(Kind.batch_appended),
        CHECKED.missing | ((CHECKED.at < MARKER_BEFORE.at) & ENDS_CHECK),
        saying("no check of the partition succeeded since", "no check of the partition succeeded"),
        explained=MARKER_BEFORE, modes=("v1-verified", "v2"),
        left=Left.NEIGHBOURS,
    ),
    HistoryProperty(
        "markers_as_prepared", "txn.8",
        "a marker's outcome is that of a Prepare record with its producer id and epoch",
        _HISTORY, coordination.markers_as_prepared, saying("no such Prepare is in the transaction log"),
        _MARKERS | _LOGGED, spread=Spread(_MARKERS | _LOGGED, _PRODUCER),
        left=Left.COVERED,
    ),
    HistoryProperty(
        "markers_after_prepare", "txn.8",
        "a marker is appended only after its Prepare record is durable",
        _HISTORY, coordination.markers_after_prepare, saying("its Prepare is durable only by"),
        _MARKERS | _LOGGED, needs_order=True, spread=Spread(_MARKERS | _LOGGED, _PRODUCER),
        left=Left.COVERED,
    ),
    declared(
        "markers_agree", "txn.P2",
        "the markers of one producer id and epoch are all alike",
        each(Kind.marker_appended),
        IT.outcome != FIRST_MARKER.outcome, saying("not like"), explained=FIRST_MARKER, modes=("v2",),
        given=HAS_PREPARES, needs=_MARKERS,
        spread=Spread(_MARKERS | _LOGGED, _PRODUCER),
        left=Left.PAIRS,
    ),
    declared(
        "coordinators_never_older", "txn.11",
        "the coordinator epochs of a producer id's markers on a partition never go down",
        each(Kind.marker_appended),
        ~MARKER_BEFORE.missing & (IT.coordinator_epoch < MARKER_BEFORE.coordinator_epoch),
        saying("from an older coordinator than"), explained=MARKER_BEFORE,
        left=Left.PAIRS,
    ),
    declared(
        "reads_as_marked", "txn.17",
        "a read_committed reader is given what lies at the offset, closed by a commit marker",
        each(Kind.record_read),
        ~LIES_THERE | (CLOSED_BY.outcome != COMMIT),
        saying("not committed there is", "nothing committed lies there"),
        explained=when(LIES_THERE, CLOSED_BY.at, BATCH_THERE.at),
        given=SHOWN,
        left=Left.ONWARDS,
    ),
    declared(
        "fetches_stop_at_stable", "txn.17",
        "a read_committed fetch ends at or below the last stable offset",
        each(Kind.fetched),
        IT.upto > when(STABLE.missing, 0, STABLE.upto), saying("beyond", "beyond the first last stable offset, 0"),
        explained=STABLE,
    ),
    declared(
        "stable_never_falls", "txn.17",
        "the last stable offset of a partition never goes down",
        each(Kind.stable_moved),
        ~STABLE_BEFORE.missing & (IT.upto < STABLE_BEFORE.upto), saying("below that of"), explained=STABLE_BEFORE,
    ),
    HistoryProperty(
        "stable_below_open", "txn.17",
        "the last stable offset is at or below the first record whose transaction is open",
        ("history", "partition"), logs.stable_below_open, saying("still open is"),
        _BATCHES | _MARKERS | {Kind.stable_moved},
        left=Left.ONWARDS,
    ),
    HistoryProperty(
        "none_hanging", "txn.P10",
        "at the end no transaction is open on a partition, unless the coordinator has one of its producer id",
        _HISTORY, logs.none_hanging,
        saying("stays open; the coordinator's last is", "stays open, unknown to the coordinator"),
        _BATCHES | _MARKERS | _LOGGED, needs_quiet_end=True, spread=Spread(_BATCHES | _MARKERS | _LOGGED, _PRODUCER),
        left=Left.COVERED,
    ),
    HistoryProperty(
        "states_follow_on", "txn.8",
        "the transaction log moves only as allowed; a Prepare is final",
        ("history", "txn_id"), coordination.states_follow_on, saying("may not come after"),
        _LOGGED | {Kind.id_expired},
        left=Left.NEIGHBOURS,
    ),
    declared(
        "logged_epochs_never_fall", "txn.P7",
        "in the transaction log the epochs of a producer id never go down, and another id starts at 0",
        each(Kind.txn_logged),
        ~LOGGED_BEFORE.missing & when(SAME_ID, IT.epoch < LOGGED_BEFORE.epoch, IT.epoch != 0),
        saying("below that of"), explained=LOGGED_BEFORE,
        left=Left.NEIGHBOURS,
    ),
    declared(
        "ends_bump_epoch", "txn.9",
        "every Prepare record carries a greater epoch than the record before it",
        each(Kind.txn_logged, where=(IT.state == State.PrepareCommit) | (IT.state == State.PrepareAbort)),
        ~LOGGED_BEFORE.missing & SAME_ID & (IT.epoch <= LOGGED_BEFORE.epoch), saying("not above that of"),
        explained=LOGGED_BEFORE, modes=("v2",),
        left=Left.NEIGHBOURS,
    ),
    HistoryProperty(
        "prepared_as_asked", "txn.P5",
        "a Prepare is logged because an EndTxn asked for it, or is an abort that fences",
        _HISTORY, coordination.prepared_as_asked, saying("asked for only by", "nobody asks for that"),
        _LOGGED | {Kind.end_sent}, needs_order=True,
        spread=Spread(_LOGGED | {Kind.end_sent}, _LOGGED_ID),
        left=Left.NEIGHBOURS,
    ),
    HistoryProperty(
        "ends_answered_as_logged", "txn.7",
        "EndTxn is answered with success only when a Prepare with its outcome and epoch is durable",
        _HISTORY, coordination.ends_answered_as_logged,
        saying("durable only by", "no such Prepare is in the transaction log"),
        _LOGGED | {Kind.end_sent, Kind.end_handled}, needs_order=True,
        spread=Spread(_LOGGED | {Kind.end_sent, Kind.end_handled}, (*by("request"), *_PRODUCER)),
    ),
    declared(
        "init_answered_when_idle", "txn.3",
        "InitProducerId is answered with success only when the id's latest record is Empty, with the same pair",
        each(Kind.init_handled, where=FINE),
        LATEST.missing | (LATEST.state != State.Empty) | ~SAME_PAIR,
        saying("the latest record is", "there is no record"), explained=LATEST,
    ),
    HistoryProperty(
        "completed_after_markers", "txn.10",
        "a transaction is logged as complete only after each of its partitions has the marker",
        _HISTORY, coordination.completed_after_markers, saying("not closed yet is"),
        _LOGGED | _BATCHES | _MARKERS, needs_order=True,
        spread=Spread(_LOGGED | _BATCHES | _MARKERS, _LOGGED_ID),
        left=Left.ONWARDS,
    ),
)  # fmt: skip
