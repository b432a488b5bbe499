"""Why the cores keep the promises: the lemmas, with any number of clients, transactions, partitions and epochs.

The idea: a record that is open belongs to the transaction that the coordinator has open or prepared, in a partition
that it will send a marker to; so one Prepare decides all of it.
"""

from fencepost.model.language import Bool, exists, forall, implies, lemma, when, witness
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
from fencepost.properties.transactions.claims.promises import Promises
from fencepost.properties.transactions.claims.serving import Serving


class Common(Promises, Serving):
    """Lemmas that hold of every core."""

    @lemma
    def given_is_past(s):
        """No epoch is given out that the coordinator has not reached."""
        return forall(Client, Epoch, lambda c, e: implies(s.given[c, e], e <= s.epoch))

    @lemma
    def begun_as_given(s):
        """A transaction carries an epoch that its owner was given."""
        return forall(Txn, lambda t: implies(s.begun[t], s.given[s.owner[t], s.number[t]]))

    @lemma
    def nothing_before_it_begins(s):
        """Only what has begun has a choice, an answer, a result."""
        return forall(
            Txn,
            lambda t: (
                s.begun[t]
                | ((s.choice[t] == Outcome.NONE) & ~s.success[t] & ~s.told[t] & (s.result[t] == Outcome.NONE))
            ),
        )

    @lemma
    def appended_was_sent(s):
        """Only what has begun sends, and only what was sent is appended."""
        return forall(
            Txn,
            Partition,
            lambda t, p: implies(s.sent[t, p], s.begun[t]) & implies(s.fate[t, p] != Fate.ABSENT, s.sent[t, p]),
        )

    @lemma
    def told_of_success(s):
        """Who was told was answered, and had asked."""
        return forall(
            Txn, lambda t: implies(s.told[t], s.success[t]) & implies(s.success[t], s.choice[t] != Outcome.NONE)
        )

    @lemma
    def parts_of_something(s):
        """There are partitions in a transaction only while there is one, and markers in them only when it is
        prepared."""
        return forall(
            Partition,
            lambda p: implies(s.parts[p], s.phase != Phase.IDLE) & implies(s.marked[p], s.phase == Phase.PREPARED),
        )

    @lemma
    def ended_is_past(s):
        """The transaction prepared last had no later epoch than the present one."""
        return s.ended <= s.epoch

    @lemma
    def open_is_known(s):
        """Where a record is open, its epoch is the one that the partition knows."""
        return forall(Txn, Partition, lambda t, p: implies(s.fate[t, p] == Fate.OPEN, s.known[p] == s.number[t]))

    @lemma
    def fence_is_past(s):
        """The open or prepared transaction is not older than the last fence."""
        return (s.fence <= s.epoch) & implies(s.phase == Phase.PREPARED, s.fence <= s.ended)

    @lemma
    def never_late(s):
        """Nothing is accepted of an owner that was fenced before."""
        return forall(Txn, Partition, lambda t, p: ~s.late[t, p])


class Deciding(Common):
    """Lemmas about one outcome for one transaction."""

    @lemma
    def fate_as_decided(s):
        """A record comes to the end that the Prepare of its transaction says."""
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
        """An open record is of no decided transaction, or of the one prepared."""
        return forall(
            Txn,
            Partition,
            lambda t, p: implies(
                s.fate[t, p] == Fate.OPEN,
                s.result[t] == when(s.phase == Phase.PREPARED, s.outcome, Outcome.NONE),
            ),
        )

    @lemma
    def committed_as_asked(s):
        """A transaction is committed only if its owner asked for it."""
        return forall(Txn, lambda t: implies(s.result[t] == Outcome.COMMIT, s.choice[t] == Outcome.COMMIT))

    @lemma
    def answered_as_decided(s):
        """Success means that what was asked for is what was decided."""
        return forall(Txn, lambda t: implies(s.success[t], s.result[t] == s.choice[t]))

    @lemma
    def all_there_before_commit(s):
        """A producer that asks for a commit has every record acknowledged."""
        return forall(
            Txn,
            Partition,
            lambda t, p: implies((s.choice[t] == Outcome.COMMIT) & s.sent[t, p], s.fate[t, p] != Fate.ABSENT),
        )

    @lemma
    def prepared_has_outcome(s):
        """What is prepared is a commit or an abort."""
        return (s.phase != Phase.PREPARED) | (s.outcome != Outcome.NONE)


