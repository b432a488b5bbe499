"""This module declares properties of histories about mechanisms, violations that are seeded for them, and the list of
all properties.

They compare how transactions fulfil their promises with the logs of partitions and with what the coordinator logs and
answers. Properties that need no order across nodes can be asked of logs alone, as a cluster leaves them on disk.
"""

from collections.abc import Mapping
from types import MappingProxyType

import numpy as np
from fencepost.properties.history.checking import HistoryProperty
from fencepost.properties.history.cuts import Left
from fencepost.properties.history.event_view import EventView
from fencepost.properties.history.grouping import NEVER
from fencepost.properties.history.pieces import Columns
from fencepost.properties.history.properties_of import HistoryProperties, in_a_table
from fencepost.properties.history.related import IT, Asked, Setting, declared, each, first, following, last, when
from fencepost.properties.history.spreading import Link, Spread, by
from fencepost.properties.history.timelines import taken
from fencepost.properties.history.vocabulary import HistoryError
from fencepost.properties.seeded_violations import END, Seeded, SeededHistory, change, drop, move, put, swap
from fencepost.properties.transactions.events.kinds import ABORT, CLIENTS, COMMIT, LOGS, TRANSACTIONS, Kind, State
from fencepost.properties.transactions.histories import coordination, view
from fencepost.properties.transactions.histories.promises import PROGRESS, PROMISES
from fencepost.properties.transactions.histories.view import NAMES, TransactionView, saying

_HISTORY = ("history",)
_BATCHES = frozenset({Kind.batch_appended})
_MARKERS = frozenset({Kind.marker_appended})
_LOGGED = frozenset({Kind.txn_logged})
_PRODUCER = by("producer_id", blank=True)
_LOGGED_ID = (Link(("txn_id",), blank=True, kinds=_LOGGED), *_PRODUCER)
_LOG = (Kind.batch_appended, Kind.marker_appended)
MAX_SEQUENCE = 2**31 - 1  # after it comes 0

