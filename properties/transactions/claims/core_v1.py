"""This module states why the core of v1 keeps its promises on a prompt network, and what verification alone gives on
any network.

It also has the claims about several records of one transaction and about partitions that are unavailable.
"""

from fencepost.model.language import Bool, exists, forall, implies, lemma, promise, witness
from fencepost.model.transactions.abstract.away import (
    Mortal,
    MortalPromptVerified,
)
from fencepost.model.transactions.abstract.core import Epoch, Fate, Outcome, Partition, Phase, Txn
from fencepost.model.transactions.abstract.cores import (
    PromptV1Core,
    PromptVerifiedCore,
    VerifiedCore,
)
from fencepost.model.transactions.abstract.several import (
    Several,
    SeveralAsking,
    SeveralV2,
)
from fencepost.properties.transactions.claims.core import (
    AskingLemmas,
    Common,
    Deciding,
    DecidingAskingLemmas,
    Promises,
    V2Lemmas,
    as_prepared,
)


class V1Lemmas(Common):
    """These lemmas of v1 rest on the fact that an epoch identifies an owner, which has one transaction at a time."""

    @lemma
    def added_before_sent(s):
        """Only a transaction that has begun adds partitions, and records are sent only to partitions that were
        added."""
        return forall(
            Txn, Partition, lambda t, p: implies(s.added[t, p], s.begun[t]) & implies(s.sent[t, p], s.added[t, p])
        )

    @lemma
    def added_is_not_ahead(s):
        """No partition was added to a later transaction than the one that is prepared."""
        return forall(
            Txn,
            Partition,
            lambda t, p: implies(s.added[t, p] & (s.phase == Phase.PREPARED), s.number[t] <= s.ended),
        )

    @lemma
    def follows_itself(s):
        """In v1 the owner of a transaction goes on with the same epoch after its end."""
        return forall(Txn, lambda t: implies(s.success[t], s.follows[t] == s.number[t]))


class PromptLemmas(V1Lemmas, Deciding):
    """These lemmas are the reason why v1 keeps its promises on a network that is prompt."""

    @lemma
    def left_behind_is_replaced(s):
        """If markers of a transaction were left behind, the transaction is still prepared, or markers of a later
        coordinator have arrived."""
        return forall(
            Partition,
            Epoch,
            Bool,
            lambda p, e, commit: implies(
                s.left[p, e, commit] != 0,
                (s.left[p, e, commit] <= s.term)
                & ((s.is_current(p, e, commit) & ~s.marked[p]) | (s.left[p, e, commit] <= s.known_term[p])),
            ),
        )

    @lemma
    def one_at_a_time(s):
        """If two transactions have the same epoch, the owner of one of them knows how it ended."""
        return forall(
            Txn,
            Txn,
            lambda t, u: implies(
                s.begun[t] & s.begun[u] & (t != u) & (s.number[t] == s.number[u]), s.told[t] | s.told[u]
            ),
        )

    @lemma
    def open_is_not_told(s):
        """A producer whose transaction has open records does not know yet how it ended, or the transaction is
        prepared."""
        return forall(
            Txn,
            Partition,
            lambda t, p: implies(s.fate[t, p] == Fate.OPEN, ~s.told[t] | (s.phase == Phase.PREPARED)),
        )

    @lemma
    def added_takes_part(s):
        """A partition that was added takes part until it has its marker, unless the owner has decided. After an end
        that the owner did not ask for, the partition knows of a later epoch."""
        return forall(
            Txn,
            Partition,
            lambda t, p: implies(
                s.added[t, p] & (s.choice[t] == Outcome.NONE), s.takes_part(t, p) | (s.number[t] < s.known[p])
            ),
        )

    @lemma
    def unasked_end_bumps(s):
        """A transaction that ends without a request of its owner has a later epoch in its markers."""
        return forall(
            Txn,
            Partition,
            lambda t, p: implies(
                s.added[t, p] & (s.choice[t] == Outcome.NONE) & (s.phase == Phase.PREPARED) & (s.number[t] == s.ended),
                s.ended < s.marker_epoch,
            ),
        )

    @lemma
    def added_as_prepared(s):
        """A transaction that has a partition and whose owner has not asked for its end is undecided, or ends as
        prepared."""
        return as_prepared(s, lambda t, p: s.added[t, p] & (s.choice[t] == Outcome.NONE) & s.is_under_way(t))

    @lemma
    def added_and_undecided_is_open(s):
        """An undecided transaction with the present epoch and with a partition is the open transaction."""
        return forall(
            Txn,
            Partition,
            lambda t, p: implies(
                s.added[t, p] & (s.number[t] == s.epoch) & (s.result[t] == Outcome.NONE),
                s.parts[p] & (s.phase == Phase.ONGOING),
            ),
        )

    @lemma
    def decided_on_something(s):
        """An owner that has decided on the end of its transaction had added a partition to it."""
        return forall(Txn, lambda t: implies(s.choice[t] != Outcome.NONE, exists(Partition, lambda p: s.added[t, p])))

    @lemma
    def untold_is_the_latest(s):
        """A producer that waits for the answer about a decided transaction waits for the one that ended last."""
        return forall(
            Txn,
            lambda t: implies(
                s.begun[t] & (s.number[t] == s.epoch) & ~s.told[t] & (s.result[t] != Outcome.NONE),
                s.result[t] == s.outcome,
            ),
        )

    @lemma
    def undecided_until_asked(s):
        """While its epoch is the present one, a transaction ends only as its owner asks."""
        return forall(
            Txn,
            lambda t: implies(
                s.begun[t] & (s.choice[t] == Outcome.NONE) & (s.number[t] == s.epoch), s.result[t] == Outcome.NONE
            ),
        )

    @lemma
    def ongoing_undecided(s):
        """No producer waits for the answer about an earlier transaction while another one with the same epoch
        is open."""
        return forall(
            Txn,
            lambda t: implies(
                (s.phase == Phase.ONGOING) & s.begun[t] & (s.number[t] == s.epoch) & ~s.told[t],
                s.result[t] == Outcome.NONE,
            ),
        )