class AskingLemmas(Common):
    """Lemmas of partition leaders that ask the coordinator before they take a transaction's first record."""

    @lemma
    def asked_was_sent(s):
        """Leaders ask about what was sent."""
        return forall(Txn, Partition, lambda t, p: implies(s.asked[t, p], s.sent[t, p]))

    @lemma
    def cleared_takes_part(s):
        """A leader with a yes to the question it still has may append: a marker will come."""
        return forall(
            Txn,
            Partition,
            lambda t, p: implies(s.asked[t, p] & s.cleared[t, p], s.begun[t] & s.takes_part(t, p)),
        )


class DecidingAskingLemmas(Deciding, AskingLemmas):
    """Lemmas of leaders that ask, where one transaction has one outcome."""

    @lemma
    def cleared_as_prepared(s):
        """A record that may still be appended is of no decided transaction, or of the one prepared."""
        return forall(
            Txn,
            Partition,
            lambda t, p: implies(
                s.asked[t, p] & s.cleared[t, p],
                s.result[t] == when(s.phase == Phase.PREPARED, s.outcome, Outcome.NONE),
            ),
        )


class V2Lemmas(DecidingAskingLemmas, of=V2Core):
    """An epoch is a transaction."""

    @lemma
    def one_transaction_an_epoch(s):
        """No two transactions carry the same epoch."""
        return forall(Txn, Txn, lambda t, u: implies(s.begun[t] & s.begun[u] & (t != u), s.number[t] != s.number[u]))

    @lemma
    def present_epoch_is_open(s):
        """Nothing of the present epoch is decided: a decision ends the epoch."""
        return forall(Txn, lambda t: implies(s.begun[t] & (s.number[t] == s.epoch), s.result[t] == Outcome.NONE))

    @lemma
    def prepared_ends_its_epoch(s):
        """What is prepared carries a later epoch in its markers than in its records."""
        return (s.phase != Phase.PREPARED) | ((s.ended < s.marker_epoch) & (s.marker_epoch <= s.epoch))

    @lemma
    def markers_are_past(s):
        """Every marker but those of the transaction prepared is older than it."""
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
        """An open transaction, and the one prepared last, was begun by a producer."""
        return implies(
            s.phase == Phase.ONGOING, exists(Txn, lambda t: s.begun[t] & (s.number[t] == s.epoch))
        ) & implies(s.outcome != Outcome.NONE, exists(Txn, lambda t: s.begun[t] & (s.number[t] == s.ended)))

    @lemma
    def ended_before(s):
        """What ended last has an earlier epoch than the present one."""
        return (s.outcome == Outcome.NONE) | (s.ended < s.epoch)

    @lemma
    def retry_finds_its_own(s):
        """The result of the transaction that ended last is the one prepared last."""
        return forall(Txn, lambda t: implies(s.ended_last(t), s.result[t] == s.outcome))

    def ended_last(s, t):
        return s.begun[t] & (s.number[t] == s.ended) & (s.phase != Phase.ONGOING) & (s.outcome != Outcome.NONE)

    @lemma
    def follows_is_bumped(s):
        """The epoch in an answer to EndTxn is later than the transaction's."""
        return forall(Txn, lambda t: implies(s.success[t], (s.number[t] < s.follows[t]) & (s.follows[t] <= s.epoch)))

    @lemma
    def follows_is_the_owners(s):
        """The epoch in an answer to EndTxn was given to no other producer, and no other answer offers it to one."""
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
        """An owner that never asked for the end of its transaction, which a time-out or another producer ended, has the
        present epoch."""
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
    """Lemmas declared for mutants in which a leader does not look again (txn.15): in v2 the epoch of the marker stands
    in for that."""

    @lemma
    def cleared_or_past(s):
        """What was cleared takes part, or the partition knows of a later epoch."""
        return forall(
            Txn,
            Partition,
            lambda t, p: implies(s.cleared[t, p], s.begun[t] & (s.takes_part(t, p) | (s.number[t] < s.known[p]))),
        )

    @lemma
    def cleared_as_decided(s):
        """What was cleared and can still be appended is undecided, or ends as prepared."""
        return forall(
            Txn,
            Partition,
            lambda t, p: implies(
                s.cleared[t, p] & (s.known[p] <= s.number[t]),
                s.result[t] == when(s.phase == Phase.PREPARED, s.outcome, Outcome.NONE),
            ),
        )