FINE = IT.error == 0
VISIBLE = Asked(IT, "is_shown", ("partition", "offset"))
FROM_START = Asked(IT, "is_from_start", ("partition",))
HAS_PREPARES = Asked(IT, "has_prepares", ("producer_id", "epoch", "txn_id"))
OF_ID = ("partition", "producer_id")
BEFORE = last(*_LOG, by=OF_ID, along="offset", blank=True)
BATCH_BEFORE = last(Kind.batch_appended, by=OF_ID, along="offset", blank=True)
MARKER_BEFORE = last(Kind.marker_appended, by=OF_ID, along="offset", blank=True)
GOES_ON = ~BATCH_BEFORE.missing & (BATCH_BEFORE.epoch == IT.epoch)
SAME_NUMBER = last(Kind.batch_appended, by=(*OF_ID, "epoch", "sequence"), along="offset", blank=True)
DUE = when(GOES_ON & (BATCH_BEFORE.sequence != MAX_SEQUENCE), BATCH_BEFORE.sequence + 1, 0)
FIRST_APPENDED = first(Kind.batch_appended, by=("record", "partition"), where=IT.sequence >= 0, blank=True)
FIRST_MARKER = first(Kind.marker_appended, by=("producer_id", "epoch"), blank=True)
CHECKED = last(Kind.partition_checked, by=(*OF_ID, "epoch"), where=FINE, blank=True)
# In v2 the marker before has the epoch of the transaction that follows, and a late copy of it leaves the question about
# that transaction open (KAFKA-18654, UnifiedLog.updateProducers).
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
        ~BEFORE.missing & (IT.sequence != DUE), view.out_of_sequence,
        explained=when(SAME_NUMBER.missing, BEFORE.at, SAME_NUMBER.at),
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
        ~LIES_THERE, saying("there lies", "there lies nothing"), explained=BATCH_THERE, given=VISIBLE,
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
        given=VISIBLE,
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
        ("history", "partition"), view.stable_below_open, saying("still open is"),
        _BATCHES | _MARKERS | {Kind.stable_moved},
        left=Left.ONWARDS,
    ),
    HistoryProperty(
        "none_hanging", "txn.P10",
        "at the end no transaction is open on a partition, unless the coordinator has one of its producer id",
        _HISTORY, view.none_hanging,
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
        _HISTORY, coordination.prepared_as_asked, saying("asked for only by", "that was not asked for"),
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


# Each violation is an error in a history that the reference wrote, with the properties that must report it.
#
# The smallest edits were looked for that one property alone reports; where the promises imply one another, the others
# are named too. Producer id 0 of the example is shifted with the history.

_AMID = (Kind.init_sent, 1)  # while transaction 3 is open
_MIDDLE = (Kind.txn_begun, 4)  # before the second client's transaction
_LAST_PAIR = {"producer_id": 0, "epoch": 11}
_REFUSED_AGAIN = tuple(
    each
    for txn in (90, 91, 92)
    for each in (
        put(_MIDDLE, Kind.txn_begun, client=9, txn_id=1, txn=txn, producer_id=-1, epoch=-1),
        put(_MIDDLE, Kind.record_failed, client=9, txn=txn, partition=0, error=45),
    )
)
_READS_ABORTED = (
    put(END, Kind.fetched, client=1002, partition=0, offset=3, upto=4),
    put(END, Kind.record_read, client=1002, partition=0, offset=3, record=4),
)

VIOLATIONS: Mapping[str, Seeded] = {
    "transaction lost": Seeded(
        tuple(drop(Kind.record_read, nth) for nth in (3, 4, 5)), {"commits_kept": 3},
    ),
    "record lost": Seeded(
        (drop(Kind.record_read, 5),), {"commits_kept": 1, "transactions_whole": 1},
    ),
    "torn, its end untold": Seeded(
        (drop(Kind.record_read, 7),), {"transactions_whole": 1},
    ),
    "committed unacknowledged": Seeded(
        (drop(Kind.record_acked, 8),), {"commits_acknowledged": 1},
    ),
    "aborted and read": Seeded(
        _READS_ABORTED,
        {"aborts_unread": 1, "reads_as_decided": 1, "reads_as_marked": 1, "transactions_whole": 3},
    ),
    "aborted, untold, and read": Seeded(
        (*_READS_ABORTED, drop(Kind.end_told, 1)),
        {"reads_as_decided": 1, "reads_as_marked": 1, "transactions_whole": 3},
    ),
    "read while open": Seeded(
        (move((Kind.end_sent, 2), _AMID),),
        {"open_unread": 3, "markers_as_decided": 4, "prepared_as_asked": 1, "group_offsets_stable": 1},
    ),
    "seen at two offsets": Seeded(
        (put(END, Kind.record_seen, client=1001, partition=0, offset=2, record=2),), {"read_once": 1},
    ),
    "two records at one offset": Seeded(
        (change(Kind.record_seen, 9, record=21),), {"offsets_hold_one_record": 1},
    ),
    "read again": Seeded(
        (put(END, Kind.record_read, client=1000, partition=1, offset=10, record=19),), {"reads_in_order": 1},
    ),
    "read beyond the bound": Seeded(
        (change(Kind.fetched, 9, upto=10),), {"reads_within_bound": 1},
    ),
    "sent by a zombie": Seeded(
        (change(Kind.record_sent, 14, epoch=3),), {"fenced_unread": 1, "fenced_appends_unread": 1},
    ),
    "appended for a zombie": Seeded(
        (change(Kind.record_sent, 14, epoch=3), move((Kind.record_sent, 14), _AMID)), {"fenced_appends_unread": 1},
    ),
    "committed by a zombie": Seeded(
        (change(Kind.end_sent, 4, epoch=3),),
        {"fenced_never_commit": 1, "prepared_as_asked": 1, "ends_answered_as_logged": 1},
    ),
    "pair given twice": Seeded(
        (change(Kind.init_taken, 3, epoch=8), move((Kind.init_sent, 4), _MIDDLE)), {"pairs_have_one_owner": 1},
    ),
    "epoch told falls": Seeded(
        (change(Kind.end_told, 4, epoch=9),), {"epochs_never_fall": 1},
    ),
    "last epoch told": Seeded(
        (change(Kind.end_told, 4, epoch=32767),), {"epochs_in_range": 1},
    ),
    "no bump": Seeded(
        (change(Kind.init_taken, 3, epoch=7),), {"init_bumps_epoch": 1},
    ),
    "offset of an abort": Seeded(
        (change(Kind.offset_fetched, 1, record=7),), {"group_offsets_stable": 1},
    ),
    "offset lost": Seeded(
        (change(Kind.offset_fetched, 2, record=3),), {"group_offsets_kept": 1},
    ),
    "offset goes back": Seeded(
        (change(Kind.offset_fetched, 3, record=3), drop(Kind.end_told, 2)), {"group_offsets_forward": 1},
    ),
    "fenced alone": Seeded(
        (put(END, Kind.init_sent, client=9, txn_id=1, request=999),
         put(END, Kind.client_failed, client=9, error=90)),
        {"lone_client_never_fenced": 1},
    ),
    "left without an answer": Seeded(
        (put(END, Kind.init_sent, client=9, txn_id=1, request=999),), {"calls_come_to_an_end": 1},
    ),
    "refused on and on": Seeded(_REFUSED_AGAIN, {"clients_get_on": 1}),
    "told committed, marked aborted": Seeded(
        (put(END, Kind.end_told, client=1, txn=3, outcome=COMMIT), drop(Kind.record_acked, 12)),
        {"markers_as_told": 1},
    ),
    "marked committed unasked": Seeded(
        (change(Kind.marker_appended, 9, outcome=COMMIT),), {"markers_as_decided": 1, "markers_as_prepared": 1},
    ),
    "two fates": Seeded(
        (change(Kind.marker_appended, 10, outcome=ABORT),),
        {"transactions_share_fate": 1, "markers_as_prepared": 1, "markers_agree": 1, "reads_as_marked": 1},
    ),
    "older epoch appended": Seeded(
        (change(Kind.batch_appended, 16, epoch=2), change(Kind.partition_checked, 13, epoch=2)),
        {"partition_epochs_never_fall": 1},
    ),
    "sequence skipped": Seeded(
        (change(Kind.batch_appended, 2, sequence=2),), {"sequences_follow_on": 1},
    ),
    "appended twice": Seeded(
        (change(Kind.batch_appended, 6, record=4),), {"appended_once": 1},
    ),
    "answered with another's offset": Seeded(
        (change(Kind.batch_duplicate, 0, offset=4),), {"duplicates_answered_rightly": 1},
    ),
    "newer epoch while open": Seeded(
        (change(Kind.batch_appended, 10, epoch=3, sequence=0), change(Kind.batch_appended, 12, sequence=1),
         put((Kind.check_asked, 7), Kind.partition_checked, txn_id=0, partition=0, producer_id=0, epoch=3)),
        {"one_epoch_while_open": 1},
    ),
    "appended unasked": Seeded(
        (drop(Kind.partition_checked, 7),), {"appended_while_added": 1},
    ),
    "marker of nothing": Seeded(
        (put(END, Kind.marker_appended, partition=0, producer_id=0, epoch=12, outcome=ABORT, offset=17,
              coordinator_epoch=0),),
        {"markers_as_prepared": 1},
    ),
    "marker before its Prepare": Seeded(
        (swap((Kind.txn_logged, 17), (Kind.marker_appended, 9)),), {"markers_after_prepare": 1},
    ),
    "markers of two minds": Seeded(
        (put(END, Kind.marker_appended, partition=0, **_LAST_PAIR, outcome=ABORT, offset=17, coordinator_epoch=0),),
        {"markers_agree": 1, "markers_as_prepared": 1},
    ),
    "marker of an older coordinator": Seeded(
        (change(Kind.marker_appended, 12, coordinator_epoch=3),), {"coordinators_never_older": 1},
    ),
    "read where nothing lies": Seeded(
        (change(Kind.record_read, 7, offset=7),), {"reads_as_marked": 1},
    ),
    "fetched too far": Seeded(
        (change(Kind.fetched, 9, upto=13),), {"fetches_stop_at_stable": 1},
    ),
    "stable offset falls": Seeded(
        (change(Kind.stable_moved, 17, upto=3),), {"stable_never_falls": 1},
    ),
    "stable offset too early": Seeded(
        (swap((Kind.marker_appended, 15), (Kind.stable_moved, 15)),), {"stable_below_open": 1},
    ),
    "left hanging": Seeded(
        (put(END, Kind.partition_checked, txn_id=0, partition=0, **_LAST_PAIR),
         put(END, Kind.batch_appended, partition=0, **_LAST_PAIR, sequence=0, record=30, offset=17)),
        {"none_hanging": 1},
    ),
    "completed twice": Seeded(
        (change(Kind.txn_logged, 31, state=State.CompleteCommit),), {"states_follow_on": 1},
    ),
    "logged epoch falls": Seeded(
        (change(Kind.txn_logged, 31, epoch=9),), {"logged_epochs_never_fall": 1},
    ),
    "fence without a bump": Seeded(
        (change(Kind.txn_logged, 17, epoch=3), change(Kind.marker_appended, 9, epoch=3)),
        {"ends_bump_epoch": 1, "prepared_as_asked": 1, "markers_agree": 1},
    ),
    "fence with half a bump": Seeded(
        (change(Kind.txn_logged, 17, epoch=4), change(Kind.marker_appended, 9, epoch=4)), {"prepared_as_asked": 1},
    ),
    "end answered early": Seeded(
        (swap((Kind.txn_logged, 34), (Kind.end_handled, 5)),), {"ends_answered_as_logged": 1},
    ),
    "init answered early": Seeded(
        (swap((Kind.txn_logged, 25), (Kind.init_handled, 3)),), {"init_answered_when_idle": 1},
    ),
    "completed before a marker": Seeded(
        (swap((Kind.txn_logged, 35), (Kind.marker_appended, 17)), drop(Kind.stable_moved, 17)),
        {"completed_after_markers": 1},
    ),
}  # fmt: skip


# The histories with seeded violations are of v2.

EXAMPLE = "fencepost.properties.transactions.scenarios.known:rows"
SEEDED_HISTORY = SeededHistory(TRANSACTIONS, EXAMPLE, VIOLATIONS, {"mode": "v2"})
simulate_many = SEEDED_HISTORY.simulate_many


# The promises and mechanisms of transactions (KIP-98, KIP-890) are checked on histories here.
#
# `HISTORY` has both tables, `figures` counts what became of transactions and records. `RECORDINGS` names what is
# usually recorded: by clients, by logs found on disk, or all.

PROPERTIES = in_a_table(*PROMISES, *PROGRESS, *MECHANISMS)
COLUMNS = ("history", "step", "kind", *(name for name in TRANSACTIONS.names if name != "node"))

RECORDINGS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "clients": TRANSACTIONS.observed_by(CLIENTS),
        "logs": TRANSACTIONS.observed_by(LOGS),
        "all": tuple(TRANSACTIONS.codes),
    }
)
"""`RECORDINGS` maps each sort of recording to its kinds of event. Logs on disk have no order across nodes; an expired
id is a tombstone in them."""

