"""What transactions promise of a second record in a partition, and why it is so.

The idea of the proof is that of the cores, for second records as for first ones: whatever is open belongs to the
transaction that the coordinator has open or prepared, in a partition that it will send a marker to.
"""

from fencepost.model.language import exists, forall, implies, lemma, promise, when, witness
from fencepost.model.transactions.abstract.core import Fate, Outcome, Partition, Phase, Txn
from fencepost.model.transactions.abstract.several import (
    Several,
    SeveralAsking,
    SeveralV1,
    SeveralV2,
    SeveralVerified,
)
from fencepost.properties.transactions.claims.core import V2Lemmas
from fencepost.properties.transactions.claims.core_v1 import VerifiedLemmas
from fencepost.properties.transactions.claims.promises import Promises


class SeveralPromises(Promises, of=Several):
    """The promises, of first and second records."""

    @promise(rule="txn.P1")
    def no_zombie_write(s):
        """What was accepted from an owner after a newer owner's InitProducerId was answered is never committed."""
        return Promises.no_zombie_write(s) & forall(
            Txn, Partition, lambda t, p: ~(s.second_late[t, p] & (s.second[t, p] == Fate.COMMITTED))
        )

    @promise(rule="txn.P2")
    def one_fate(s):
        """No transaction is committed in one record and aborted in another, be it in another partition or the same."""
        return Promises.one_fate(s) & forall(
            Txn, Partition, Partition,
            lambda t, p, q: ~(
                (s.second[t, p] == Fate.COMMITTED) & ((s.fate[t, q] == Fate.ABORTED) | (s.second[t, q] == Fate.ABORTED))
            )
            & ~((s.second[t, p] == Fate.ABORTED) & (s.fate[t, q] == Fate.COMMITTED)),
        )  # fmt: skip

    @promise(rule="txn.P3")
    def nothing_committed_unasked(s):
        """Only what its owner asked to commit is committed: an aborted or open transaction is never visible."""
        return Promises.nothing_committed_unasked(s) & forall(
            Txn, Partition, lambda t, p: implies(s.second[t, p] == Fate.COMMITTED, s.choice[t] == Outcome.COMMIT)
        )

    @promise(rule="txn.P4")
    def nothing_lost(s):
        """Once the owner is told that its transaction is committed, each of its records is, or its marker is under
        way."""
        return Promises.nothing_lost(s) & forall(
            Txn, Partition,
            lambda t, p: implies(
                s.told_committed(t) & s.more[t, p], (s.second[t, p] == Fate.COMMITTED) | s.second_coming(t, p)
            ),
        )  # fmt: skip

    def second_coming(s, t, p):
        return (
            (s.second[t, p] == Fate.OPEN) & (s.phase == Phase.PREPARED) & (s.outcome == Outcome.COMMIT)
            & s.parts[p] & ~s.marked[p]
        )  # fmt: skip

    @promise(rule="txn.P5")
    def as_told(s):
        """No record of a transaction comes to another end than the one that its owner was told."""
        return Promises.as_told(s) & forall(
            Txn, Partition,
            lambda t, p: implies(
                s.told[t],
                implies(s.second[t, p] == Fate.COMMITTED, s.choice[t] == Outcome.COMMIT)
                & implies(s.second[t, p] == Fate.ABORTED, s.choice[t] == Outcome.ABORT),
            ),
        )  # fmt: skip

    @promise(rule="txn.P10")
    def nothing_hangs(s):
        """An open record is of a transaction that the coordinator has open or prepared, in a partition that it will
        send a marker to: the last stable offset moves again."""
        return Promises.nothing_hangs(s) & forall(
            Txn, Partition, lambda t, p: implies(s.second[t, p] == Fate.OPEN, s.takes_part(t, p))
        )

    @promise(rule="618.P1")
    def nothing_open_after_a_fence(s):
        """Once InitProducerId is answered, nothing of an older epoch is undecided any more."""
        return Promises.nothing_open_after_a_fence(s) & forall(
            Txn, Partition, lambda t, p: implies(s.second[t, p] == Fate.OPEN, s.fence <= s.number[t])
        )

    @witness(of="nothing_hangs")
    def second_open_while_prepared(s):
        """Two records are open, and their marker under way."""
        return exists(
            Txn, Partition,
            lambda t, p: (s.fate[t, p] == Fate.OPEN) & (s.second[t, p] == Fate.OPEN) & (s.phase == Phase.PREPARED),
        )  # fmt: skip

    @witness(of="nothing_hangs")
    def second_after_the_end(s):
        """The first record was decided, and the second can still come."""
        return exists(
            Txn, Partition,
            lambda t, p: (s.fate[t, p] == Fate.ABORTED) & s.may_come(t, p) & s.told[t] & (s.phase == Phase.IDLE),
        )  # fmt: skip


