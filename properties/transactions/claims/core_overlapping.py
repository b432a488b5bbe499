"""This module has the claims on cores with overlapping coordinators, time-outs, uncovered logs, and groups.

Where a deposed coordinator still answers, v2 keeps every promise (proved) and v1 keeps those that its runs report.

The idea of the proof: whatever a cache has about an epoch in v2 was true once; either it still is, or the partition
knows of a later epoch and refuses.
"""

from fencepost.model.language import Bool, Properties, exists, forall, implies, lemma, refinement, when, witness
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
from fencepost.model.transactions.abstract.cores import LateRecordCore, PromptV1Core, V2Core, VerifiedCore
from fencepost.model.transactions.abstract.fated import Fated
from fencepost.model.transactions.abstract.overlapping import (
    OverlappingV2,
)
from fencepost.model.transactions.abstract.timed_out import TimedOutV2
from fencepost.model.transactions.abstract.uncovered import Covered
from fencepost.properties.transactions.claims.core import Promises, V2Lemmas, as_prepared


class OverlappingV2Lemmas(V2Lemmas, of=OverlappingV2):
    """These lemmas prove that v2 keeps every promise: a yes of long ago ends with the epoch that the marker has brought
    since."""

    @lemma
    def cleared_takes_part(s):
        """A leader whose present question was answered with yes may append, or its partition knows of a later epoch."""
        return forall(
            Txn,
            Partition,
            lambda t, p: implies(
                s.asked[t, p] & s.cleared[t, p], s.begun[t] & (s.takes_part(t, p) | (s.number[t] < s.known[p]))
            ),
        )

    @lemma
    def cleared_as_prepared(s):
        """A record that may still be appended belongs to an undecided transaction or to the one that is prepared."""
        return as_prepared(s, lambda t, p: s.asked[t, p] & s.cleared[t, p] & (s.known[p] <= s.number[t]))

    @lemma
    def held_of_somebody(s):
        """A coordinator's cache has only transactions that a producer has begun."""
        return forall(
            Partition,
            Epoch,
            lambda p, e: implies(s.held[p, e], exists(Txn, lambda t: s.begun[t] & (s.number[t] == e))),
        )

    @lemma
    def held_or_past(s):
        """A transaction that a cache has open takes part in the partition, or the partition knows of a later epoch."""
        return forall(
            Txn,
            Partition,
            lambda t, p: implies(s.begun[t] & s.held[p, s.number[t]], s.takes_part(t, p) | (s.number[t] < s.known[p])),
        )

    @lemma
    def held_as_decided(s):
        """A transaction that a cache has open and whose records can still be appended is undecided, or ends as
        prepared."""
        return as_prepared(s, lambda t, p: s.begun[t] & s.held[p, s.number[t]] & (s.known[p] <= s.number[t]))

    @lemma
    def settled_as_decided(s):
        """A transaction that a cache has ended is over, and ended as the cache has it."""
        return forall(
            Epoch,
            Bool,
            lambda e, commit: implies(
                s.settled[e, commit],
                (e < s.settled_to[e]) & (s.settled_to[e] <= s.epoch)
                & exists(Txn, lambda t: s.begun[t] & (s.number[t] == e)),
            ),
        ) & forall(
            Txn,
            Bool,
            lambda t, commit: implies(
                s.begun[t] & s.settled[s.number[t], commit],
                s.result[t] == when(commit, Outcome.COMMIT, Outcome.ABORT),
            ),
        )  # fmt: skip

    @lemma
    def settled_goes_to_the_owner(s):
        """The epoch in a cached answer belongs to the owner of the transaction that the answer ended, and to no other
        producer."""
        return forall(
            Txn,
            Client,
            lambda t, c: implies(s.is_cached(t) & s.given[c, s.settled_to[s.number[t]]], c == s.owner[t]),
        ) & forall(
            Txn,
            Txn,
            lambda t, u: implies(
                s.is_cached(t) & s.success[u] & (s.follows[u] == s.settled_to[s.number[t]]), s.owner[t] == s.owner[u]
            )
            & implies(
                s.is_cached(t) & s.is_cached(u) & (s.settled_to[s.number[t]] == s.settled_to[s.number[u]]),
                s.owner[t] == s.owner[u],
            )
            & implies(
                s.is_cached(t) & s.ended_last(u) & (s.epoch == s.settled_to[s.number[t]]), s.owner[t] == s.owner[u]
            ),
        )  # fmt: skip

    def is_cached(s, t):
        return s.begun[t] & (s.settled[s.number[t], True] | s.settled[s.number[t], False])

    @witness(of="nothing_hangs")
    def yes_after_the_end(s):
        """A deposed coordinator has a transaction open that its successor has ended, and it has answered a leader's
        question with yes."""
        return exists(
            Txn,
            Partition,
            lambda t, p: s.held[p, s.number[t]] & s.cleared[t, p] & s.asked[t, p] & (s.fate[t, p] == Fate.ABSENT)
            & (s.result[t] != Outcome.NONE) & (s.phase == Phase.IDLE),
        )  # fmt: skip


