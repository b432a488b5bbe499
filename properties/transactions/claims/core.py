"""This module declares what transactions promise, in terms that the core models and the full models share.

The property txn.P6 is in `sequences.py` and txn.P9 in `recovery.py`; the promises to readers are in `reading.py`.
"""

from fencepost.model.language import (
    Bool,
    Properties,
    exists,
    forall,
    implies,
    leads_to,
    lemma,
    progress,
    promise,
    service,
    step,
    when,
    witness,
)
from fencepost.model.transactions.abstract.core import (
    Client,
    Epoch,
    Fate,
    Outcome,
    Partition,
    Phase,
    Term,
    Txn,
)
from fencepost.model.transactions.abstract.cores import V2Core


class Promises(Properties):
    """These properties are the promises about the transactions of one transactional id."""

    def each_record(s, says):
        """Require ``says`` of the record of every transaction in every partition. ``says`` gets a transaction, a
        partition, the fate of the record there, whether it was accepted late, and whether it was sent."""
        return forall(Txn, Partition, lambda t, p: says(t, p, s.fate[t, p], s.late[t, p], s.sent[t, p]))

    @promise(
        rule="txn.P1",
        broken="a record of {t}, which {p} accepted after a newer owner's InitProducerId was answered, is committed",
    )
    def no_zombie_write(s):
        """No record that was accepted from an owner after a newer owner's InitProducerId was answered is ever
        committed."""
        return s.each_record(lambda t, p, fate, late, sent: ~(late & (fate == Fate.COMMITTED)))

    @promise(rule="txn.P2", broken="{t} is committed in {p} and aborted in {q}")
    def one_fate(s):
        """No transaction is committed in one partition and aborted in another."""
        return forall(
            Txn,
            Partition,
            Partition,
            lambda t, p, q: ~((s.fate[t, p] == Fate.COMMITTED) & (s.fate[t, q] == Fate.ABORTED)),
        )

    @promise(rule="txn.P3", broken="{t}, which was never asked to commit, is committed in {p}")
    def nothing_committed_unasked(s):
        """A record is committed only if its owner asked for a commit: an aborted or open transaction is never
        visible."""
        return s.each_record(
            lambda t, p, fate, late, sent: implies(fate == Fate.COMMITTED, s.choice[t] == Outcome.COMMIT)
        )

    @promise(
        rule="txn.P4",
        broken="the owner of {t} was answered that it is committed, and its record in {p} is not committed, "
        "nor will a marker commit it",
    )
    def nothing_lost(s):
        """Once the owner has the answer that its transaction is committed, each record of the transaction is committed
        or its commit marker is still to be written."""
        return s.each_record(
            lambda t, p, fate, late, sent: implies(
                s.told_committed(t) & sent, (fate == Fate.COMMITTED) | s.coming(fate, p)
            )
        )

    @promise(rule="txn.P5", broken="the record of {t} in {p} ends otherwise than the answer to its owner reported")
    def as_told(s):
        """No record of a transaction ends otherwise than the answer to the transaction's owner reported."""
        return s.each_record(
            lambda t, p, fate, late, sent: implies(
                s.told[t],
                implies(fate == Fate.COMMITTED, s.choice[t] == Outcome.COMMIT)
                & implies(fate == Fate.ABORTED, s.choice[t] == Outcome.ABORT),
            )
        )

    @promise(rule="txn.P7", broken="{e} is given to {c} and to {d}")
    def one_owner(s):
        """No producer epoch is given to two owners."""
        return forall(Client, Client, Epoch, lambda c, d, e: implies(s.given[c, e] & s.given[d, e], c == d))

    @step(rule="txn.P7", broken="the epoch of the transactional id goes down")
    def epochs_go_up(old, new):
        """The epoch of the transactional id never goes down."""
        return old.epoch <= new.epoch

    @promise(rule="txn.P10", broken="the record of {t} in {p} is open, and no marker will come for it")
    def nothing_hangs(s):
        """Every open record belongs to a transaction that the coordinator has open or prepared, in a partition that
        will get its marker, so that the last stable offset moves again."""
        return s.each_record(lambda t, p, fate, late, sent: implies(fate == Fate.OPEN, s.takes_part(t, p)))

    @promise(rule="618.P1", broken="the record of {t} in {p} is open, and a newer owner's InitProducerId was answered")
    def nothing_open_after_a_fence(s):
        """Once InitProducerId is answered, no record of an older epoch is undecided any more."""
        return s.each_record(lambda t, p, fate, late, sent: implies(fate == Fate.OPEN, s.fence <= s.number[t]))

    def takes_part(s, t, p):
        return s.parts[p] & s.is_under_way(t) & ~s.marked[p]

    def is_under_way(s, t):
        ongoing = (s.phase == Phase.ONGOING) & (s.number[t] == s.epoch)
        return ongoing | ((s.phase == Phase.PREPARED) & (s.number[t] == s.ended))

    @progress(rule="txn.P10", broken="a transaction is open or prepared, and never completed")
    def ends_in_the_end(s):
        """Every transaction that is open or prepared is complete in the end."""
        return leads_to(s.phase != Phase.IDLE, s.phase == Phase.IDLE)

    @progress(rule="txn.P10", broken="the record of {t} in {p} stays undecided for ever")
    def decided_in_the_end(s, t: Txn, p: Partition):
        """No record stays undecided for ever, so that the last stable offset moves."""
        return leads_to(s.fate[t, p] == Fate.OPEN, s.fate[t, p] != Fate.OPEN)

    def told_committed(s, t):
        return s.told[t] & (s.choice[t] == Outcome.COMMIT)

    def coming(s, fate, p):
        """Decide whether the marker that commits this record is not written yet but will be."""
        return (
            (fate == Fate.OPEN)
            & (s.phase == Phase.PREPARED)
            & (s.outcome == Outcome.COMMIT)
            & s.parts[p]
            & ~s.marked[p]
        )

    @witness(of="no_zombie_write")
    def fenced_while_open(s):
        """An owner was fenced, and a newer owner has a record committed."""
        return exists(
            Txn,
            Txn,
            Partition,
            lambda t, u, p: s.begun[t] & (s.number[t] < s.fence) & (s.fate[u, p] == Fate.COMMITTED)
            & (s.number[t] < s.number[u]),
        )  # fmt: skip

    @witness(of="nothing_hangs")
    def open_while_prepared(s):
        """A record is open while its transaction is prepared and its marker is under way."""
        return exists(Txn, Partition, lambda t, p: (s.fate[t, p] == Fate.OPEN) & (s.phase == Phase.PREPARED))

    @witness(of="nothing_open_after_a_fence")
    def open_after_a_fence(s):
        """A second owner has a record open."""
        return exists(Txn, Partition, lambda t, p: (s.fate[t, p] == Fate.OPEN) & s.second_owner(t))

    def second_owner(s, t):
        return exists(Client, Epoch, lambda c, e: s.given[c, e] & (c != s.owner[t]) & (e < s.number[t]))

    @witness(of="one_fate")
    def two_partitions(s):
        """A transaction is committed in two partitions."""
        return exists(
            Txn,
            Partition,
            Partition,
            lambda t, p, q: (p != q) & (s.fate[t, p] == Fate.COMMITTED) & (s.fate[t, q] == Fate.COMMITTED),
        )

    @witness(of="nothing_committed_unasked")
    def both_ends(s):
        """One transaction is committed and another one aborted in the same partition."""
        return exists(
            Txn,
            Txn,
            Partition,
            lambda t, u, p: (s.fate[t, p] == Fate.COMMITTED) & (s.fate[u, p] == Fate.ABORTED),
        )

    @witness(of="nothing_lost")
    def told_before_the_marker(s):
        """The owner gets the answer to its commit while a marker of the transaction is still under way."""
        return exists(Txn, Partition, lambda t, p: s.told_committed(t) & s.coming(s.fate[t, p], p))

    @witness(of="as_told")
    def told_aborted(s):
        """An owner gets the answer that its transaction is aborted, and the transaction has a record in a partition."""
        return exists(
            Txn, Partition, lambda t, p: s.told[t] & (s.choice[t] == Outcome.ABORT) & (s.fate[t, p] == Fate.ABORTED)
        )

    @witness(of="one_owner")
    def two_owners(s):
        """Two owners have been given epochs."""
        return exists(Client, Client, Epoch, Epoch, lambda c, d, e, f: (c != d) & s.given[c, e] & s.given[d, f])

    @witness(of="epochs_go_up")
    def third_epoch(s):
        """The transactional id is in its third producer epoch."""
        return s.epoch >= 2

    @witness(of="ends_in_the_end")
    def prepared(s):
        """A transaction is prepared."""
        return s.phase == Phase.PREPARED

    @witness(of="decided_in_the_end")
    def undecided(s):
        """A record of a transaction is open."""
        return exists(Txn, Partition, lambda t, p: s.fate[t, p] == Fate.OPEN)


