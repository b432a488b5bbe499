"""This module has what must hold of histories of two-phase commit (KIP-939), whatever system made them.

A transaction is identified by the pair with which it began. It is *decided* by what its owner writes to the outside
store, and *ended* by the durable Prepare record. An operator's forceTerminateTransaction, and any instance that is
initialised without keepPreparedTxn, ends an open transaction otherwise, as the KIP states; that excuses an abort. A
transaction that a commitTransaction() or abortTransaction() of its own owner ended is not judged against the store,
which no one has asked.
"""

from collections.abc import Mapping
from types import MappingProxyType

from fencepost.properties.history.event_view import EventView
from fencepost.properties.history.naming import Words
from fencepost.properties.history.properties_of import HistoryProperties, in_a_table
from fencepost.properties.history.related import IT, declared, each, first, following, last
from fencepost.properties.history.spreading import BY_ITSELF
from fencepost.properties.seeded_violations import END, Seeded, SeededHistory, change, drop, move, put
from fencepost.properties.two_phase.events import APPLICATION, LOGS, STORE, TWO_PHASE, Kind

TXN, OF_ID, OF_REQUEST, OF_CLIENT = ("producer_id", "epoch"), ("txn_id",), ("request",), ("client",)
saying = Words(TWO_PHASE).saying

COMMITTED, ABORTED = IT.outcome == 1, IT.outcome == 0
DECIDED_TO_COMMIT = last(Kind.decision_written, by=TXN, where=COMMITTED)
COMMIT_CALLED = last(Kind.commit_called, by=TXN)
FORCED = last(Kind.termination_begun, by=TXN, where=IT.keep == 0)
ENDED = last(Kind.txn_ended, by=TXN)
ENDED_ONCE = first(Kind.txn_ended, by=TXN)
SENT = first(Kind.record_sent, by=("record",))
SENT_ENDED = first(Kind.txn_ended, by=TXN, asking=SENT)
APPENDED = first(Kind.batch_appended, by=("record",))
READ_BY_OWNER = first(Kind.txn_recovered, by=TXN, asking=SENT)
SUCCESSOR_READ = following(Kind.decision_read, by=OF_CLIENT, asking=READ_BY_OWNER)
PREPARED = first(Kind.txn_prepared, by=("txn",), asking=SENT)  # one without records has the pair of the next
BEGUN = last(Kind.txn_begun, by=TXN)
BEGUN_BY = last(Kind.init_sent, by=OF_CLIENT, asking=BEGUN)
OWNER = last(Kind.init_handled, by=OF_ID, where=IT.error == 0)
OWNER_ASKED = first(Kind.init_sent, by=OF_REQUEST, asking=OWNER)
END_ASKED = first(Kind.end_sent, by=OF_REQUEST)
WRITTEN = first(Kind.batch_appended, by=TXN)

PROMISES = (
    declared(
        "committed_as_decided", "939.P1",
        "a transaction is committed only if its owner decided so, or committed without a store",
        each(Kind.txn_ended, by=TXN, where=COMMITTED),
        DECIDED_TO_COMMIT.at < BEGUN.at, saying("not decided since", "not decided"), explained=BEGUN,
        given=COMMIT_CALLED.missing & ~BEGUN.missing,
    ),
    declared(
        "decided_is_not_aborted", "939.P1", "no transaction that was decided to be committed is aborted, but by force",
        each(Kind.txn_ended, by=TXN, where=ABORTED),
        ~DECIDED_TO_COMMIT.missing & FORCED.missing, saying("this decided it otherwise:"), explained=DECIDED_TO_COMMIT,
    ),
    declared(
        "not_decided_when_over", "939.P1", "no transaction is decided to be committed when it is aborted already",
        each(Kind.decision_written, by=TXN, where=COMMITTED),
        ~ENDED.missing & (ENDED.outcome == 0) & FORCED.missing, saying("it is over:"), explained=ENDED,
    ),
    declared(
        "ended_once", "939.P1", "a transaction is ended once",
        each(Kind.txn_ended, by=TXN),
        ENDED_ONCE.at != IT.at, saying("it was ended before by"), explained=ENDED_ONCE,
    ),
    declared(
        "read_when_committed", "939.P1", "a record is read only after its transaction was committed",
        each(Kind.record_read, by=("record",)),
        SENT_ENDED.missing | (SENT_ENDED.at > IT.at) | (SENT_ENDED.outcome != 1),
        saying("its transaction was ended by", "its transaction has not ended"), explained=SENT_ENDED,
        given=~SENT.missing,
    ),
    declared(
        "nothing_after_the_decision_was_read", "939.P4",
        "no record counts that was written after the transaction's next owner had read the decision",
        each(Kind.record_read, by=("record",)),
        APPENDED.at > SUCCESSOR_READ.at, saying("the next owner had read:"), explained=SUCCESSOR_READ,
        given=~SENT.missing & ~APPENDED.missing & ~READ_BY_OWNER.missing & ~SUCCESSOR_READ.missing,
    ),
    declared(
        "nothing_after_it_is_prepared", "939.12", "a prepared transaction has all of its records, and gets no more",
        each(Kind.batch_appended, by=("record",)),
        PREPARED.at < IT.at, saying("it was prepared before by"), explained=PREPARED, given=~SENT.missing,
    ),
    declared(
        "last_owner_alone", "939.P3", "no instance but the one that was initialised last ends a transaction",
        each(Kind.end_handled, by=("txn_id", "request"), where=IT.error == 0),
        OWNER_ASKED.client != END_ASKED.client, saying("the owner is by now that of"), explained=OWNER,
        given=~OWNER.missing & ~OWNER_ASKED.missing & ~END_ASKED.missing,
    ),
    declared(
        "no_time_out", "939.P2", "no transaction of two-phase commit is aborted because it takes long",
        each(Kind.timed_out, by=TXN),
        BEGUN_BY.two_phase == 1, saying("it has no time-out:"), explained=BEGUN, given=~BEGUN.missing,
    ),
    declared(
        "reported_as_ended", "939.P1", "what an instance is answered about the end is what became of the transaction",
        each(Kind.end_taken, by=TXN, where=(IT.error == 0) & (IT.request >= 0)),
        ENDED.missing | (ENDED.outcome != IT.outcome), saying("it was ended by", "it has not ended"), explained=ENDED,
    ),
    declared(
        "decided_is_ended", "939.P5", "what was decided to be committed is committed in the end, or was ended by force",
        each(Kind.decision_written, by=TXN, where=COMMITTED),
        ENDED_ONCE.missing, saying("it has not ended"), given=~WRITTEN.missing, needs_quiet_end=True,
    ),
    declared(
        "retained_is_not_over", "939.P2", "a transaction that is given to another instance has not ended",
        each(Kind.init_handled, by=TXN, where=IT.error == 0),
        ~ENDED.missing, saying("it was ended by"), explained=ENDED,
    ),
)  # fmt: skip

