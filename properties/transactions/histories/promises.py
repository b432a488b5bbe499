"""This module declares the properties of histories that clients rely on: at any time, in the end, and in driven runs.

They compare what transactions promise to clients with what clients did, were answered and read. All up to
`lone_client_never_fenced` can be asked of a recording that has clients only, except where their `needs` state
otherwise. Write cycles and skipped sends are no violations, because Kafka does not isolate writers.
"""

from functools import partial

import numpy as np
from fencepost.properties.history.checking import HistoryProperty, Rows, found
from fencepost.properties.history.cuts import Left
from fencepost.properties.history.grouping import NEVER, NONE
from fencepost.properties.history.related import IT, Setting, declared, each, first, following, last, when
from fencepost.properties.history.spreading import Link, Spread, by
from fencepost.properties.transactions.events.kinds import ABORT, COMMIT, Kind, State
from fencepost.properties.transactions.histories import coordination, view
from fencepost.properties.transactions.histories import coordination as fencing
from fencepost.properties.transactions.histories.coordination import ANSWERS
from fencepost.properties.transactions.histories.view import TransactionView, saying

_HISTORY = ("history",)
_READ = frozenset({Kind.record_sent, Kind.record_read})
_GIVEN = frozenset({Kind.init_taken, Kind.end_told, Kind.fence_told})
_FENCED = _GIVEN | {Kind.init_sent}
_GROUP = frozenset({Kind.record_sent, Kind.offset_fetched, Kind.end_told})
_DECIDED = frozenset({Kind.record_sent, Kind.batch_appended, Kind.marker_appended})

_FAMILY = by("record", "txn", "request", "producer_id", "txn_id")
"""`_FAMILY` connects the events of a transactional id by these columns."""
_BY_FENCE = partial(Spread, links=_FAMILY, somewhere=fencing.fenced_somewhere)
_LOG = Link(("partition", "producer_id"), blank=True, kinds=frozenset({Kind.batch_appended, Kind.marker_appended}))
_CLOSED = partial(Spread, links=(_LOG, *by("record", "txn")))
_IN_ONE_PLACE = Spread(_READ | {Kind.record_acked, Kind.end_told, Kind.fetched}, whole=True, ends=True)
"""All events are needed in one place, because the last event of every kind decides whether a history ends within its
last fetch."""

FINE, NAMED = IT.error == 0, (IT.error == 0) & (IT.producer_id >= 0)
GIVEN = (Kind.init_taken, Kind.end_told, Kind.fence_told)
"""`GIVEN` lists the events with which an instance learns a pair that is its own from now on."""