# Transactions must make progress: without these services a rule that stops all work would count as redundant.

_CEASING = ("take_over", "mark_late")
"""`_CEASING` lists the actions, time-outs and late copies of markers, that must cease for a service property to hold:
in a model in which no message is ever lost, either could go on for ever."""


class Serving(Properties):
    """These properties are services to owners that are not fenced; a transaction that is ended by a time-out counts as
    not served."""

    @service(rule="txn.P11", ceasing=_CEASING, broken="the record of {t} for {p} is sent, and never appended")
    def appended_in_the_end(s, t: Txn, p: Partition):
        """A record that is sent under the present epoch is appended in the end, unless its owner aborts or is
        fenced."""
        return leads_to(
            s.sent[t, p] & (s.fate[t, p] == Fate.ABSENT) & (s.choice[t] != Outcome.ABORT) & (s.number[t] == s.epoch),
            (s.fate[t, p] != Fate.ABSENT) | (s.choice[t] == Outcome.ABORT) | s.is_fenced(t) | s.is_disturbed(t),
        )

    @service(rule="txn.P11", ceasing=_CEASING, broken="the owner of {t} asks for its end, and never gets the answer")
    def told_in_the_end(s, t: Txn):
        """An owner that asks for the end of its transaction gets the answer in the end, unless it is fenced first."""
        return leads_to(
            (s.choice[t] != Outcome.NONE) & ~s.told[t] & (s.number[t] == s.epoch),
            s.told[t] | (s.is_fenced(t) & ~s.success[t]) | s.is_disturbed(t),
        )

    def is_fenced(s, t):
        return s.number[t] < s.epoch

    def is_disturbed(s, t):
        """Decide whether other producers that never stop may prevent this transaction from ending; in this model none
        of them does."""
        return ~s.begun[t]

    @witness(of="appended_in_the_end")
    def on_its_way(s):
        """A record of a transaction is under way, after a record of an earlier transaction was committed in the same
        partition."""
        return exists(
            Txn, Txn, Partition,
            lambda t, u, p: s.sent[t, p] & (s.fate[t, p] == Fate.ABSENT) & (s.number[t] == s.epoch)
            & (s.fate[u, p] == Fate.COMMITTED) & (t != u),
        )  # fmt: skip

    @witness(of="told_in_the_end")
    def asked_to_end(s):
        """An owner has asked for a commit and has no answer yet, after an earlier transaction that was committed."""
        return exists(
            Txn, Txn,
            lambda t, u: (s.choice[t] == Outcome.COMMIT) & ~s.told[t] & s.told[u] & (s.choice[u] == Outcome.COMMIT),
        )  # fmt: skip