_LATE_END = (
    "aborts_unread", "commits_kept", "group_offsets_forward", "group_offsets_kept", "group_offsets_stable",
    "lone_client_never_fenced", "markers_as_decided", "markers_as_told", "open_unread", "reads_as_decided",
    "transactions_share_fate", "transactions_whole",
)  # fmt: skip
_LATE_RECORD = (
    "completed_after_markers", "fenced_appends_unread", "fenced_unread", "none_hanging", "one_epoch_while_open"
)  # fmt: skip
BROKEN_BY_DESIGN: Mapping[str, frozenset[str]] = MappingProxyType(
    {"v1": frozenset((*_LATE_END, *_LATE_RECORD)), "v1-verified": frozenset(_LATE_END)}
)
"""`BROKEN_BY_DESIGN` lists by mode what late copies break before KIP-890's second part: a late EndTxn decides the next
transaction, and without verification a late record opens one that no client ends."""


def figures(view: TransactionView) -> dict[str, int]:
    """Return what became of the transactions of one piece; the figures of several pieces add up. The figures are
    transactions (begun), told_committed, told_aborted, records_sent (each once), records_acked (each once),
    records_read (returns to read_committed readers), fences (bumps of an epoch that a client was informed of)."""
    return {
        "transactions": len(view.rows_of(Kind.txn_begun)),
        "told_committed": int((view.commit_reported != NEVER).sum()),
        "told_aborted": int((view.abort_reported != NEVER).sum()),
        "records_sent": int((view.sent != NEVER).sum()),
        "records_acked": int((view.acked != NEVER).sum()),
        "records_read": len(view.rows_of(Kind.record_read)),
        "fences": len(view.fences.rows),
    }


