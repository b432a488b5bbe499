"""This module has what must hold of histories of two-phase commit (KIP-939), whatever system made them.

A transaction is identified by the pair with which it began. It is *decided* by what its owner writes to the outside
store, and *ended* by the durable Prepare record. An operator's forceTerminateTransaction, and any instance that is
initialised without keepPreparedTxn, ends an open transaction otherwise, as the KIP states; that excuses an abort. A
transaction that a commitTransaction() or abortTransaction() of its own owner ended is not judged against the store,
which no one has asked.
"""

from fencepost.properties.history.naming import Words
from fencepost.properties.history.properties_of import HistoryProperties, in_a_table
from fencepost.properties.history.related import IT, declared, each, first, following, last
from fencepost.properties.two_phase.events import TWO_PHASE, Kind

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

HISTORY = HistoryProperties(
    TWO_PHASE, in_a_table(*PROMISES), mode="retained",
    broken_by_design={"older-writer": DECISIONS, "empty-prepared": DECISIONS},
    broken_by="an instance that was paused, or the state of a transaction without records",
)  # fmt: skip