DECISIONS = frozenset({"committed_as_decided", "decided_is_not_aborted", "not_decided_when_over", "decided_is_ended"})
# Where the store refuses no one, a third instance may find the decision to commit that the first wrote after the second
# had read that there is none.
WRITTEN_LATE = frozenset({"nothing_after_the_decision_was_read"})

RECORDINGS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "applications": TWO_PHASE.observed_by(APPLICATION, STORE),
        "applications and logs": TWO_PHASE.observed_by(APPLICATION, STORE, LOGS),
        "all": tuple(TWO_PHASE.codes),
    }
)
"""`RECORDINGS` maps each recording to the kinds of event that it has."""


def figures(view: EventView) -> dict[str, int]:
    """Return what became of the transactions of one piece. The figures of several pieces can be added."""
    kinds = {
        "transactions": Kind.txn_begun, "prepared": Kind.txn_prepared, "decided": Kind.decision_written,
        "recovered": Kind.txn_recovered, "ended": Kind.txn_ended, "read": Kind.record_read,
    }  # fmt: skip
    return {name: len(view.rows_of(kind)) for name, kind in kinds.items()}


HISTORY = HistoryProperties(
    TWO_PHASE, in_a_table(*PROMISES), mode="retained", view=EventView, figures=figures, spread_of_figures=BY_ITSELF,
    broken_by_design={"older-writer": DECISIONS | WRITTEN_LATE, "empty-prepared": DECISIONS},
    broken_by="an instance that was paused, or the state of a transaction without records",
)  # fmt: skip


# These edits seed violations in a history that the reference wrote: client 2 commits transaction 0 as decided, client 3
# aborts transaction 1, of which it finds no decision, and client 4 commits transaction 2, which client 3 had decided.
# Each edit is the smallest that only one property reports. Where an edit breaks several properties, the others are
# named too.

_SECOND = {"producer_id": 0, "epoch": 1}
_THIRD = {"producer_id": 0, "epoch": 3}

VIOLATIONS = {
    "committed undecided": Seeded((change(Kind.txn_ended, 1, outcome=1),),
                                  {"committed_as_decided": 1, "reported_as_ended": 1}),
    "aborted though decided": Seeded(
        (change(Kind.txn_ended, 0, outcome=0),),
        {"decided_is_not_aborted": 1, "reported_as_ended": 1, "read_when_committed": 1},
    ),
    "decided when it is over": Seeded(
        (put(END, Kind.decision_written, txn_id=0, client=2, claim=1, outcome=1, **_SECOND),),
        {"not_decided_when_over": 1},
    ),
    "ended twice": Seeded((put(END, Kind.txn_ended, txn_id=0, outcome=1, **_THIRD),), {"ended_once": 1}),
    "read too early": Seeded((move((Kind.record_read, 0), (Kind.txn_ended, 0)),), {"read_when_committed": 1}),
    "written after the store was read": Seeded(
        (move((Kind.batch_appended, 2), (Kind.complete_called, 2)),),
        {"nothing_after_the_decision_was_read": 1, "nothing_after_it_is_prepared": 1},
    ),
    "written after it was prepared": Seeded(
        (move((Kind.txn_prepared, 0), (Kind.batch_appended, 0)),), {"nothing_after_it_is_prepared": 1},
    ),
    "ended by a former owner": Seeded(
        (put(END, Kind.end_handled, txn_id=0, producer_id=0, epoch=1, request=2, outcome=1, error=0),),
        {"last_owner_alone": 1},
    ),
    "timed out": Seeded((put((Kind.client_stopped, 2), Kind.timed_out, txn_id=0, **_THIRD),), {"no_time_out": 1}),
    "reported otherwise": Seeded((change(Kind.end_taken, 0, outcome=0),), {"reported_as_ended": 1}),
    "never ended": Seeded(
        (drop(Kind.txn_ended, 0),), {"decided_is_ended": 1, "reported_as_ended": 1, "read_when_committed": 1},
    ),
    "given away when it is over": Seeded(
        (put(END, Kind.init_handled, txn_id=0, request=9, next_producer_id=0, next_epoch=6, error=0, **_SECOND),),
        {"retained_is_not_over": 1},
    ),
}  # fmt: skip

EXAMPLE = "fencepost.properties.two_phase.scenarios:rows"
SEEDED_HISTORY = SeededHistory(TWO_PHASE, EXAMPLE, VIOLATIONS, {"mode": "retained", "quiet_end": True})
simulate_many = SEEDED_HISTORY.simulate_many
