"""What a group that commits offsets in transactions may rely on: each client of a core, with respect to each partition,
does what `Fated` does, and nothing else.
"""

from fencepost.model.language import Bool, Properties, exists, forall, implies, lemma, refinement, when
from fencepost.model.transactions.abstract.core import Client, Epoch, Fate, Outcome, Partition, Phase, Txn
from fencepost.model.transactions.abstract.cores import LateRecordCore, PromptV1Core, V2Core, VerifiedCore
from fencepost.model.transactions.abstract.fated import Fated
from fencepost.model.transactions.abstract.overlapping import OverlappingV2
from fencepost.model.transactions.abstract.timed_out import TimedOutV2
from fencepost.properties.transactions.claims.core import V2Lemmas
from fencepost.properties.transactions.claims.core_overlapping import OverlappingV2Lemmas
from fencepost.properties.transactions.claims.timed_out import TimedOutV2Lemmas

STEPS: dict[str, tuple[str, ...]] = {
    "initialize": ("initialise", "fence"), "initialize_again": ("initialise",), "answer_again": ("initialise",),
    "fence_producers": ("fence",), "begin": ("begin",), "append": ("accept",), "end": ("commit", "abort"),
    "take_over": ("give_up", "fence"), "mark": ("end",), "mark_late": ("end",), "complete": ("end",),
    **dict.fromkeys(("send", "commit", "abort", "ask", "verify", "learn", "fail_over"), ()),
}  # fmt: skip
"""What each action of a core is to one of its clients."""
V1_STEPS = {n: steps for n, steps in STEPS.items() if n not in ("ask", "verify", "initialize_again")} | {
    "add_partition": ()
}


class AsFated(Properties):
    """Of a client, with respect to the partition of the group's offsets: how its transactions look from there."""

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
        """The transaction that is prepared is one of this client."""
        return (s.phase == Phase.PREPARED) & exists(Txn, lambda t: s.is_of(t, c) & (s.number[t] == s.ended))

    def awaits_marker(s, o):
        """The marker of what is prepared has not reached the partition, if it goes there at all."""
        return s.known[o] < s.marker_epoch

    def has_newest(s, c):
        """The newest epoch is the client's, or on its way to it in an answer to EndTxn, or what it is answered if it
        asks again; or the id is not known yet, so that no producer has fenced another."""
        on_its_way = exists(Txn, lambda t: s.success[t] & (s.owner[t] == c) & (s.follows[t] == s.epoch))
        if_it_asks = exists(
            Txn,
            lambda t: s.is_of(t, c) & (s.number[t] == s.ended) & (s.outcome == Outcome.COMMIT),
        )
        return s.given[c, s.epoch] | on_its_way | if_it_asks | (s.epoch == 0)

    def is_astray(s, t, p):
        """A record is open in another transaction than its own, came to another end than that, or one that its owner
        did not ask for."""
        prepared = when(s.phase == Phase.PREPARED, s.outcome, Outcome.NONE)
        fate, result = s.fate[t, p], s.result[t]
        return (
            ((fate == Fate.OPEN) & (result != prepared))
            | ((fate == Fate.COMMITTED) & (result != Outcome.COMMIT))
            | ((fate == Fate.ABORTED) & (result != Outcome.ABORT))
            | ((result == Outcome.COMMIT) & (s.choice[t] != Outcome.COMMIT))
        )


class OnV2(AsFated):
    """Of each form of v2."""

    @lemma
    def known_is_past(s):
        """No partition knows a later epoch than the coordinator, nor than the one in the markers that are on their
        way; one that has such a marker knows that epoch."""
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
        """What the coordinator and the partition say of a client's transactions is all that a group has to know."""
        return s.view(c, o)


class FatedV2(V2Lemmas, OnV2, of=V2Core):
    """Of v2."""


class FatedOverlappingV2(OverlappingV2Lemmas, OnV2, of=OverlappingV2):
    """Of v2 with deposed coordinators that still answer."""

    @lemma
    def settled_is_over(s):
        """The epoch in a cached answer is not later than that of the transaction which is prepared, and is the present
        one if the transaction is the one that ended last."""
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
        """Whoever answers, the epoch in the answer is the same; it is the present one after what ended last."""
        return forall(
            Txn, Bool,
            lambda t, commit: implies(
                s.success[t],
                implies((s.number[t] == s.ended) & (s.outcome != Outcome.NONE), s.follows[t] == s.epoch)
                & implies(s.settled[s.number[t], commit], s.follows[t] == s.settled_to[s.number[t]]),
            ),
        )  # fmt: skip


class FatedTimedOutV2(TimedOutV2Lemmas, OnV2, of=TimedOutV2):
    """Of v2 with appends that time out whose records are in the log."""


class OnV1(AsFated):
    """Of v1, where markers carry the epoch of the transaction itself, and without fail-over."""

    def awaits_marker(s, o):
        return ~s.marked[o]


class FatedLateV1(OnV1, of=LateRecordCore):
    """Of v1 where records come late."""

    @refinement(of=Fated, actions=V1_STEPS)
    def does_as_fated(s, c: Client, o: Partition):
        """What the coordinator and the partition say of a client's transactions."""
        return s.view(c, o)


class FatedVerified(OnV1, of=VerifiedCore):
    """Of v1 with verification."""

    @refinement(of=Fated, actions=V1_STEPS | {"ask": (), "verify": ()})
    def does_as_fated(s, c: Client, o: Partition):
        """What the coordinator and the partition say of a client's transactions."""
        return s.view(c, o)


class FatedPromptV1(OnV1, of=PromptV1Core):
    """Of v1 on a network that is prompt."""

    @refinement(of=Fated, actions=V1_STEPS)
    def does_as_fated(s, c: Client, o: Partition):
        """What the coordinator and the partition say of a client's transactions."""
        return s.view(c, o)