# These lemmas are why the cores satisfy the promises, with any number of clients, transactions, partitions and epochs.
#
# The idea: a record that is open belongs to the transaction that the coordinator has open or prepared, in a partition
# that it will send a marker to; so one Prepare decides every record of the transaction.


class Common(Promises, Serving):
    """These lemmas hold in every core model."""

    @lemma
    def given_is_past(s):
        """No producer is given an epoch that the coordinator has not reached."""
        return forall(Client, Epoch, lambda c, e: implies(s.given[c, e], e <= s.epoch))

    @lemma
    def begun_as_given(s):
        """A transaction carries an epoch that its owner was given."""
        return forall(Txn, lambda t: implies(s.begun[t], s.given[s.owner[t], s.number[t]]))

    @lemma
    def nothing_before_it_begins(s):
        """A transaction that has not begun has no choice of an end, no answer and no result."""
        return forall(
            Txn,
            lambda t: (
                s.begun[t]
                | ((s.choice[t] == Outcome.NONE) & ~s.success[t] & ~s.told[t] & (s.result[t] == Outcome.NONE))
            ),
        )

    @lemma
    def appended_was_sent(s):
        """Only a transaction that has begun sends records, and only records that were sent are appended."""
        return forall(
            Txn,
            Partition,
            lambda t, p: implies(s.sent[t, p], s.begun[t]) & implies(s.fate[t, p] != Fate.ABSENT, s.sent[t, p]),
        )

    @lemma
    def told_of_success(s):
        """An owner that took the answer to its EndTxn was answered with success, and only after it had asked."""
        return forall(
            Txn, lambda t: implies(s.told[t], s.success[t]) & implies(s.success[t], s.choice[t] != Outcome.NONE)
        )

    @lemma
    def parts_of_something(s):
        """The coordinator has partitions in a transaction only while it has a transaction, and markers in them only
        while that is prepared."""
        return forall(
            Partition,
            lambda p: implies(s.parts[p], s.phase != Phase.IDLE) & implies(s.marked[p], s.phase == Phase.PREPARED),
        )

    @lemma
    def ended_is_past(s):
        """The transaction that was prepared last has no later epoch than the present one."""
        return s.ended <= s.epoch

    @lemma
    def open_is_known(s):
        """If a record is open in a partition, its epoch is the one that the partition knows."""
        return forall(Txn, Partition, lambda t, p: implies(s.fate[t, p] == Fate.OPEN, s.known[p] == s.number[t]))

    @lemma
    def fence_is_past(s):
        """The open or prepared transaction is not older than the last fence."""
        return (s.fence <= s.epoch) & implies(s.phase == Phase.PREPARED, s.fence <= s.ended)

    @lemma
    def never_late(s):
        """No record is accepted from an owner that was fenced before."""
        return forall(Txn, Partition, lambda t, p: ~s.late[t, p])