class PromptV1Lemmas(PromptLemmas, of=PromptV1Core):
    """These lemmas prove that v1 keeps every promise on a prompt network."""


class PromptV1MutantLemmas(PromptV1Lemmas, of=PromptV1Core):
    """These lemmas are declared for mutants in which an answer or a marker is not checked a second time."""

    @lemma
    def ends_as_asked(s):
        """While its epoch is the present one, a transaction whose owner waits for its end ends as the owner asked."""
        return forall(
            Txn,
            lambda t: implies(
                s.begun[t] & (s.number[t] == s.epoch) & ~s.told[t] & (s.result[t] != Outcome.NONE),
                s.result[t] == s.choice[t],
            ),
        )

    @lemma
    def known_is_past(s):
        """No partition knows of a later epoch than the coordinator, nor than the marker that is under way."""
        return forall(
            Partition,
            lambda p: (
                (s.known[p] <= s.epoch)
                & implies(s.phase == Phase.PREPARED, (s.known[p] <= s.ended) | (s.known[p] == s.marker_epoch))
            ),
        )

    @lemma
    def markers_are_not_older(s):
        """The markers of a prepared transaction carry its epoch, or a later one."""
        return (s.phase != Phase.PREPARED) | ((s.ended <= s.marker_epoch) & (s.marker_epoch <= s.epoch))


class PromptVerifiedLemmas(PromptLemmas, DecidingAskingLemmas, of=PromptVerifiedCore):
    """These lemmas are the reason why v1 with verification keeps its promises on a network that is prompt."""

    @lemma
    def held_back_is_open(s):
        """A record of the present epoch about which a leader asks the coordinator is undecided, or a marker is under
        way that ends the wait."""
        return forall(
            Txn,
            Partition,
            lambda t, p: implies(
                s.asked[t, p] & (s.number[t] == s.epoch) & (s.result[t] != Outcome.NONE),
                (s.phase == Phase.PREPARED) & s.parts[p] & ~s.marked[p],
            ),
        )


class VerifiedLemmas(V1Lemmas, AskingLemmas, of=VerifiedCore):
    """These properties are what verification alone gives, however late and often requests arrive, as long as
    coordinators do not overlap. A deposed coordinator that still answers breaks three of these promises
    (`core_overlapping.py`)."""

    def is_disturbed(s, t):
        """Decide whether a late EndTxn of another transaction with the same epoch can end this one, again and again."""
        return exists(Txn, lambda u: (u != t) & s.begun[u] & (s.number[u] == s.number[t]))


# These claims are about a second record of a transaction in a partition.
#
# The idea of the proof is that of the cores, for second records as for first ones: every open record belongs to the
# transaction that the coordinator has open or prepared, in a partition that it will send a marker to.


class SeveralPromises(Promises, of=Several):
    """These are the promises for transactions that send a first and a second record to a partition."""

    def each_record(s, says):
        return Promises.each_record(s, says) & forall(
            Txn, Partition, lambda t, p: says(t, p, s.second[t, p], s.second_late[t, p], s.more[t, p])
        )

    @promise(rule="txn.P2", broken="a transaction is committed in one record and aborted in another")
    def one_fate(s):
        """No transaction is committed in one record and aborted in another, in another partition or in the same."""
        return Promises.one_fate(s) & forall(
            Txn, Partition, Partition,
            lambda t, p, q: ~(
                (s.second[t, p] == Fate.COMMITTED) & ((s.fate[t, q] == Fate.ABORTED) | (s.second[t, q] == Fate.ABORTED))
            )
            & ~((s.second[t, p] == Fate.ABORTED) & (s.fate[t, q] == Fate.COMMITTED)),
        )  # fmt: skip

    @witness(of="nothing_hangs")
    def second_open_while_prepared(s):
        """Two records of a transaction are open in one partition, and their marker is under way."""
        return exists(
            Txn, Partition,
            lambda t, p: (s.fate[t, p] == Fate.OPEN) & (s.second[t, p] == Fate.OPEN) & (s.phase == Phase.PREPARED),
        )  # fmt: skip

    @witness(of="nothing_hangs")
    def second_after_the_end(s):
        """The first record of a transaction was decided, and the second one can still arrive."""
        return exists(
            Txn, Partition,
            lambda t, p: (s.fate[t, p] == Fate.ABORTED) & s.may_come(t, p) & s.told[t] & (s.phase == Phase.IDLE),
        )  # fmt: skip