PLACED = (Kind.record_read, Kind.record_seen, Kind.record_acked)
RECORD, TXN = ("record",), ("txn",)
SENT = first(Kind.record_sent, by=RECORD)
OWNED = ~SENT.missing & (SENT.txn >= 0)
END_ASKED = first(Kind.end_sent, by=TXN, asking=SENT)
COMMIT_ASKED = first(Kind.end_sent, by=TXN, asking=SENT, where=IT.outcome == COMMIT)
ABORT_REPORTED = first(Kind.end_told, by=TXN, asking=SENT, where=FINE & (IT.outcome == ABORT))
ACKED = first(Kind.record_acked, by=RECORD, in_place=True)
OWN_COMMIT_ASKED = first(Kind.end_sent, by=TXN, where=IT.outcome == COMMIT, in_place=True)
OWN_COMMIT_REPORTED = first(Kind.end_told, by=TXN, where=FINE & (IT.outcome == COMMIT), in_place=True)
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
        _HISTORY, view.commits_kept, saying("does not return what was acknowledged by"),
        _READ | {Kind.record_acked, Kind.end_told, Kind.fetched}, spread=_IN_ONE_PLACE,
    ),
    declared(
        "commits_acknowledged", "txn.P4",
        "when a transaction is told committed, each of its records was acknowledged before the commit was asked for",
        each(Kind.record_sent, by=RECORD),
        ACKED.at > OWN_COMMIT_ASKED.at, saying("told committed without having been acknowledged, by"),
        explained=OWN_COMMIT_REPORTED, given=(SENT.at == IT.at) & ~OWN_COMMIT_REPORTED.missing,
    ),
    HistoryProperty(
        "transactions_whole", "txn.P2",
        "if a reader is given one record of a transaction, every acknowledged one is returned to every reader whose "
        "fetch covers it",
        _HISTORY, view.transactions_whole,
        saying("others of the transaction were read, but not what was acknowledged by"),
        _READ | {Kind.record_acked, Kind.fetched}, spread=_IN_ONE_PLACE,
    ),
    declared(
        "aborts_unread", "txn.P3",
        "no read_committed reader is given a record of a transaction that is told aborted",
        each(Kind.record_read),
        ~ABORT_REPORTED.missing, saying("its transaction is told aborted by"), explained=ABORT_REPORTED,
    ),
    declared(
        "open_unread", "txn.P3",
        "no read_committed reader is given a record of a transaction whose end was not asked for",
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
        "an offset of a partition holds one record, whichever client asks",
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
        (IT.epoch < 0) | (IT.epoch >= Setting("max_epoch")), saying("an epoch that no producer may be given"),
    ),
    HistoryProperty(
        "init_bumps_epoch", "txn.1",
        "InitProducerId gives a greater epoch than any told before it was asked for",
        _HISTORY, fencing.init_bumps_epoch, saying("asked for after"),
        _FENCED, needs_order=True, spread=Spread(_FENCED, by("request", "producer_id")),
    ),
    declared(
        "group_offsets_stable", "txn.21",
        "OffsetFetch returns no offset of a transaction that is told aborted, or that was not asked to commit",
        each(Kind.offset_fetched, where=FINE & (IT.record >= 0)),
        OWNED & (~ABORT_REPORTED.missing | (COMMIT_ASKED.at > IT.at)),
        saying("an offset of the transaction that ends by", "an offset of a transaction that was not asked to commit"),
        explained=when(ABORT_REPORTED.missing, COMMIT_ASKED.at, ABORT_REPORTED.at),
    ),
    HistoryProperty(
        "group_offsets_kept", "txn.P4",
        "OffsetFetch returns none older than one acknowledged in a later transaction of the id that is told committed",
        _HISTORY, view.group_offsets_kept, saying("older than what was committed by the transaction of"),
        _GROUP | {Kind.record_acked}, needs_order=True,
    ),
    HistoryProperty(
        "group_offsets_forward", "txn.21",
        "the offset that OffsetFetch returns never goes back to an earlier transaction of the id",
        _HISTORY, view.group_offsets_forward, saying("older than what was fetched before, of the transaction of"),
        _GROUP, needs_order=True,
    ),
    HistoryProperty(
        "lone_client_never_fenced", "txn.P8",
        "an instance that cannot have been fenced is never told that it is",
        _HISTORY, fencing.lone_client_never_fenced, saying("it was not fenced"),
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


# These properties judge whether the clients of a history make progress, as far as their answers reveal it (txn.P11).
#
# A client whose last transactions were all given up for one and the same error of one partition (or of the
# coordinator), while others committed theirs, will not commit again: either it repeats its own mistake, or one is
# attributed to it alone. One or two such transactions are no evidence, because a loss or a delay may be behind each.
# Below v2 three are not either: a batch that fails while its transaction is being committed asks for no new epoch
# (TransactionManager.java, maybeTransitionToErrorState), so that the next transaction repeats its number, and fails
# alike.
#
# Where a history ends with nothing left to happen, a client that still waits for an answer waits for ever. A driven run
# reveals more (`scenarios.progress`), because it waits until faults have stopped.

GIVEN_UP = 7
"""`GIVEN_UP` is REQUEST_TIMED_OUT, with which a client reports that it no longer waits for an answer, whatever the
reason."""
IN_A_ROW = 3
"""`IN_A_ROW` is how many of a client's last transactions are examined, unless the config of the histories has another
number under `failed_in_a_row`."""


def clients_get_on(view: TransactionView) -> Rows:
    """Judge the failures of clients whose last transactions failed alike while another client has committed."""
    count = int(view.config.get("failed_in_a_row", IN_A_ROW))
    client, error, txns = view.columns["client"], view.columns["error"], view.numbers_of("txn")
    place = view.columns["partition"]
    failed = view.rows_of(Kind.record_failed, Kind.end_told)
    failed = failed[(error[failed] != 0) & (error[failed] != GIVEN_UP) & (view.columns["txn"][failed] >= 0)]
    begun = view.rows_of(Kind.txn_begun)
    first = txns.first(begun)[txns.of[begun]]
    begun = begun[(first == begun) & (view.columns["txn"][begun] >= 0)]
    failure, reported = txns.first(failed)[txns.of[begun]], view.commit_reported[txns.of[begun]]
    why = np.where((failure == NEVER) | (reported != NEVER), 0, error[np.where(failure == NEVER, 0, failure)])
    order = np.lexsort((begun, client[begun], view.place[begun]))
    begun, failure, why = begun[order], failure[order], why[order]
    there = place[np.where(failure == NEVER, 0, failure)]
    who, where = client[begun], view.place[begun]
    ends = np.flatnonzero(np.append((who[1:] != who[:-1]) | (where[1:] != where[:-1]), True)) if len(begun) else begun
    starts = np.append(0, ends[:-1] + 1) if len(begun) else begun
    last = ends[ends - starts + 1 >= count]
    alike = why[last] != 0
    for back in range(1, count):
        alike &= (why[last - back] == why[last]) & (there[last - back] == there[last])
    alike[alike] = [_others_commit(view, begun[at - count + 1]) for at in last[alike]]
    at = np.where(alike, failure[last], begun[last])
    order = np.argsort(at)
    return found(at[order], alike[order], np.where(alike, failure[last - count + 1], NEVER)[order])


def _others_commit(view: TransactionView, since: int) -> bool:
    rows = view.fine(Kind.end_told)
    rows = rows[np.searchsorted(rows, since) :]
    rows = rows[(view.place[rows] == view.place[since]) & (view.columns["outcome"][rows] == COMMIT)]
    return bool((view.columns["client"][rows] != view.columns["client"][since]).any())


ASKED = (Kind.init_sent, Kind.add_sent, Kind.end_sent)
ANSWERED = {
    Kind.init_sent: (Kind.init_taken, Kind.fence_told), Kind.add_sent: (Kind.add_taken,),
    Kind.end_sent: (Kind.end_told,),
}  # fmt: skip
OVER = (Kind.client_stopped, Kind.client_failed)


def calls_come_to_an_end(view: TransactionView) -> Rows:
    """Judge what clients asked of their coordinator last, and have no answer to at the end. A client that is over needs
    no answer, nor does one that may be fenced because another has asked for the transactional id since."""
    clients = view.numbers_of("client")

    def latest(*kinds: Kind) -> np.ndarray:
        rows, found_ = view.rows_of(*kinds), np.full(clients.size + 1, NONE)
        np.maximum.at(found_, clients.of[rows], rows)
        return found_[:-1]

    over, inits = latest(*OVER), view.rows_of(Kind.init_sent)
    txn_ids = view.numbers_of("txn_id")
    askers = np.full(txn_ids.size + 1, NONE)
    np.maximum.at(askers, txn_ids.of[inits], inits)
    owed = np.zeros(clients.size + 1, bool)
    owed[clients.of[askers[:-1][askers[:-1] != NONE]]] = True
    asked = np.stack([latest(kind) for kind in ASKED])
    open_ = asked > np.stack([latest(*ANSWERED[kind]) for kind in ASKED])
    last = asked.max(axis=0, initial=NONE)
    waiting = np.where(open_, asked, NONE).max(axis=0, initial=NONE)
    known = last != NONE
    at = np.where(waiting != NONE, waiting, last)[known]
    bad = ((waiting != NONE) & (over < waiting) & owed[:-1])[known]
    order = np.argsort(at)
    return found(at[order], bad[order], np.full(len(at), NEVER))


PROGRESS = (
    HistoryProperty(
        "clients_get_on", "txn.P11",
        "no client's last three transactions all fail with the same error of one partition while others commit theirs",
        ("history",), clients_get_on, saying("as was, and others have committed since,"),
        frozenset({Kind.txn_begun, Kind.record_failed, Kind.end_told}), modes=("v2",),
    ),
    HistoryProperty(
        "calls_come_to_an_end", "txn.P11",
        "when nothing is left to happen, no client that is alive and not fenced waits for its coordinator",
        ("history",), calls_come_to_an_end, saying("it waits for an answer, and nothing happens any more"),
        frozenset({*ASKED, *OVER, Kind.init_taken, Kind.add_taken, Kind.end_told, Kind.fence_told}),
        needs_quiet_end=True,
    ),
)  # fmt: skip


# These properties must hold of driven runs in addition: declared as the properties of histories are, and checked on
# runs alone.
#
# The driver observes everything in its one order, and from the beginning; a recording that begins or ends somewhere,
# and was merged from several logs, would have to contain more than it does. The content of the transaction log is known
# unless a coordinator took over since: what was being appended then may be in it, unreported.

TIMED_OUT, NO_MAPPING, FENCED = 7, 49, (47, 90)
LATER = (14, 15, 16, 51)
"""`LATER` lists errors that only mean that the client has to try again later."""

CLIENT, OF_TXN, TXN_ID, OF_ID = ("client",), ("txn",), ("txn_id",), ("partition", "producer_id")
SAME_PAIR_AS_BEFORE = "under the same pair as"

OVER_BY_EPOCH = last(Kind.init_taken, Kind.add_taken, Kind.end_told, by=CLIENT,
                     where=(IT.error == FENCED[0]) | (IT.error == FENCED[1]))  # fmt: skip
OVER_BY_ID = last(Kind.init_taken, Kind.add_taken, Kind.end_told, by=CLIENT, where=IT.error == NO_MAPPING)
BEGUN_BEFORE = last(Kind.txn_begun, by=CLIENT)
UNANSWERED = last(Kind.record_failed, by=CLIENT, where=(IT.error == TIMED_OUT) & (IT.partition < Setting("partitions")))
BEGUN = first(Kind.txn_begun, by=OF_TXN)
ASKED_SO = first(Kind.end_sent, by=("txn", "outcome"))
REPORTED_FIRST = first(Kind.end_told, by=OF_TXN, where=FINE)
ASKED_INIT = first(Kind.init_sent, by=("request",))
GIVEN_TO = first(*GIVEN, by=("producer_id", "epoch"), where=NAMED)
BEFORE = last(Kind.batch_appended, Kind.marker_appended, by=OF_ID)
OPEN = BEFORE.kind == Kind.batch_appended
LOADED = last(Kind.coordinator_loaded, by=())
LOADED_AFTER = following(Kind.coordinator_loaded, by=())
LOGGED = last(Kind.txn_logged, Kind.id_expired, by=TXN_ID)
LOGGED_AFTER = following(Kind.txn_logged, Kind.id_expired, by=TXN_ID)
KNOWN = (LOGGED.kind == Kind.txn_logged) & (LOADED.at < LOGGED.at)
SAME_ID = IT.producer_id == LOGGED.producer_id
LOGGED_FIRST = first(Kind.txn_logged, by=("producer_id",))
NOT_ONGOING = last(Kind.txn_logged, by=TXN_ID, where=IT.state != State.Ongoing)
TIMED = last(Kind.timed_out, by=TXN_ID)
# A coordinator that took over since does not know of it. No other event is evidence of a fail-over that loses what is
# appended.
TO_BE_ABORTED = (TIMED.at > NOT_ONGOING.at) & (IT.coordinator_epoch == LOGGED.coordinator_epoch)
UNDER_WAY = (LOGGED.state >= State.Ongoing) & (LOGGED.state <= State.PrepareAbort)
PREPARED = (IT.state == State.PrepareCommit) | (IT.state == State.PrepareAbort)
BEGUN_THERE = last(Kind.txn_begun, by=("producer_id", "epoch"), asking=LOGGED)
ASKED_TO_COMMIT = first(Kind.end_sent, by=OF_TXN, asking=BEGUN_THERE, where=IT.outcome == COMMIT)
ABORT_ASKED = first(Kind.end_sent, by=OF_TXN, asking=BEGUN_THERE, where=IT.outcome == ABORT)
SENT_BEFORE = first(Kind.record_sent, by=("record",), asking=BEFORE)
CLOSED = following(Kind.marker_appended, by=OF_ID)
REPORTED_BEFORE = first(Kind.end_told, by=OF_TXN, asking=SENT, where=FINE)
LOGGED_OF_ID = last(Kind.txn_logged, by=("producer_id",))
MARKED_SO = last(Kind.marker_appended, by=(*OF_ID, "epoch", "outcome"))
OWN_BUMP = when(Setting("is_v2"), 1, 0)

DRIVEN = (
    *ANSWERS,
    declared(
        "fenced_for_good", "txn.1", "an instance that was told that it is fenced asks for no producer id",
        each(Kind.init_sent, by=CLIENT), ~OVER_BY_EPOCH.missing, saying("told that it is fenced by"),
        explained=OVER_BY_EPOCH,
    ),
    declared(
        "forgotten_for_good", "txn.20", "an instance whose transactional id is not its own any more asks for no id",
        each(Kind.init_sent, by=CLIENT), ~OVER_BY_ID.missing, saying("told that its id is not its own by"),
        explained=OVER_BY_ID,
    ),
    HistoryProperty(
        "fenced_never_abort", "txn.1", "no transaction is told aborted whose owner was fenced before it asked for that",
        ("history",), coordination.fenced_never_abort, saying("asked for after its pair had been fenced by"),
        frozenset({*GIVEN, Kind.init_sent, Kind.end_sent}), needs_order=True,
    ),
    declared(
        "in_doubt_bumps_epoch", "txn.2", "after a transaction with a record in doubt the epoch is bumped (KIP-360)",
        each(Kind.txn_begun, by=CLIENT),
        ~BEGUN_BEFORE.missing & (UNANSWERED.txn == BEGUN_BEFORE.txn)
        & (IT.producer_id == BEGUN_BEFORE.producer_id) & (IT.epoch == BEGUN_BEFORE.epoch),
        saying("under the same pair, though a record may come late:"), explained=UNANSWERED,
    ),
    declared(
        "fencing_tried_again", "618.12", "an admin that fences tries again where it is told to",
        each(Kind.fence_told), (IT.error == LATER[0]) | (IT.error == LATER[1]) | (IT.error == LATER[2])
        | (IT.error == LATER[3]), saying("given up for an error that only says: later"),
    ),
    declared(
        "ends_as_asked", "txn.P5", "a transaction ends as its owner has asked",
        each(Kind.end_told, by=("txn", "outcome"), where=FINE & (IT.request >= 0)), ASKED_SO.at > IT.at,
        saying("asked for only by", "that was not asked for"), explained=ASKED_SO,
    ),
    declared(
        "ends_once", "txn.P5", "a transaction has one outcome",
        each(Kind.end_told, by=OF_TXN, where=FINE), IT.outcome != REPORTED_FIRST.outcome, saying("told otherwise by"),
        explained=REPORTED_FIRST,
    ),
    declared(
        "next_epoch_told", "txn.9", "the end of a transaction gives its owner another epoch",
        each(Kind.end_told, by=OF_TXN, where=FINE & (IT.request >= 0)),
        (IT.producer_id == BEGUN.producer_id) & (IT.epoch == BEGUN.epoch), saying(SAME_PAIR_AS_BEFORE),
        explained=BEGUN, modes=("v2",),
    ),
    declared(
        "pairs_answered_once", "txn.P7", "no pair that an instance was given is answered to another",
        each(Kind.init_handled, where=NAMED),
        ~ASKED_INIT.missing & (GIVEN_TO.at < IT.at) & (GIVEN_TO.client != ASKED_INIT.client),
        saying("the same pair as"), explained=GIVEN_TO,
    ),
    declared(
        "prepared_for_its_owner", "txn.P5", "a transaction is prepared to end as its owner has asked, or is fenced",
        each(Kind.txn_logged, by=TXN_ID, where=PREPARED),
        KNOWN & (LOGGED.state == State.Ongoing) & ~BEGUN_THERE.missing
        & when(
            IT.state == State.PrepareCommit,
            ASKED_TO_COMMIT.at > IT.at,
            (IT.epoch - LOGGED.epoch == OWN_BUMP) & (IT.epoch < Setting("max_epoch")) & (ABORT_ASKED.at > IT.at),
        ),
        saying("its owner has not asked for that since"), explained=BEGUN_THERE,
    ),
    declared(
        "sent_there", "txn.P3", "a reader is given only what was sent to the partition before",
        each(Kind.record_read, by=("record",)), (SENT.at > IT.at) | (SENT.partition != IT.partition),
        saying("sent there was", "it was never sent"), explained=SENT,
    ),
    declared(
        "ended_for_good", "txn.P2", "nothing is written of a transaction that was told its end and is complete",
        each(Kind.batch_appended, by=("record",)),
        (REPORTED_BEFORE.at < IT.at)
        & ((LOGGED_OF_ID.state == State.CompleteCommit) | (LOGGED_OF_ID.state == State.CompleteAbort)),
        saying("its transaction was told its end by"), explained=REPORTED_BEFORE,
    ),
    declared(
        "committed_one_by_one", "txn.P2", "a marker that commits ends one transaction only",
        each(Kind.batch_appended, by=("record",)),
        OPEN & OWNED & ~SENT_BEFORE.missing & (SENT.txn != SENT_BEFORE.txn) & (CLOSED.outcome == COMMIT),
        saying("committed together with another transaction, by"), explained=CLOSED,
    ),
    declared(
        "kept_while_ongoing", "txn.20", "a transactional id is not forgotten while its transaction is under way",
        each(Kind.id_expired, by=TXN_ID), KNOWN & UNDER_WAY, saying("the log says"), explained=LOGGED,
    ),
    declared(
        "answers_in_range", "txn.4", "an epoch that is answered lies between 0 and the last but one",
        each(Kind.init_handled, where=FINE), (IT.epoch < 0) | (IT.epoch >= Setting("max_epoch")),
        saying("an epoch that no producer may be given"),
    ),
    declared(
        "ids_used_up", "txn.4", "another producer id is given only when the epochs of the one before are used up",
        each(Kind.txn_logged, by=TXN_ID),
        KNOWN & ~SAME_ID & (LOGGED.epoch < Setting("max_epoch") - 1), saying("given up at"), explained=LOGGED,
    ),
    declared(
        "ids_never_come_back", "txn.P7", "a producer id that was given up never comes back",
        each(Kind.txn_logged, by=TXN_ID),
        KNOWN & ~SAME_ID & (LOGGED_FIRST.at < LOGGED.at), saying("there before was"), explained=LOGGED_FIRST,
    ),
    declared(
        "ends_bump_epoch_once", "txn.18", "the end of a transaction bumps the epoch once at most, a fence once more",
        each(Kind.txn_logged, by=TXN_ID, where=PREPARED),
        KNOWN & SAME_ID & (IT.epoch - LOGGED.epoch > OWN_BUMP + 1), saying("too far above that of"), explained=LOGGED,
    ),
    declared(
        "time_outs_bump_epoch", "txn.18", "a transaction that has timed out is aborted under a greater epoch",
        each(Kind.txn_logged, by=TXN_ID, where=PREPARED & (IT.epoch < Setting("max_epoch"))),
        KNOWN & SAME_ID & TO_BE_ABORTED & (IT.epoch - LOGGED.epoch < OWN_BUMP + 1), saying("not fenced since"),
        explained=TIMED,
    ),
    declared(
        "added_while_ongoing", "txn.6", "a partition is added only to the transaction that is under way",
        each(Kind.add_handled, by=TXN_ID, where=FINE),
        KNOWN & ((LOGGED.state != State.Ongoing) | ~SAME_ID | (IT.epoch != LOGGED.epoch)), saying("the log says"),
        explained=LOGGED,
    ),
    declared(
        "verified_while_ongoing", "txn.15", "a partition is verified only for the transaction that is under way",
        each(Kind.partition_checked, by=TXN_ID, where=FINE),
        KNOWN & ((LOGGED.state != State.Ongoing) | ~SAME_ID | (IT.epoch != LOGGED.epoch)), saying("the log says"),
        explained=LOGGED,
    ),
    declared(
        "asked_between_transactions", "txn.16", "a leader asks for a new epoch only when the one before has ended",
        each(Kind.check_asked, by=OF_ID), OPEN & (IT.epoch > BEFORE.epoch), saying("still open is"), explained=BEFORE,
        modes=("v2",),
    ),
    declared(
        "markers_fence", "txn.11", "a marker carries a greater epoch than the transaction that it ends",
        each(Kind.marker_appended, by=OF_ID), OPEN & (IT.epoch == BEFORE.epoch) & (IT.epoch < Setting("max_epoch")),
        saying("the same epoch as"), explained=BEFORE, modes=("v2",),
    ),
    declared(
        "markers_as_logged", "txn.3", "a marker carries the epoch that its Prepare has, unless it is a copy",
        each(Kind.marker_appended, by=OF_ID),
        (LOGGED_OF_ID.at > LOADED.at) & (IT.epoch != LOGGED_OF_ID.epoch) & (OPEN | MARKED_SO.missing)
        & (LOGGED_OF_ID.state == when(IT.outcome == COMMIT, int(State.PrepareCommit), int(State.PrepareAbort))),
        saying("the log says"), explained=LOGGED_OF_ID,
    ),
    declared(
        "all_ended", "txn.P10", "at the end no transaction is under way",
        each(Kind.txn_logged, by=TXN_ID, where=PREPARED | (IT.state == State.Ongoing)),
        LOGGED_AFTER.missing & LOADED_AFTER.missing, saying("nothing happens any more"), needs_quiet_end=True,
    ),
)  # fmt: skip
"""`DRIVEN` has the properties of driven runs, declared in the form of properties of histories; none is asked of
histories."""