def as_prepared(s, records):
    """Require that every record in ``records`` belongs to an undecided transaction or to the one that is prepared."""
    return forall(
        Txn,
        Partition,
        lambda t, p: implies(
            records(t, p),
            s.result[t] == when(s.phase == Phase.PREPARED, s.outcome, Outcome.NONE),
        ),
    )


class Deciding(Common):
    """These lemmas are about transactions that have one outcome each."""

    @lemma
    def fate_as_decided(s):
        """A record is committed or aborted as the Prepare record of its transaction decides."""
        return forall(
            Txn,
            Partition,
            lambda t, p: (
                implies(s.fate[t, p] == Fate.COMMITTED, s.result[t] == Outcome.COMMIT)
                & implies(s.fate[t, p] == Fate.ABORTED, s.result[t] == Outcome.ABORT)
            ),
        )

    @lemma
    def open_as_prepared(s):
        """An open record belongs to an undecided transaction or to the one that is prepared."""
        return as_prepared(s, lambda t, p: s.fate[t, p] == Fate.OPEN)

    @lemma
    def committed_as_asked(s):
        """A transaction is committed only if its owner asked for a commit."""
        return forall(Txn, lambda t: implies(s.result[t] == Outcome.COMMIT, s.choice[t] == Outcome.COMMIT))

    @lemma
    def answered_as_decided(s):
        """An owner that is answered with success gets the end that it asked for."""
        return forall(Txn, lambda t: implies(s.success[t], s.result[t] == s.choice[t]))

    @lemma
    def all_there_before_commit(s):
        """A producer that asks for a commit has every record of the transaction acknowledged."""
        return forall(
            Txn,
            Partition,
            lambda t, p: implies((s.choice[t] == Outcome.COMMIT) & s.sent[t, p], s.fate[t, p] != Fate.ABSENT),
        )

    @lemma
    def prepared_has_outcome(s):
        """A transaction that is prepared is to be committed or to be aborted."""
        return (s.phase != Phase.PREPARED) | (s.outcome != Outcome.NONE)


class AskingLemmas(Common):
    """These lemmas are about partition leaders that ask the coordinator before they take a transaction's first
    record."""

    @lemma
    def asked_was_sent(s):
        """Partition leaders ask the coordinator only about records that were sent."""
        return forall(Txn, Partition, lambda t, p: implies(s.asked[t, p], s.sent[t, p]))

    @lemma
    def cleared_takes_part(s):
        """A leader whose present question was answered with yes may append, because the partition will get a marker."""
        return forall(
            Txn,
            Partition,
            lambda t, p: implies(s.asked[t, p] & s.cleared[t, p], s.begun[t] & s.takes_part(t, p)),
        )


class DecidingAskingLemmas(Deciding, AskingLemmas):
    """These lemmas are about leaders that ask the coordinator, where one transaction has one outcome."""

    @lemma
    def cleared_as_prepared(s):
        """A record that may still be appended belongs to an undecided transaction or to the one that is prepared."""
        return as_prepared(s, lambda t, p: s.asked[t, p] & s.cleared[t, p])