class SeveralLemmas(SeveralPromises, of=SeveralAsking):
    """These lemmas are about second records of a transaction, where leaders ask the coordinator."""

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
        """If a second record is open in a partition, its epoch is the one that the partition knows."""
        return forall(Txn, Partition, lambda t, p: implies(s.second[t, p] == Fate.OPEN, s.known[p] == s.number[t]))

    @lemma
    def second_never_late(s):
        """No second record is accepted from an owner that was fenced before."""
        return forall(Txn, Partition, lambda t, p: ~s.second_late[t, p])

    @lemma
    def cleared_again_takes_part(s):
        """A leader whose question about a second record was answered with yes may append it, because the partition will
        get a marker."""
        return forall(
            Txn, Partition,
            lambda t, p: implies(s.asked_again[t, p] & s.cleared_again[t, p], s.begun[t] & s.takes_part(t, p)),
        )  # fmt: skip


class SeveralV2Lemmas(V2Lemmas, SeveralLemmas, of=SeveralV2):
    """These lemmas are the reason why v2 keeps the promises where transactions have several records."""

    @lemma
    def second_as_decided(s):
        """A second record is committed or aborted as the Prepare record of its transaction decides."""
        return forall(
            Txn, Partition,
            lambda t, p: implies(s.second[t, p] == Fate.COMMITTED, s.result[t] == Outcome.COMMIT)
            & implies(s.second[t, p] == Fate.ABORTED, s.result[t] == Outcome.ABORT),
        )  # fmt: skip

    @lemma
    def second_as_prepared(s):
        """A second record that is open, or may be appended, belongs to an undecided transaction or to the one that is
        prepared."""
        return as_prepared(
            s, lambda t, p: (s.second[t, p] == Fate.OPEN) | (s.asked_again[t, p] & s.cleared_again[t, p])
        )

    @lemma
    def second_there_before_commit(s):
        """A producer that asks for a commit has every second record acknowledged."""
        return forall(
            Txn, Partition,
            lambda t, p: implies((s.choice[t] == Outcome.COMMIT) & s.more[t, p], s.second[t, p] != Fate.ABSENT),
        )  # fmt: skip


# These claims are about partitions that go away, restart, lose a tail and forget.
#
# The idea of the proof: an open record is acknowledged and every replica knows its epoch, or it may as well not have
# arrived; and a leader that forgets its questions asks again.


class MortalLemmas(Promises, of=Mortal):
    """These lemmas are about replicas, and witnesses here state that the faults have an effect."""

    @witness(of="nothing_hangs")
    def away_at_its_marker(s):
        """A partition has an open record and its marker is due, but the partition has no leader."""
        return exists(
            Txn, Partition, lambda t, p: (s.fate[t, p] == Fate.OPEN) & s.away[p] & (s.phase == Phase.PREPARED)
        )

    @lemma
    def acknowledged_is_there(s):
        """A record that was acknowledged is in the log, and every replica knows the epoch of a record that is open."""
        return forall(
            Txn, Partition,
            lambda t, p: implies(s.acked[t, p], s.fate[t, p] != Fate.ABSENT)
            & implies(s.acked[t, p] & (s.fate[t, p] == Fate.OPEN), s.safe[p] == s.number[t]),
        )  # fmt: skip

    @lemma
    def acknowledged_before_commit(s):
        """A producer that asks for a commit has every record acknowledged."""
        return forall(
            Txn, Partition, lambda t, p: implies((s.choice[t] == Outcome.COMMIT) & s.sent[t, p], s.acked[t, p])
        )


class MortalPromptVerifiedLemmas(PromptVerifiedLemmas, MortalLemmas, of=MortalPromptVerified):
    """These lemmas are the reason why v1 with verification keeps its promises on a prompt network, where the leader's
    question to the coordinator replaces what the partition knew."""

    @lemma
    def added_takes_part(s):
        """A partition that has an open record of a transaction takes part in it until it has its marker, although the
        partition may have forgotten other producers."""
        return forall(
            Txn, Partition,
            lambda t, p: implies(
                s.added[t, p] & (s.choice[t] == Outcome.NONE) & (s.fate[t, p] == Fate.OPEN), s.takes_part(t, p)
            ),
        )  # fmt: skip
