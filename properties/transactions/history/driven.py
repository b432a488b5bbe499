"""What must hold of driven runs besides: declared as the properties of histories are, and asked of runs alone.

The driver sees everything in its one order, and from the beginning; a recording that begins or ends somewhere, and was
merged from several logs, would have to say more than it does.  What the transaction log says is known unless a
coordinator took over since: what was being appended then may be in it, and nobody has said so.
"""

from fencepost.properties.history.checking import HistoryProperty
from fencepost.properties.history.related import IT, Setting, declared, each, first, following, last, when
from fencepost.properties.transactions.history import fencing
from fencepost.properties.transactions.history.answers import ANSWERS
from fencepost.properties.transactions.history.events import ABORT, COMMIT, Kind, State
from fencepost.properties.transactions.history.promises import FINE, GIVEN, NAMED, OWNED, SENT
from fencepost.properties.transactions.history.words import saying

TIMED_OUT, NO_MAPPING, FENCED = 7, 49, (47, 90)
LATER = (14, 15, 16, 51)
"""Errors that only say: later."""

CLIENT, TXN, TXN_ID, OF_ID = ("client",), ("txn",), ("txn_id",), ("partition", "producer_id")
SAME_PAIR_AS_BEFORE = "under the same pair as"

OVER_BY_EPOCH = last(Kind.init_taken, Kind.add_taken, Kind.end_told, by=CLIENT,
                     where=(IT.error == FENCED[0]) | (IT.error == FENCED[1]))  # fmt: skip
OVER_BY_ID = last(Kind.init_taken, Kind.add_taken, Kind.end_told, by=CLIENT, where=IT.error == NO_MAPPING)
BEGUN_BEFORE = last(Kind.txn_begun, by=CLIENT)
GIVEN_UP = last(Kind.record_failed, by=CLIENT, where=(IT.error == TIMED_OUT) & (IT.partition < Setting("partitions")))
BEGUN = first(Kind.txn_begun, by=TXN)
ASKED_SO = first(Kind.end_sent, by=("txn", "outcome"))
TOLD_FIRST = first(Kind.end_told, by=TXN, where=FINE)
ASKED_INIT = first(Kind.init_sent, by=("request",))
OWNER = first(*GIVEN, by=("producer_id", "epoch"), where=NAMED)
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
# A coordinator that took over since does not know of it: of a fail-over that loses what is appended nothing else tells.
TO_BE_ABORTED = (TIMED.at > NOT_ONGOING.at) & (IT.coordinator_epoch == LOGGED.coordinator_epoch)
UNDER_WAY = (LOGGED.state >= State.Ongoing) & (LOGGED.state <= State.PrepareAbort)
PREPARED = (IT.state == State.PrepareCommit) | (IT.state == State.PrepareAbort)
BEGUN_THERE = last(Kind.txn_begun, by=("producer_id", "epoch"), asking=LOGGED)
COMMIT_ASKED = first(Kind.end_sent, by=TXN, asking=BEGUN_THERE, where=IT.outcome == COMMIT)
ABORT_ASKED = first(Kind.end_sent, by=TXN, asking=BEGUN_THERE, where=IT.outcome == ABORT)
SENT_BEFORE = first(Kind.record_sent, by=("record",), asking=BEFORE)
CLOSED = following(Kind.marker_appended, by=OF_ID)
TOLD_BEFORE = first(Kind.end_told, by=TXN, asking=SENT, where=FINE)
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
        ("history",), fencing.fenced_never_abort, saying("asked for after its pair had been fenced by"),
        frozenset({*GIVEN, Kind.init_sent, Kind.end_sent}), needs_order=True,
    ),
    declared(
        "in_doubt_bumps_epoch", "txn.2", "after a transaction with a record in doubt the epoch is bumped (KIP-360)",
        each(Kind.txn_begun, by=CLIENT),
        ~BEGUN_BEFORE.missing & (GIVEN_UP.txn == BEGUN_BEFORE.txn)
        & (IT.producer_id == BEGUN_BEFORE.producer_id) & (IT.epoch == BEGUN_BEFORE.epoch),
        saying("under the same pair, though a record may come late:"), explained=GIVEN_UP,
    ),
    declared(
        "fencing_tried_again", "618.12", "an admin that fences tries again where it is told to",
        each(Kind.fence_told), (IT.error == LATER[0]) | (IT.error == LATER[1]) | (IT.error == LATER[2])
        | (IT.error == LATER[3]), saying("given up for an error that only says: later"),
    ),
    declared(
        "ends_as_asked", "txn.P5", "a transaction ends as its owner has asked",
        each(Kind.end_told, by=("txn", "outcome"), where=FINE & (IT.request >= 0)), ASKED_SO.at > IT.at,
        saying("asked for only by", "nobody has asked for that"), explained=ASKED_SO,
    ),
    declared(
        "ends_once", "txn.P5", "a transaction has one outcome",
        each(Kind.end_told, by=TXN, where=FINE), IT.outcome != TOLD_FIRST.outcome, saying("told otherwise by"),
        explained=TOLD_FIRST,
    ),
    declared(
        "next_epoch_told", "txn.9", "the end of a transaction gives its owner another epoch",
        each(Kind.end_told, by=TXN, where=FINE & (IT.request >= 0)),
        (IT.producer_id == BEGUN.producer_id) & (IT.epoch == BEGUN.epoch), saying(SAME_PAIR_AS_BEFORE),
        explained=BEGUN, modes=("v2",),
    ),
    declared(
        "pairs_answered_once", "txn.P7", "no pair that an instance was given is answered to another",
        each(Kind.init_handled, where=NAMED),
        ~ASKED_INIT.missing & (OWNER.at < IT.at) & (OWNER.client != ASKED_INIT.client), saying("the same pair as"),
        explained=OWNER,
    ),
    declared(
        "prepared_for_its_owner", "txn.P5", "a transaction is prepared to end as its owner has asked, or is fenced",
        each(Kind.txn_logged, by=TXN_ID, where=PREPARED),
        KNOWN & (LOGGED.state == State.Ongoing) & ~BEGUN_THERE.missing
        & when(
            IT.state == State.PrepareCommit,
            COMMIT_ASKED.at > IT.at,
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
        (TOLD_BEFORE.at < IT.at)
        & ((LOGGED_OF_ID.state == State.CompleteCommit) | (LOGGED_OF_ID.state == State.CompleteAbort)),
        saying("its transaction was told its end by"), explained=TOLD_BEFORE,
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
        saying("an epoch that nobody may be given"),
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
"""Each as a property of histories is; none is asked of histories."""