# Every promise holds where appends to the transaction log time out.
#
# The idea of the proof: a record in doubt is a step that the coordinator might take next anyway, and it has no effect
# before another coordinator finds it.


class TimedOutV2Lemmas(V2Lemmas, of=TimedOutV2):
    """These lemmas prove the promises of v2 where appends to the transaction log may time out."""

    @lemma
    def doubts_of_the_present(s):
        """A transition that is in doubt could be done now, because no append has succeeded since."""
        return (
            implies(s.init_in_doubt, s.phase == Phase.IDLE)
            & implies(s.fence_in_doubt, s.phase == Phase.ONGOING)
            & forall(
                Txn,
                lambda t: implies(
                    s.ended_in_doubt[t],
                    s.begun[t] & (s.choice[t] != Outcome.NONE) & (s.number[t] == s.epoch) & s.may_end(t),
                ),
            )
            & forall(
                Partition,
                lambda p: implies(
                    s.added_in_doubt[p],
                    (s.phase != Phase.PREPARED) & exists(Txn, lambda t: s.begun[t] & (s.number[t] == s.epoch)),
                ),
            )
        )

    @witness(of="nothing_lost")
    def committed_unheard(s):
        """A transaction is committed in a partition, and its owner was not answered with success."""
        return exists(
            Txn,
            Partition,
            lambda t, p: (s.fate[t, p] == Fate.COMMITTED) & ~s.success[t],
        )

    @witness(of="nothing_hangs")
    def yes_in_doubt(s):
        """A leader has a yes for a record, and the abort of its transaction is in doubt."""
        return s.fence_in_doubt & exists(
            Txn, Partition, lambda t, p: s.asked[t, p] & s.cleared[t, p] & (s.fate[t, p] == Fate.ABSENT)
        )


# Every promise but one holds where the tail of the transaction log may be lost, if markers wait until it is replicated.
#
# The exception: the epoch of the id goes down when a record is lost. The epoch that is lost was given to no producer.


class CoveredPromises(Promises, of=Covered):
    """These are the promises where the tail of the transaction log may be lost."""

    @witness(of="one_fate")
    def lost_and_ended_otherwise(s):
        """An owner asked for a commit, and its transaction was aborted because its Prepare record was lost."""
        return exists(Txn, lambda t: (s.choice[t] == Outcome.COMMIT) & (s.result[t] == Outcome.ABORT))