class SeveralLemmas(SeveralPromises, of=SeveralAsking):
    """The lemmas of leaders that ask, of second records."""

    @lemma
    def second_was_sent(s):
        """A second record is sent after the first, appended after it, and asked about once it was sent."""
        return forall(
            Txn, Partition,
            lambda t, p: implies(s.more[t, p], s.sent[t, p])
            & implies(s.second[t, p] != Fate.ABSENT, s.more[t, p])
            & implies(s.asked_again[t, p], s.more[t, p]),
        )  # fmt: skip

    @lemma
    def second_is_known(s):
        """Where a second record is open, its epoch is the one that the partition knows."""
        return forall(Txn, Partition, lambda t, p: implies(s.second[t, p] == Fate.OPEN, s.known[p] == s.number[t]))

    @lemma
    def second_never_late(s):
        """No second record is accepted of an owner that was fenced before."""
        return forall(Txn, Partition, lambda t, p: ~s.second_late[t, p])

    @lemma
    def cleared_again_takes_part(s):
        """A leader with a yes to a question about a second record may append it: a marker will come."""
        return forall(
            Txn, Partition,
            lambda t, p: implies(s.asked_again[t, p] & s.cleared_again[t, p], s.begun[t] & s.takes_part(t, p)),
        )  # fmt: skip


class SeveralVerifiedLemmas(VerifiedLemmas, SeveralLemmas, of=SeveralVerified):
    """Why v1 with verification keeps the promises for several transactional ids, on any network."""


class SeveralV2Lemmas(V2Lemmas, SeveralLemmas, of=SeveralV2):
    """Why v2 keeps the promises for several transactional ids."""

    @lemma
    def second_as_decided(s):
        """A second record comes to the end that the Prepare of its transaction says."""
        return forall(
            Txn, Partition,
            lambda t, p: implies(s.second[t, p] == Fate.COMMITTED, s.result[t] == Outcome.COMMIT)
            & implies(s.second[t, p] == Fate.ABORTED, s.result[t] == Outcome.ABORT),
        )  # fmt: skip

    @lemma
    def second_as_prepared(s):
        """A second record that is open, or may be appended, is of no decided transaction, or of the one prepared."""
        return forall(
            Txn, Partition,
            lambda t, p: implies(
                (s.second[t, p] == Fate.OPEN) | (s.asked_again[t, p] & s.cleared_again[t, p]),
                s.result[t] == when(s.phase == Phase.PREPARED, s.outcome, Outcome.NONE),
            ),
        )  # fmt: skip

    @lemma
    def second_there_before_commit(s):
        """A producer that asks for a commit has every second record acknowledged."""
        return forall(
            Txn, Partition,
            lambda t, p: implies((s.choice[t] == Outcome.COMMIT) & s.more[t, p], s.second[t, p] != Fate.ABSENT),
        )  # fmt: skip


class SeveralV1Promises(SeveralPromises, of=SeveralV1):
    """The promises, of v1 without verification."""