class V2Lemmas(DecidingAskingLemmas, of=V2Core):
    """These lemmas of v2 rest on the fact that each transaction has a producer epoch of its own."""

    @lemma
    def one_transaction_an_epoch(s):
        """No two transactions carry the same epoch."""
        return forall(Txn, Txn, lambda t, u: implies(s.begun[t] & s.begun[u] & (t != u), s.number[t] != s.number[u]))

    @lemma
    def present_epoch_is_open(s):
        """No transaction of the present epoch is decided, because a decision ends the epoch."""
        return forall(Txn, lambda t: implies(s.begun[t] & (s.number[t] == s.epoch), s.result[t] == Outcome.NONE))

    @lemma
    def prepared_ends_its_epoch(s):
        """A prepared transaction has a later epoch in its markers than in its records."""
        return (s.phase != Phase.PREPARED) | ((s.ended < s.marker_epoch) & (s.marker_epoch <= s.epoch))

    @lemma
    def markers_are_past(s):
        """Every marker is older than the prepared transaction, except for the markers of that transaction."""
        return forall(
            Partition,
            Epoch,
            Bool,
            Term,
            lambda p, e, commit, k: implies(
                s.markers[p, e, commit, k],
                (e <= s.epoch) & implies(s.phase == Phase.PREPARED, (e <= s.ended) | s.is_prepared(e, commit)),
            ),
        )

    @lemma
    def somebody_is_open(s):
        """The open transaction, and the one that was prepared last, were begun by a producer."""
        return implies(
            s.phase == Phase.ONGOING, exists(Txn, lambda t: s.begun[t] & (s.number[t] == s.epoch))
        ) & implies(s.outcome != Outcome.NONE, exists(Txn, lambda t: s.begun[t] & (s.number[t] == s.ended)))

    @lemma
    def ended_before(s):
        """The transaction that ended last has an earlier epoch than the present one."""
        return (s.outcome == Outcome.NONE) | (s.ended < s.epoch)

    @lemma
    def retry_finds_its_own(s):
        """The result of the transaction that ended last is the outcome that was prepared last."""
        return forall(Txn, lambda t: implies(s.ended_last(t), s.result[t] == s.outcome))

    def ended_last(s, t):
        return s.begun[t] & (s.number[t] == s.ended) & (s.phase != Phase.ONGOING) & (s.outcome != Outcome.NONE)

    @lemma
    def follows_is_bumped(s):
        """The epoch in an answer to EndTxn is later than the epoch of the transaction."""
        return forall(Txn, lambda t: implies(s.success[t], (s.number[t] < s.follows[t]) & (s.follows[t] <= s.epoch)))

    @lemma
    def follows_is_the_owners(s):
        """The epoch in an answer to EndTxn was given to no other producer, and no answer offers it to another
        producer."""
        return forall(
            Txn, Client, lambda t, c: implies(s.success[t] & s.given[c, s.follows[t]], c == s.owner[t])
        ) & forall(
            Txn,
            Txn,
            lambda t, u: implies(
                s.success[t] & s.success[u] & (s.follows[t] == s.follows[u]), s.owner[t] == s.owner[u]
            ),
        )

    @lemma
    def retry_follows_its_own(s):
        """Only the owner of the transaction that ended last has the present epoch, or is sent it in an answer."""
        return forall(
            Txn, Client, lambda t, c: implies(s.ended_last(t) & s.given[c, s.epoch], c == s.owner[t])
        ) & forall(
            Txn,
            Txn,
            lambda t, u: implies(s.ended_last(t) & s.success[u] & (s.follows[u] == s.epoch), s.owner[t] == s.owner[u]),
        )

    @witness(of="one_owner")
    def taken_for_who_missed_an_answer(s):
        """An owner has the present epoch although it never asked for the end of its transaction, which a time-out or
        another producer ended."""
        return exists(
            Txn,
            lambda t: (
                (s.choice[t] == Outcome.NONE)
                & (s.result[t] == Outcome.ABORT)
                & s.given[s.owner[t], s.epoch]
                & (s.phase == Phase.IDLE)
                & (s.number[t] < s.epoch)
            ),
        )


class V2MutantLemmas(V2Lemmas, of=V2Core):
    """These lemmas are for mutants of v2 in which a leader does not check a second time (txn.15); the epoch of the
    marker replaces that check."""

    @lemma
    def cleared_or_past(s):
        """A partition whose leader was cleared takes part in the transaction, or it knows of a later epoch."""
        return forall(
            Txn,
            Partition,
            lambda t, p: implies(s.cleared[t, p], s.begun[t] & (s.takes_part(t, p) | (s.number[t] < s.known[p]))),
        )

    @lemma
    def cleared_as_decided(s):
        """A record that was cleared and can still be appended is undecided, or ends as prepared."""
        return as_prepared(s, lambda t, p: s.cleared[t, p] & (s.known[p] <= s.number[t]))