class CoveredLemmas(V2Lemmas, CoveredPromises, of=Covered):
    """These lemmas are the reason why the promises hold where markers wait: no producer knows of a record that has no
    copy."""

    @lemma
    def nobody_was_told(s):
        """No owner knows of a record without a copy, and no producer was given the epoch that comes after it."""
        return implies(
            s.uncovered,
            (s.phase == Phase.PREPARED)
            & forall(Txn, lambda t: implies(s.begun[t] & (s.number[t] == s.ended), ~s.told[t]))
            & forall(Txn, lambda t: implies(s.success[t], (s.follows[t] <= s.ended) | (s.number[t] == s.ended)))
            & forall(Client, Epoch, lambda c, e: implies(s.given[c, e], e <= s.ended)),
        )

    @lemma
    def nothing_was_marked(s):
        """No partition has a marker of a record without a copy, and all that was written for it can be taken back."""
        return forall(
            Txn, Partition,
            lambda t, p: implies(
                s.uncovered & (s.begun[t] & (s.number[t] == s.ended)),
                (s.fate[t, p] == Fate.ABSENT) | (s.fate[t, p] == Fate.OPEN),
            ),
        ) & forall(
            Partition, Epoch, Bool, Term,
            lambda p, e, commit, k: implies(
                s.uncovered & s.markers[p, e, commit, k], (e <= s.ended) | s.is_current(p, e, commit)
            ),
        )  # fmt: skip

    @lemma
    def said_before(s):
        """Without the record that has no copy, the log ends with a record of an earlier transaction."""
        return implies(
            s.uncovered & (s.outcome_before != Outcome.NONE),
            (s.ended_before < s.ended) & exists(Txn, lambda t: s.begun[t] & (s.number[t] == s.ended_before)),
        ) & (s.ended_before <= s.ended)


# A group that commits offsets in transactions may rely on this: each client of a core, with respect to each partition,
# does what `Fated` does, and nothing else.

STEPS: dict[str, tuple[str, ...]] = {
    "initialize": ("initialise", "fence"), "initialize_again": ("initialise",), "answer_again": ("initialise",),
    "fence_producers": ("fence",), "begin": ("begin",), "append": ("accept",), "end": ("commit", "abort"),
    "take_over": ("give_up", "fence"), "mark": ("end",), "mark_late": ("end",), "complete": ("end",),
    **dict.fromkeys(("send", "commit", "abort", "ask", "verify", "learn", "fail_over"), ()),
}  # fmt: skip
"""`STEPS` maps each action of a core to the actions that it is for one of its clients."""
V1_STEPS = {n: steps for n, steps in STEPS.items() if n not in ("ask", "verify", "initialize_again")} | {
    "add_partition": ()
}


class AsFated(Properties):
    """This refinement gives the view that a client's transactions offer in the partition of the group's offsets."""

    def view(s, c, o):
        return {
            "open": exists(Txn, lambda t: s.is_of(t, c) & (s.number[t] == s.epoch) & (s.result[t] == Outcome.NONE)),
            "accepted": exists(
                Txn, lambda t: s.is_of(t, c) & (s.fate[t, o] == Fate.OPEN) & (s.result[t] != Outcome.ABORT)
            ),
            "decided": when(s.awaits_marker(o) & s.was_prepared(c), s.outcome, Outcome.NONE),
            "fenced": ~s.has_newest(c),
            "astray": exists(Txn, Partition, lambda t, p: s.is_of(t, c) & s.is_astray(t, p)),
        }

    def is_of(s, t, c):
        return s.begun[t] & (s.owner[t] == c)

    def was_prepared(s, c):
        """Decide whether the prepared transaction belongs to this client."""
        return (s.phase == Phase.PREPARED) & exists(Txn, lambda t: s.is_of(t, c) & (s.number[t] == s.ended))

    def awaits_marker(s, o):
        """Decide whether the marker of the prepared transaction has not reached the partition, if it goes
        there at all."""
        return s.known[o] < s.marker_epoch

    def has_newest(s, c):
        """Decide whether the client has the newest epoch, is being sent it in an answer to EndTxn, or would get it by
        asking again. The answer is yes also for an id that is not known yet, because no producer has fenced another."""
        on_its_way = exists(Txn, lambda t: s.success[t] & (s.owner[t] == c) & (s.follows[t] == s.epoch))
        if_it_asks = exists(
            Txn,
            lambda t: s.is_of(t, c) & (s.number[t] == s.ended) & (s.outcome == Outcome.COMMIT),
        )
        return s.given[c, s.epoch] | on_its_way | if_it_asks | (s.epoch == 0)

    def is_astray(s, t, p):
        """Decide whether a record is open in another transaction than its own, ended otherwise than that, or ended in a
        way that its owner did not ask for."""
        prepared = when(s.phase == Phase.PREPARED, s.outcome, Outcome.NONE)
        fate, result = s.fate[t, p], s.result[t]
        return (
            ((fate == Fate.OPEN) & (result != prepared))
            | ((fate == Fate.COMMITTED) & (result != Outcome.COMMIT))
            | ((fate == Fate.ABORTED) & (result != Outcome.ABORT))
            | ((result == Outcome.COMMIT) & (s.choice[t] != Outcome.COMMIT))
        )