def require_own_transactions(columns: Columns) -> None:
    """Raise HistoryError where a client goes on with a transaction that another one began. A sink does that when it
    resumes a transaction from a checkpoint (KIP-939). The owner of a pair that is handed over is not known, and no
    broker is at fault."""
    view = EventView(columns, {})
    client, txns = columns["client"], view.numbers_of("txn")
    rows = view.rows_of(Kind.add_sent, Kind.record_sent, Kind.end_sent)
    begun = txns.first(view.rows_of(Kind.txn_begun))[txns.of[rows]]
    for at in np.flatnonzero((begun != NEVER) & (taken(client, begun) != client[rows]))[:1]:
        history, step, mine, txn = (columns[name][rows[at]] for name in ("history", "step", "client", "txn"))
        raise HistoryError(
            f"history {history} step {step}: client {mine} goes on with transaction {txn}, which client "
            f"{client[begun[at]]} began; one that another process resumes is not judged: leave such a history out"
        )


HISTORY = HistoryProperties(
    TRANSACTIONS,
    PROPERTIES,
    view=TransactionView,
    columns=COLUMNS,
    mode="v2",
    figures=figures,
    values=NAMES,
    broken_by_design=BROKEN_BY_DESIGN,
    broken_by="late copies",
    spread_of_figures=Spread(links=by("record", "txn")),
    require=require_own_transactions,
)