class OnV2(AsFated):
    """This refinement holds in each form of v2."""

    @lemma
    def known_is_past(s):
        """No partition knows a later epoch than the coordinator, nor than the markers that are under way; a partition
        that has such a marker knows the marker's epoch."""
        return forall(
            Partition,
            lambda p: (
                (s.known[p] <= s.epoch)
                & implies(s.phase == Phase.PREPARED, s.known[p] <= s.marker_epoch)
                & implies(s.marked[p], s.known[p] == s.marker_epoch)
            ),
        )

    @refinement(of=Fated, actions=STEPS)
    def does_as_fated(s, c: Client, o: Partition):
        """A group has to know no more of a client's transactions than the view of the coordinator and of the
        partition."""
        return s.view(c, o)


class FatedV2(V2Lemmas, OnV2, of=V2Core):
    """This refinement is for v2."""


class FatedOverlappingV2(OverlappingV2Lemmas, OnV2, of=OverlappingV2):
    """This refinement is for v2 with deposed coordinators that still answer."""

    @lemma
    def settled_is_over(s):
        """The epoch in a cached answer is not later than that of the prepared transaction. It is the present epoch if
        the answer is for the transaction that ended last."""
        return forall(
            Epoch, Bool,
            lambda e, commit: implies(
                s.settled[e, commit],
                implies(s.phase == Phase.PREPARED, s.settled_to[e] <= s.ended)
                & implies((e == s.ended) & (s.outcome != Outcome.NONE), s.settled_to[e] == s.epoch),
            ),
        )  # fmt: skip

    @lemma
    def answered_alike(s):
        """The epoch in an answer is the same from each coordinator, and it is the present one for the transaction that
        ended last."""
        return forall(
            Txn, Bool,
            lambda t, commit: implies(
                s.success[t],
                implies((s.number[t] == s.ended) & (s.outcome != Outcome.NONE), s.follows[t] == s.epoch)
                & implies(s.settled[s.number[t], commit], s.follows[t] == s.settled_to[s.number[t]]),
            ),
        )  # fmt: skip


class FatedTimedOutV2(TimedOutV2Lemmas, OnV2, of=TimedOutV2):
    """This refinement is for v2 where appends time out although their records are in the log."""


class OnV1(AsFated):
    """This refinement is for v1 without fail-over, where markers carry the epoch of the transaction itself."""

    def awaits_marker(s, o):
        return ~s.marked[o]


class FatedLateV1(OnV1, of=LateRecordCore):
    """This refinement is for v1 where records arrive late."""

    @refinement(of=Fated, actions=V1_STEPS)
    def does_as_fated(s, c: Client, o: Partition):
        """A group has to know no more of a client's transactions than the view of the coordinator and of the
        partition."""
        return s.view(c, o)


class FatedVerified(OnV1, of=VerifiedCore):
    """This refinement is for v1 with verification."""

    @refinement(of=Fated, actions=V1_STEPS | {"ask": (), "verify": ()})
    def does_as_fated(s, c: Client, o: Partition):
        """A group has to know no more of a client's transactions than the view of the coordinator and of the
        partition."""
        return s.view(c, o)


class FatedPromptV1(OnV1, of=PromptV1Core):
    """This refinement is for v1 on a network that is prompt."""

    does_as_fated = FatedLateV1.does_as_fated
